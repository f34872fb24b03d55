"""A small paper to which one joint is added: as it should be, and with one slip."""

from __future__ import annotations

HEAD = r"""# A paper

Let $L>0$, $\epsilon>0$, $\Delta>0$ and $B>0$ be constants and let $f$ be a function on $\mathbb{R}^d$. For all $k\ge 0$
the steps are $x_{k+1}=x_k-\eta\nabla f(x_k)$, $N\ge 1$ is their number and $T\ge 1$ that of the epochs.

**Lemma 1.** Let $0<\eta\le\frac{1}{2L}$. Then for all $k\ge 0$
$$
f(x_{k+1})\le f(x_k)-\frac{\eta}{4}\|\nabla f(x_k)\|^2.
\tag{1}
$$

*Proof.* This is known.

**Lemma 2.** If $\|\nabla f(x_k)\|>B$, then
$$
N\le\frac{3\Delta}{\eta\epsilon^2}.
\tag{2}
$$

*Proof.* This is known.

**Lemma 3.** Let $0\le\eta$. If $\|\nabla f(x_k)\|\le B$, then an epoch that ends by a restart has
$$
f(x_0)-f(x_k)\ge\frac{1}{10}\epsilon^{3/2}B^{-1}.
\tag{3}
$$

*Proof.* This is known.

**Theorem 1.** Let $\eta=\frac{1}{4L}$. Then $\mathcal{O}(\Delta L^{\frac{1+\nu}{2}}\epsilon^{-2})$ steps are enough.

*Proof.* By """
JOINTS = {
    "a letter put in": (
        "citation",
        r"Lemma 2 and substituting $\eta=\frac{1}{4L}$ into (2), we have $$N\le\frac{%s\Delta L}{\epsilon^2}.$$",
        "12",
        "11",
    ),
    "a bound put in": (
        "citation",
        r"the step $$\|x_1-x_0\|\le 2B\|x_0\|.\tag{4}$$ Also $$N\le 3\|x_1-x_0\|+5B.\tag{5}$$"
        r" Plugging (4) into (5), we get $$N\le %sB\|x_0\|+5B.$$",
        "6",
        "5",
    ),
    "an order put in": (
        "citation",
        "what is known.\n\n"
        r"**Lemma 4.** Let $\eta=\mathcal{O}(L^{-\nu})$. Then all is well."
        "\n\n*Proof.* "
        r"Substituting $\eta=\mathcal{O}(L^{-\nu})$ into (2), we have"
        r" $$N\le\mathcal{O}(\Delta L^{%s}\epsilon^{-2}).$$",
        r"\nu",
        r"-\nu",
    ),
    "quoted": ("citation", r"Lemma 1, we have $f(x_{1})\le f(x_0)-\frac{\eta}{%s}\|\nabla f(x_0)\|^2$.", "4", "2"),
    "quoted with other sides": (
        "citation",
        r"(1), that is $\eta\|\nabla f(x_k)\|^2\le %s(f(x_k)-f(x_{k+1}))$.",
        "4",
        "3",
    ),
    "quoted of another": (
        "citation",
        r"Lemma %s, we have $f(x_{k+1})\le f(x_k)-\frac{\eta}{4}\|\nabla f(x_k)\|^2$.",
        "1",
        "2",
    ),
    "summed": ("citation", r"what is known. We sum (%s) over $k=0,\dots,K-1$.", "1", "2"),
    "a value": ("citation", r"Lemma 1 with $\eta=\frac{1}{%sL}$.", "4", "8"),
    "a rate": (
        "citation",
        "Lemma 1.\n\n## 2 Remarks\n\n"
        r"When $\nu=1$, Theorem 1 shows that $\mathcal{O}(\Delta %s\epsilon^{-2})$ steps are enough.",
        "L",
        "L^2",
    ),
    "a table": (
        "table",
        "Lemma 1.\n\n## 2 Table\n\n| Method | Steps |\n| --- | --- |\n"
        r"| Descent (ours) | $\mathcal{O}(\Delta L^{\frac{1+\nu}{2}}\epsilon^{-%s})$ |"
        "\n| [1] | $\\mathcal{O}(1)$ |\n",
        "2",
        "1",
    ),
    "a bound on epochs": ("total", r"Lemma 3 it ends in at most $10\Delta B\epsilon^{-3/2}%s$ epochs.", "+1", ""),
    "a sum over epochs": (
        "total",
        "the remarks.\n\n**Lemma 4.** An epoch has $$f(x_0)-f(x_k)\\ge\\frac{1}{10}\\epsilon^{3/2}B^{-1}.$$\n\n"
        "*Proof.* "
        r"Summing the above inequality over all epochs, we have $$T\le 10\Delta B%s\epsilon^{-3/2}.$$",
        "",
        "^{-1}",
    ),
    "cases": (
        "total",
        r"Lemma 1. If $\|\nabla f(x_0)\|>B$, this is clear."
        r" On the other hand, if $\|\nabla f(x_0)\|%s B$, it is known.",
        r"\le",
        "<",
    ),
    "cases apart": (
        "total",
        r"Lemma 1. If $\|\nabla f(x_0)\|>%sB$, this is clear."
        r" On the other hand, if $\|\nabla f(x_0)\|\le B$, it is known.",
        "",
        "2",
    ),
    "a letter not exchanged": (
        "citation",
        r"the mean value, $$|p(x)-p(y)|\le L_p\|x-y\|.$$ Similarly, we have $$|q(x)-q(y)|\le %s\|x-y\|$$"
        r" with constants $L_p$ and $L_q$ of the functions $p$ and $q$ on $\mathbb{R}^d$.",
        "L_q",
        "L_p",
    ),
    "a factor after the exchange": (
        "citation",
        r"the mean value, $$|p(x)-p(y)|\le 3L_p\|x-y\|.\tag{4}$$ By the same argument as (4), we have"
        r" $$|q(x)-q(y)|\le %sL_q\|x-y\|$$"
        r" with constants $L_p$ and $L_q$ of the functions $p$ and $q$ on $\mathbb{R}^d$.",
        "3",
        "2",
    ),
    "two added up": (
        "citation",
        r"the steps, $$\|x_1\|\le 2B+N,\tag{4}$$ and $$\|x_2\|\le 3B.\tag{5}$$ Adding (4) and (5), we get"
        r" $$\|x_1\|+\|x_2\|\le %sB+N.$$",
        "5",
        "4",
    ),
    "another two added up": (
        "citation",
        r"the steps, $$\|x_1\|\le 2B+N,\tag{4}$$ and $$\|x_2\|\le 3B\tag{5}$$ and $$\|x_3\|\le 7T.\tag{6}$$ Adding"
        r" (4) and (%s), we get $$\|x_1\|+\|x_2\|\le 5B+N.$$",
        "5",
        "6",
    ),
    "replaced": (
        "citation",
        r"the step $$\|x_1\|\le 2\|x_0\|+B.\tag{4}$$ We replace $\|x_0\|$ in (4) by $3B$ to obtain $$\|x_1\|\le %sB.$$",
        "7",
        "6",
    ),
    "a whole difference put in": (
        "citation",
        r"the step $$\|x_2\|\le 2\|x_1\|-2\|x_0\|+B.\tag{4}$$ Further $$\|x_1\|-\|x_0\|\le 5B.$$ Plugging into (4),"
        r" we have $$\|x_2\|\le %sB.$$",
        "11",
        "10",
    ),
    "a special case": (
        "citation",
        r"what is known, $$N\le\Delta L^{\frac{1+\nu}{2}}\epsilon^{-2}.\tag{4}$$ When $\nu=1$, (4) becomes"
        r" $N\le\Delta %s\epsilon^{-2}$.",
        "L",
        "L^2",
    ),
    "a special case that is excluded": (
        "premise",
        "what is known.\n\n"
        r"**Lemma 4.** Let $p>1$. Then $$T\le pB.$$"
        "\n\n*Proof.* This is known.\n\n## 2\n\n"
        r"From Lemma 4 with $p=%s$ this is clear.",
        "2",
        "1",
    ),
    "independent": (
        "citation",
        r"the rule $$\eta=\frac{1}{L}+B,\tag{4}$$ where $B=\frac{\epsilon}{\Delta}$. The step (4)"
        r" is independent of $%s$.",
        "N",
        r"\epsilon",
    ),
    "a factor of rates": (
        "citation",
        "Lemma 1.\n\n## 2\n\n"
        r"The rate $\mathcal{O}(\Delta\epsilon^{-1})$ improves $\mathcal{O}(\Delta\epsilon^{-2})$ by a factor of"
        r" $\epsilon^{-%s}$.",
        "1",
        "2",
    ),
    "a factor between two rows": (
        "citation",
        "Lemma 1.\n\n## 2 Table\n\n| Method | Steps |\n| --- | --- |\n"
        r"| Descent (ours) | $\mathcal{O}(\Delta L^{\frac{1+\nu}{2}}\epsilon^{-2})$ |"
        "\n"
        r"| [1] | $\mathcal{O}(\Delta L^{\frac{1+\nu}{2}}\epsilon^{-4})$ |"
        "\n\n"
        r"This improves the rate of [1] by a factor of $\epsilon^{-%s}$.",
        "2",
        "1",
    ),
    "an end that is another": (
        "total",
        "what is known.\n\n"
        r"**Theorem 2.** The method terminates within $%s\Delta\epsilon^{-2}$ iterations."
        "\n\n*Proof.* "
        r"By the decrease the total number of iterations is at most $3\Delta\epsilon^{-2}$.",
        "3",
        "2",
    ),
    "a bound that the proof does not reach": (
        "total",
        "what is known.\n\n"
        r"**Lemma 4.** We have $$\|x_1-x_0\|\le %sB.$$"
        "\n\n*Proof.* "
        r"By the step $$\|x_1-x_0\|\le\eta\|\nabla f(x_0)\|\le 4B.$$",
        "4",
        "3",
    ),
}
