Require Import Reals Lra Lia ZArith.
From Interval Require Import Tactic.
Open Scope R_scope.

(* Words of the statements: 0**0 is 1, a sum with its last index below its first is 0. *)
Definition rpow (b e : R) : R := if Req_EM_T b 0 then (if Req_EM_T e 0 then 1 else 0) else Rpower b e.
Definition whole (x : R) : Prop := exists z : Z, x = IZR z.
Definition floor (x : R) : R := IZR (Int_part x).
Definition ceil (x : R) : R := - floor (- x).
Fixpoint terms (f : R -> R) (a : Z) (n : nat) : R :=
  match n with O => 0 | S m => terms f a m + f (IZR (a + Z.of_nat m)) end.
Definition total (f : R -> R) (a b : R) : R := terms f (Int_part a) (Z.to_nat (Int_part b - Int_part a + 1)).

(* Relations as signs of differences, and back. *)
Lemma le_0 a b : a <= b -> 0 <= b - a. Proof. lra. Qed. Lemma lt_0 a b : a < b -> 0 < b - a. Proof. lra. Qed.
Lemma eq_0 a b : a = b -> b - a = 0. Proof. lra. Qed. Lemma of_eq a b : b - a = 0 -> a = b. Proof. lra. Qed.
Lemma of_le a b : 0 <= b - a -> a <= b. Proof. lra. Qed. Lemma of_lt a b : 0 < b - a -> a < b. Proof. lra. Qed.
Lemma of_ge a b : 0 <= a - b -> a >= b. Proof. lra. Qed. Lemma of_gt a b : 0 < a - b -> a > b. Proof. lra. Qed.
Lemma eq_le (a b : R) : a = b -> 0 <= b -> 0 <= a. Proof. lra. Qed.
Lemma eq_lt (a b : R) : a = b -> 0 < b -> 0 < a. Proof. lra. Qed.
Lemma both_0 a b : a = - b -> 0 <= a -> 0 <= b -> a = 0. Proof. lra. Qed.
Lemma shown_le a m s : 0 < m -> a * m = s -> 0 <= s -> 0 <= a. Proof. nra. Qed.
Lemma shown_lt a m s : 0 < m -> a * m = s -> 0 < s -> 0 < a. Proof. nra. Qed.
Lemma shown_eq a m s : m <> 0 -> a * m = s -> s = 0 -> a = 0. Proof. intros hm e ->. apply Rmult_integral in e. lra. Qed.
Lemma square_pos x : x <> 0 -> 0 < x ^ 2. Proof. intros h. rewrite <- Rsqr_pow2. apply Rsqr_pos_lt, h. Qed.

(* Signs, and equalities of rational functions. *)
Ltac pos := match goal with
  | h : ?p |- ?p => exact h | h : 0 < ?a |- 0 <= ?a => exact (Rlt_le _ _ h)
  | |- 0 <= ?a ^ 2 => apply pow2_ge_0 | |- 0 < exp ?a => apply exp_pos | |- 0 < PI => exact PI_RGT_0
  | |- 0 < ?a + ?b => first [apply Rplus_lt_le_0_compat; pos | apply Rplus_le_lt_0_compat; pos]
  | |- 0 <= ?a + ?b => apply Rplus_le_le_0_compat; pos
  | |- 0 < ?a * ?b => apply Rmult_lt_0_compat; pos | |- 0 <= ?a * ?b => apply Rmult_le_pos; pos
  | |- 0 < ?a / ?b => apply Rdiv_lt_0_compat; pos
  | |- 0 <= ?a / ?b => apply Rmult_le_pos; [pos | apply Rlt_le, Rinv_0_lt_compat; pos]
  | |- 0 < / ?a => apply Rinv_0_lt_compat; pos | |- 0 <= / ?a => apply Rlt_le, Rinv_0_lt_compat; pos
  | |- 0 < ?a ^ ?n => first [apply pow_lt; pos | apply square_pos; nonzero]
  | |- 0 <= ?a ^ ?n =>
      first [apply pow_le; pos | replace n with (2 * (n / 2))%nat by reflexivity; rewrite pow_mult; apply pow_le; pos]
  | _ => lra end
with nonzero := match goal with
  | h : ?p |- ?p => exact h | |- / ?a <> 0 => apply Rinv_neq_0_compat; nonzero
  | |- ?a * ?b <> 0 => apply Rmult_integral_contrapositive_currified; nonzero
  | |- ?a ^ ?n <> 0 => apply pow_nonzero; nonzero
  | _ => first [apply Rgt_not_eq; red; solve [pos] | lra | apply Rlt_not_eq; lra | nra] end.
Ltac sides := repeat split; nonzero.

(* Powers. *)
Lemma rpow_ln b e : 0 < b -> rpow b e = exp (e * ln b).
Proof. intros h. unfold rpow. destruct (Req_EM_T b 0); [lra | reflexivity]. Qed.
Lemma rpow_pos b e : 0 < b -> 0 < rpow b e. Proof. intros h. rewrite rpow_ln by exact h. apply exp_pos. Qed.
Lemma ln_rpow b e : 0 < b -> ln (rpow b e) = e * ln b. Proof. intros h. rewrite rpow_ln by exact h. apply ln_exp. Qed.
Lemma rpow_ge b e : 0 <= b -> 0 <= rpow b e.
Proof. intros h. unfold rpow. destruct (Req_EM_T b 0); [destruct (Req_EM_T e 0); lra | apply Rlt_le, exp_pos]. Qed.
Lemma ln_eq a b : 0 < a -> 0 < b -> ln a = ln b -> a = b. Proof. intros; apply ln_inv; assumption. Qed.
Lemma ln_power x n : 0 < x -> ln (x ^ n) = IZR (Z.of_nat n) * ln x.
Proof. intros h. rewrite <- INR_IZR_INZ. induction n as [| n IH]; [simpl; rewrite ln_1; ring |].
  rewrite S_INR. change (x ^ S n) with (x * x ^ n). rewrite ln_mult, IH; [ring | exact h | apply pow_lt, h]. Qed.
Lemma ln_quotient a b : 0 < a -> 0 < b -> ln (a / b) = ln a - ln b.
Proof. intros ha hb. unfold Rdiv. rewrite ln_mult, ln_Rinv; [ring | exact hb | exact ha | apply Rinv_0_lt_compat, hb]. Qed.
Lemma rpow_is b e r : 0 < b -> 0 < r -> ln r = e * ln b -> rpow b e = r.
Proof. intros hb hr h. rewrite rpow_ln, <- h by exact hb. apply exp_ln, hr. Qed.
Lemma exp_is t r : 0 < r -> ln r = t -> exp t = r. Proof. intros hr <-. apply exp_ln, hr. Qed.
Lemma sqrt_is b r : 0 <= b -> 0 <= r -> r ^ 2 = b -> sqrt b = r.
Proof. intros hb hr h. apply sqrt_lem_1; [exact hb | exact hr | rewrite <- h; ring]. Qed.
Lemma pow_zero n : (0 < n)%nat -> 0 ^ n = 0. Proof. intros h. apply pow_i, h. Qed.
Lemma rpow_root b e r p q : (0 < p)%nat -> (0 < q)%nat -> e * IZR (Z.of_nat q) = IZR (Z.of_nat p) ->
  0 <= b -> 0 <= r -> r ^ q = b ^ p -> rpow b e = r.
Proof. intros hp hq he hb hr h. assert (0 < IZR (Z.of_nat q)) by (apply IZR_lt; lia).
  assert (0 < IZR (Z.of_nat p)) by (apply IZR_lt; lia). destruct hb as [hb | <-].
  - destruct hr as [hr | <-]; [| rewrite pow_zero in h by exact hq; pose proof (pow_lt b p hb); lra].
    apply rpow_is; [exact hb | exact hr |]. apply (f_equal ln) in h. rewrite !ln_power in h by assumption.
    apply (Rmult_eq_reg_l (IZR (Z.of_nat q))); [rewrite h, <- he; ring | lra].
  - rewrite pow_zero in h by exact hp. unfold rpow. destruct (Req_EM_T 0 0) as [_ | n]; [| lra].
    destruct (Req_EM_T e 0) as [z | _]; [rewrite z in he; lra |]. destruct hr as [hr | hr]; [| exact hr].
    pose proof (pow_lt r q hr); lra. Qed.
Lemma rpow_inverse b e r p q : (0 < q)%nat -> e * IZR (Z.of_nat q) = - IZR (Z.of_nat p) ->
  0 < b -> 0 < r -> r ^ q * b ^ p = 1 -> rpow b e = r.
Proof. intros hq he hb hr h. assert (0 < IZR (Z.of_nat q)) by (apply IZR_lt; lia).
  apply rpow_is; [exact hb | exact hr |]. apply (f_equal ln) in h.
  rewrite ln_mult, !ln_power, ln_1 in h; [| assumption | assumption | apply pow_lt, hr | apply pow_lt, hb].
  apply (Rmult_eq_reg_l (IZR (Z.of_nat q))); [| lra].
  replace (IZR (Z.of_nat q) * (e * ln b)) with (e * IZR (Z.of_nat q) * ln b) by ring. rewrite he. lra. Qed.
Lemma root_power b q : 0 <= b -> (0 < q)%nat -> rpow b (/ IZR (Z.of_nat q)) ^ q = b.
Proof. intros hb hq. assert (0 < IZR (Z.of_nat q)) by (apply IZR_lt; lia). unfold rpow. destruct (Req_EM_T b 0) as [-> | n].
  - pose proof (Rinv_0_lt_compat _ H). destruct (Req_EM_T (/ IZR (Z.of_nat q)) 0); [lra | apply pow_zero, hq].
  - apply ln_eq; [apply pow_lt, exp_pos | lra |]. rewrite ln_power by apply exp_pos. unfold Rpower. rewrite ln_exp. field. lra. Qed.
Lemma exp_le a b : a <= b -> exp a <= exp b. Proof. intros [h | ->]; [apply Rlt_le, exp_increasing, h | lra]. Qed.
Lemma rpow_le a b e : 0 <= a -> a <= b -> 0 <= e -> rpow a e <= rpow b e.
Proof. intros ha h he. unfold rpow. destruct (Req_EM_T a 0), (Req_EM_T b 0), (Req_EM_T e 0) as [-> | ne]; try lra;
  [rewrite Rpower_O | apply Rlt_le, exp_pos | rewrite !Rpower_O | apply Rle_Rpower_l]; lra. Qed.
Lemma rpow_lt a b e : 0 <= a -> a < b -> 0 < e -> rpow a e < rpow b e.
Proof. intros ha h he. unfold rpow. destruct (Req_EM_T a 0), (Req_EM_T b 0), (Req_EM_T e 0); try lra;
  [apply exp_pos | apply exp_increasing, Rmult_lt_compat_l, ln_increasing; lra]. Qed.
Lemma rpow_falls_lt a b e : 0 < a -> a < b -> 0 < - e -> rpow b e < rpow a e.
Proof. intros ha h he. rewrite !rpow_ln by lra. pose proof (ln_increasing a b ha h). apply exp_increasing. nra. Qed.
Lemma rpow_falls a b e : 0 < a -> a <= b -> 0 <= - e -> rpow b e <= rpow a e.
Proof. intros ha h he. rewrite !rpow_ln by lra. pose proof (Rcomplements.ln_le a b ha h). apply exp_le. nra. Qed.
Lemma root_le a b e : 0 <= a -> 0 <= b -> 0 < e -> rpow a e <= rpow b e -> a <= b.
Proof. intros ha hb he h. destruct (Rle_or_lt a b) as [l | l]; [exact l |]. pose proof (rpow_lt b a e hb l he). lra. Qed.
Lemma root_lt a b e : 0 <= a -> 0 <= b -> 0 < e -> rpow a e < rpow b e -> a < b.
Proof. intros ha hb he h. destruct (Rlt_or_le a b) as [l | l]; [exact l |]. pose proof (rpow_le b a e hb l (Rlt_le _ _ he)). lra. Qed.
Lemma ln_below y : 0 < y -> ln y <= y - 1.
Proof. intros h. pose proof (exp_ineq1_le (ln y)). rewrite exp_ln in H by exact h. lra. Qed.
Ltac logs := repeat match goal with
  | |- context [ln (?a * ?b)] => rewrite (ln_mult a b) by pos
  | |- context [ln (?a / ?b)] => rewrite (ln_quotient a b) by pos
  | |- context [ln (/ ?a)] => rewrite (ln_Rinv a) by pos
  | |- context [ln (?a ^ ?n)] => rewrite (ln_power a n) by pos
  | |- context [ln (exp ?a)] => rewrite (ln_exp a)
  | |- context [ln (rpow ?a ?s)] => rewrite (ln_rpow a s) by pos
  end; rewrite ?ln_1; cbn [Z.of_nat Pos.of_succ_nat Pos.succ].
Ltac extreme := unfold Rmin, Rmax, Rabs; repeat (destruct Rle_dec || destruct Rcase_abs); lra.
Ltac expand := repeat match goal with |- context [rpow ?b ?e] =>
  lazymatch b with context [rpow _ _] => fail | _ => rewrite (rpow_ln b e) by (first [lra | interval]) end end.
Ltac numeric := first [lra | interval | expand; first [interval | interval with (i_prec 200)]].

(* Numbers at a point. *)
Ltac extremes := repeat match goal with
  | |- context [Rmax ?a ?b] => first [rewrite (Rmax_left a b) by numeric | rewrite (Rmax_right a b) by numeric]
  | |- context [Rmin ?a ?b] => first [rewrite (Rmin_left a b) by numeric | rewrite (Rmin_right a b) by numeric] end.
Ltac witness := extremes; first [eexists; reflexivity | reflexivity | apply Rlt_not_le; numeric | apply Rle_not_lt; numeric | intros h; revert h;
  first [apply Rlt_not_ge | apply Rgt_not_le | apply Rlt_not_eq | apply Rgt_not_eq]; numeric | numeric | left; witness | right; witness].
