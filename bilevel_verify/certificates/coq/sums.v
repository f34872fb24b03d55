(* Integers, sums, induction. *)
Lemma whole_opp a : whole a -> whole (- a). Proof. intros [z ->]. exists (- z)%Z. rewrite opp_IZR. reflexivity. Qed.
Lemma whole_plus a b : whole a -> whole b -> whole (a + b).
Proof. intros [y ->] [z ->]. exists (y + z)%Z. rewrite plus_IZR. reflexivity. Qed.
Lemma whole_mult a b : whole a -> whole b -> whole (a * b).
Proof. intros [y ->] [z ->]. exists (y * z)%Z. rewrite mult_IZR. reflexivity. Qed.
Lemma whole_pow a n : whole a -> whole (a ^ n).
Proof. intros h. induction n; simpl; [exists 1%Z; reflexivity | apply whole_mult; assumption]. Qed.
Lemma whole_minus a b : whole a -> whole b -> whole (a - b).
Proof. intros ha hb. apply whole_plus; [exact ha | apply whole_opp, hb]. Qed.
Ltac wholes := repeat first [assumption | match goal with |- whole (IZR ?z) => exists z; reflexivity end | apply whole_plus | apply whole_mult | apply whole_minus | apply whole_opp | apply whole_pow].
Lemma whole_step a b : whole a -> whole b -> a < b -> a + 1 <= b.
Proof. intros [y ->] [z ->] h. apply lt_IZR in h. rewrite <- plus_IZR. apply IZR_le. lia. Qed.
Lemma floor_le x : floor x <= x. Proof. unfold floor. destruct (base_Int_part x). lra. Qed.
Lemma floor_gt x : x < floor x + 1. Proof. unfold floor. destruct (base_Int_part x). lra. Qed.
Lemma part z : Int_part (IZR z) = z.
Proof. destruct (base_Int_part (IZR z)) as [h k]. rewrite <- minus_IZR in k. apply lt_IZR in k. apply le_IZR in h. lia. Qed.
Lemma total_last f a b c : whole a -> whole b -> c = b - 1 -> a <= b -> total f a b = total f a c + f b.
Proof. intros [y ->] [z ->] -> h. apply le_IZR in h. unfold total. rewrite <- minus_IZR, !part.
  replace (Z.to_nat (z - y + 1)) with (S (Z.to_nat (z - 1 - y + 1))) by lia. simpl. do 3 f_equal. lia. Qed.
Lemma total_none f a b : whole a -> whole b -> b < a -> total f a b = 0.
Proof. intros [y ->] [z ->] h. apply lt_IZR in h. unfold total. rewrite !part. replace (Z.to_nat (z - y + 1)) with 0%nat by lia. reflexivity. Qed.
Lemma total_same f g a b a' b' : a = a' -> b = b' -> whole a -> whole b ->
  (forall i, whole i -> 0 <= i - a -> 0 <= b - i -> f i = g i) -> total f a b = total g a' b'.
Proof. intros <- <- [y ->] [z ->] h. unfold total. rewrite !part. assert (k : (Z.of_nat (Z.to_nat (z - y + 1)) <= Z.max 0 (z - y + 1))%Z) by lia.
  induction (Z.to_nat (z - y + 1)) as [| n IH]; [reflexivity |]. simpl. rewrite IH by lia. f_equal. apply h.
  - eexists; reflexivity.
  - rewrite <- minus_IZR. apply IZR_le. lia.
  - rewrite <- minus_IZR. apply IZR_le. lia. Qed.
Lemma total_plus f g a b : total (fun i => f i + g i) a b = total f a b + total g a b.
Proof. unfold total. induction (Z.to_nat _); simpl; [ring | rewrite IHn; ring]. Qed.
Lemma total_times c f a b : total (fun i => c * f i) a b = c * total f a b.
Proof. unfold total. induction (Z.to_nat _); simpl; [ring | rewrite IHn; ring]. Qed.
Lemma total_one a b : whole a -> whole b -> 0 <= b - a + 1 -> total (fun _ => 1) a b = b - a + 1.
Proof. intros [y ->] [z ->] h. rewrite <- minus_IZR, <- plus_IZR in *. apply le_IZR in h. unfold total. rewrite !part.
  replace (IZR (z - y + 1)) with (INR (Z.to_nat (z - y + 1))) by (rewrite INR_IZR_INZ, Z2Nat.id by lia; reflexivity).
  induction (Z.to_nat _); [reflexivity | simpl terms; rewrite IHn, S_INR; reflexivity]. Qed.
Lemma induct (P : R -> Prop) a : whole a -> P a -> (forall n, whole n -> 0 <= n - a -> P n -> P (n + 1)) ->
  forall n, whole n -> 0 <= n - a -> P n.
Proof. intros [y ->] base step n [z ->] h. rewrite <- minus_IZR in h. apply le_IZR in h. replace z with (y + Z.of_nat (Z.to_nat (z - y)))%Z by lia.
  induction (Z.to_nat (z - y)) as [| m IH]; [rewrite Z.add_0_r; exact base |].
  replace (y + Z.of_nat (S m))%Z with (y + Z.of_nat m + 1)%Z by lia. rewrite plus_IZR. apply step; [eexists; reflexivity | | exact IH].
  rewrite <- minus_IZR. apply IZR_le. lia. Qed.

(* Vectors of any real inner product space. *)
Record space := { vec :> Type; vadd : vec -> vec -> vec; vmul : R -> vec -> vec; dot : vec -> vec -> R;
  dot_sym : forall u v, dot u v = dot v u; dot_add : forall u v w, dot (vadd u v) w = dot u w + dot v w;
  dot_mul : forall c u v, dot (vmul c u) v = c * dot u v; dot_pos : forall u, 0 <= dot u u }.
Arguments vadd {_}. Arguments vmul {_}. Arguments dot {_}. Arguments dot_pos {_}.
Definition norm {V : space} (u : V) : R := sqrt (dot u u).
Lemma dot_add_r (V : space) (u v w : V) : dot w (vadd u v) = dot w u + dot w v.
Proof. rewrite (dot_sym V w), dot_add, (dot_sym V u), (dot_sym V v). reflexivity. Qed.
Lemma dot_mul_r (V : space) c (u w : V) : dot w (vmul c u) = c * dot w u.
Proof. rewrite (dot_sym V w), dot_mul, (dot_sym V u). reflexivity. Qed.
Ltac bilinear := repeat first [rewrite dot_add | rewrite dot_add_r | rewrite dot_mul | rewrite dot_mul_r].
