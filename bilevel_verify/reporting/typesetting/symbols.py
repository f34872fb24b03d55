"""LaTeX commands of the subset that cards use, and the characters they stand for."""

from __future__ import annotations


def _pairs(text: str) -> dict[str, str]:
    """``"le ≤ ge ≥"`` as a mapping."""
    words = text.split()
    return dict(zip(words[0::2], words[1::2], strict=True))


GREEK = _pairs(
    "alpha α beta β gamma γ delta δ varepsilon ε zeta ζ eta η theta θ iota ι kappa κ lambda λ mu μ nu ν "
    "xi ξ omicron ο pi π rho ρ sigma σ tau τ upsilon υ varphi φ chi χ psi ψ omega ω Alpha Α Beta Β Gamma Γ "
    "Delta Δ Epsilon Ε Zeta Ζ Eta Η Theta Θ Iota Ι Kappa Κ Lambda Λ Mu Μ Nu Ν Xi Ξ Omicron Ο Pi Π Rho Ρ "
    "Sigma Σ Tau Τ Upsilon Υ Phi Φ Chi Χ Psi Ψ Omega Ω epsilon ϵ phi ϕ vartheta ϑ varrho ϱ varsigma ς "
    "varkappa ϰ "
)
LETTERLIKE = _pairs(
    "ell ℓ nabla ∇ partial ∂ infty ∞ emptyset ∅ hbar ℏ imath ı jmath ȷ top ⊤ bot ⊥ Re ℜ Im ℑ varnothing ∅ "
)
LETTERLIKE |= GREEK
OPERATORS = _pairs(
    "le ≤ leq ≤ leqslant ≤ ge ≥ geq ≥ geqslant ≥ ne ≠ neq ≠ ll ≪ gg ≫ lesssim ≲ gtrsim ≳ equiv ≡ approx ≈ "
    "sim ∼ simeq ≃ propto ∝ in ∈ notin ∉ ni ∋ subset ⊂ subseteq ⊆ cup ∪ cap ∩ cdot ⋅ times × pm ± mp ∓ "
    "circ ∘ ast ∗ star ⋆ otimes ⊗ oplus ⊕ odot ⊙ div ÷ setminus ∖ to → rightarrow → leftarrow ← mapsto ↦ "
    "Rightarrow ⇒ implies ⟹ iff ⟺ Leftrightarrow ⇔ gets ← longrightarrow ⟶ uparrow ↑ downarrow ↓ forall ∀ "
    "exists ∃ neg ¬ land ∧ wedge ∧ lor ∨ vee ∨ succ ≻ succeq ⪰ prec ≺ preceq ⪯ mid ∣ parallel ∥ perp ⊥ "
    "colon : ldots … dots … dotsc … cdots ⋯ vdots ⋮ ddots ⋱ prime ′ coloneqq ≔ triangleq ≜ bmod mod dotsb ⋯ "
    "langle ⟨ rangle ⟩ lfloor ⌊ rfloor ⌋ lceil ⌈ rceil ⌉ lbrace { rbrace } lvert | rvert | vert | lVert ‖ "
    "rVert ‖ Vert ‖ | ‖ { { } } backslash ∖ lbrack [ rbrack ] leftrightarrow ↔ square □ "
)
LARGE = {"sum": "∑", "prod": "∏", "int": "∫", "bigcup": "⋃", "bigcap": "⋂"}
LIMITS = frozenset("max min sup inf lim limsup liminf argmax argmin".split())
FUNCTIONS = frozenset(
    "log ln exp sin cos tan cot sinh cosh tanh arcsin arccos arctan det dim ker deg gcd Pr arg sec csc coth".split()
)
SPACES = {",": "0.167em", ":": "0.222em", ";": "0.278em", " ": "0.25em", "quad": "1em", "qquad": "2em", "!": "0"}
SPACES |= {"~": "0.25em", "enspace": "0.5em", "thinspace": "0.167em", "medspace": "0.222em", "thickspace": "0.278em"}
ACCENTS = {"bar": "¯", "overline": "¯", "hat": "^", "widehat": "^", "tilde": "~", "widetilde": "~", "vec": "→"}
ACCENTS |= {"dot": "˙", "ddot": "¨", "check": "ˇ", "breve": "˘"}
ALPHABETS = {"mathcal": 0x1D49C, "mathscr": 0x1D49C, "mathbb": 0x1D538, "mathbf": 0x1D400, "boldsymbol": 0x1D400}
ALPHABETS |= {"mathfrak": 0x1D504, "bm": 0x1D400}
HOLES = {
    0x1D49C: "",
    0x1D49D: "ℬ",
    0x1D4A0: "ℰ",
    0x1D4A1: "ℱ",
    0x1D4A3: "ℋ",
    0x1D4A4: "ℐ",
    0x1D4A7: "ℒ",
    0x1D4A8: "ℳ",
    0x1D4AD: "ℛ",
    0x1D53A: "ℂ",
    0x1D53F: "ℍ",
    0x1D545: "ℕ",
    0x1D547: "ℙ",
    0x1D548: "ℚ",
    0x1D549: "ℝ",
    0x1D551: "ℤ",
    0x1D506: "ℭ",
    0x1D50B: "ℌ",
    0x1D50C: "ℑ",
    0x1D515: "ℜ",
    0x1D51D: "ℨ",
}
UPRIGHT = frozenset({"mathrm", "operatorname", "mathsf", "mathtt", "rm", "mathit"})
TEXT = frozenset({"text", "textrm", "textit", "textbf", "mbox", "textnormal", "textsc", "textsf", "emph"})
IGNORED = frozenset(
    "displaystyle textstyle scriptstyle limits nolimits nonumber notag big Big bigg Bigg bigl bigr Bigl Bigr "
    "biggl biggr Biggl Biggr bigm Bigm allowbreak hfill noindent".split()
)
FENCED = {
    "pmatrix": ("(", ")"),
    "bmatrix": ("[", "]"),
    "vmatrix": ("|", "|"),
    "Vmatrix": ("‖", "‖"),
    "cases": ("{", ""),
}
TABLES = frozenset({*FENCED, "matrix", "array", "aligned", "align", "align*", "split", "gathered", "smallmatrix"})
