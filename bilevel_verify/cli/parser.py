"""The command line as argparse sees it. Nothing heavy is imported here."""

from __future__ import annotations

import argparse

from bilevel_verify.cli.options import (
    Parser,
    Version,
    add_command,
    beside_print_options,
    count,
    evidence_options,
    memory_option,
    natural,
    positive,
    problem_options,
    run_options,
    seconds_option,
    strict_option,
)

EPILOG = """examples:
  bilevel-verify run --out report
  bilevel-verify verify ragd-gs/theorem-1 --problem zoo:ramp --eps 0.1,0.03,0.01
  bilevel-verify verify --card mine.toml --problem mine-too.toml --eps 0.01
  bilevel-verify worst restarted-agd-hb/lemma-4 --minutes 2 --out worst
  bilevel-verify solve ragd-gs --problem mine.toml --eps 0.01 --x0=1.0 --truth
  bilevel-verify derive mine.toml --latex
  bilevel-verify check '1 + t <= exp(t)' --for 't = [0, 1]'
  bilevel-verify plot trajectory zoo:double-well --method restarted-agd --eps 0.01 --x0=0.1,0.8 --out path.svg

exit status: 0 nothing newly refuted, 1 newly refuted, 2 wrong use, 3 an error of our own, 130 interrupted
"""


def build_parser() -> argparse.ArgumentParser:
    """The parser of all commands; each sets ``run`` to ``module:function``."""
    parser = Parser(
        prog="bilevel-verify",
        description="From two closed formulas to a verdict on a theorem.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    for add in (
        _run,
        _verify,
        _worst,
        _solve,
        _truth,
        _derive,
        _constants,
        _draft,
        _audit,
        _fidelity,
        _coverage,
        _check,
        _list,
        _report,
        _rates,
        _bench,
        _plot,
        _experiments,
        _cache,
    ):
        add(commands)
    return parser


def _run(commands: argparse._SubParsersAction[Parser]) -> None:
    c = add_command(commands, "run", "campaigns", "run a campaign; without a file every card on the built-in zoo")
    c.add_argument("campaign", nargs="?", metavar="CAMPAIGN", help="campaign file (TOML)")
    c.add_argument("--out", default="bilevel-verify-report", metavar="DIR", help="folder of store and report")
    c.add_argument(
        "--solver", action="append", default=[], metavar="FILE.py:FUNCTION",
        help="the code behind own:FUNCTION in the campaign (repeatable; runs that file)",
    )  # fmt: skip
    c.add_argument("--jobs", type=count, metavar="N", help="worker processes (default: the number of processors)")
    c.add_argument("--dry-run", action="store_true", help="only say what is done, to do and stale")
    c.add_argument("--retry", action="store_true", help="work again on cells that failed before")
    c.add_argument("--time-limit", type=positive, metavar="S", help="seconds for one cell")
    c.add_argument("--memory-limit", type=positive, metavar="MB", help="resident megabytes for one cell")
    c.add_argument("--total-time", type=positive, metavar="S", help="seconds for everything; run again for the rest")
    c.add_argument("--paper", metavar="KEY", action="append", help="main job: only this paper's card (may be repeated)")
    c.add_argument("--export", choices=("csv", "parquet"), help="write all rows as a flat table beside the report")
    c.add_argument("--figures", action="store_true", help="also write the plots as SVG and PDF files")
    c.add_argument("--no-report", action="store_true", help="only fill the store")
    strict_option(c)


def _verify(commands: argparse._SubParsersAction[Parser]) -> None:
    c = add_command(commands, "verify", "verifying", "check a statement, or all of a card, on a problem")
    c.add_argument("statements", nargs="*", metavar="STATEMENT", help="paper/id, a paper's key, or FILE.toml/id")
    c.add_argument("--statement", action="append", default=[], metavar="STATEMENT", help="the same as an option")
    c.add_argument(
        "--card", action="append", default=[], metavar="FILE", help="a card of your own (all its statements)"
    )
    problem_options(c, positional=False)
    c.add_argument("--eps", metavar="E,E,...", help="tolerances; orders need several")
    c.add_argument("--method", metavar="NAME", help="method instead of the statement's own")
    c.add_argument("--solver", metavar="FILE.py:FUNCTION", help="a solver of your own instead (runs that file)")
    c.add_argument("--sweep", metavar="kappa=A,B,...", help="values of another letter of a family: kappa, d or nu")
    text = "on N random problems that meet the hypotheses, instead of --problem"
    c.add_argument("--random", type=count, metavar="N", help=text)
    text = "write a certificate of each place of each decided row to DIR (check: python -m bilevel_check DIR)"
    c.add_argument("--certificates", metavar="DIR", help=text)
    run_options(c)
    seconds_option(c, "for each statement named; what is not judged then is undecided and says so")
    c.add_argument("--out", metavar="DIR", help="write a report")
    strict_option(c)


def _worst(commands: argparse._SubParsersAction[Parser]) -> None:
    c = add_command(commands, "worst", "worst", "how tight the claims of a statement are: worst cases by search")
    c.add_argument("statement", nargs="?", metavar="STATEMENT", help="paper/id, paper/id:claim or FILE.toml/id")
    text = "family to search (repeatable; default: all that fit)"
    c.add_argument("--family", action="append", default=[], metavar="NAME", help=text)
    c.add_argument("--families", action="store_true", help="only say which families there are")
    c.add_argument("--problem", metavar="FILE", help="a problem file with ranges of its knobs in a table [free]")
    c.add_argument("--method", metavar="NAME", help="method instead of the statement's own")
    c.add_argument("--eps", metavar="E", help="one tolerance (default: searched too)")
    c.add_argument("--minutes", type=positive, default=1.0, metavar="M", help="length of the search (default 1)")
    c.add_argument("--candidates", type=count, metavar="N", help="most candidates")
    c.add_argument(
        *("--set", "--parameter"), action="append", default=[], dest="letters", metavar="LETTER=VALUE",
        help="explicit letter, wins over the card (repeatable)",
    )  # fmt: skip
    c.add_argument("--budget", type=count, metavar="N", help="most oracle calls of one run (default 20000)")
    c.add_argument("--seed", type=natural, default=0, metavar="N", help="seed of everything random (default 0)")
    text = "folder of the search's state (it goes on where it was), problem files, worst.json and a picture"
    c.add_argument("--out", metavar="DIR", help=text)


def _solve(commands: argparse._SubParsersAction[Parser]) -> None:
    c = add_command(commands, "solve", "solving", "run a method with the parameters of its theorem")
    c.add_argument("method", metavar="METHOD", help="name of a method (see list methods)")
    problem_options(c, positional=True)
    c.add_argument("--eps", metavar="E", help="target accuracy")
    c.add_argument("--statement", metavar="STATEMENT", help="theorem whose parameters are taken")
    c.add_argument("--truth", action="store_true", help="compare the output with the truth")
    c.add_argument("--certificates", metavar="DIR", help="write certificates of the truth (needs --truth)")
    run_options(c)
    seconds_option(c, "the run is left where it is then, the truth beside it has as many again")
    c.add_argument("--out", metavar="DIR", help="write run.json and the trace as CSV")


def _truth(commands: argparse._SubParsersAction[Parser]) -> None:
    c = add_command(
        commands, "truth", "true_values", "y*, phi, its derivatives and infimum, f* and g*, with error bars"
    )
    problem_options(c, positional=True)
    c.add_argument("--x", metavar="A,B,...", help="where (--x=-1,2 for a negative one; default: the problem's start)")
    seconds_option(c, "what is known then is shown, what is not says so")
    c.add_argument("--certificates", metavar="DIR", help="write certificates (check: python -m bilevel_check DIR)")


def _derive(commands: argparse._SubParsersAction[Parser]) -> None:
    c = add_command(commands, "derive", "formulas", "derivatives, hypergradient, penalty: as text, LaTeX or JSON")
    problem_options(c, positional=True)
    c.add_argument("--only", metavar="NAME,...", help="some quantities instead of all")
    c.add_argument("--latex", action="store_true", help="LaTeX instead of text")
    c.add_argument("--out", metavar="DIR", help="write derivation.tex and derivation.json")


def _constants(commands: argparse._SubParsersAction[Parser]) -> None:
    c = add_command(commands, "constants", "formulas", "certified smoothness constants with their derivation")
    problem_options(c, positional=True)
    c.add_argument("--paper", metavar="KEY", help="whose letters (the same letter means different things)")
    c.add_argument("--nu", type=float, metavar="NU", help="Hoelder exponent wanted, in [0, 1]")
    c.add_argument("--only", metavar="NAME,...", help="some letters instead of all")
    further = (
        "time for tighter bounds, more work round by round until 3 %% are reached; what is certified then is shown"
    )
    c.add_argument("--seconds", type=positive, metavar="S", help=further)
    c.add_argument("--latex", action="store_true", help="a LaTeX table")
    c.add_argument("--why", action="store_true", help="show the derivations")
    c.add_argument("--out", metavar="DIR", help="write constants.json and constants.tex")
    c.add_argument("--certificates", metavar="DIR", help="write certificates (check: python -m bilevel_check DIR)")


def _audit(commands: argparse._SubParsersAction[Parser]) -> None:
    c = add_command(commands, "audit", "auditing", "judge every printed formula of a paper that needs no run")
    text = "keys of papers, card files, or sources of papers (.tex, .md), which are drafted first; all cards by default"
    c.add_argument("paper", nargs="*", metavar="PAPER", help=text)
    c.add_argument("--answers", metavar="FILE", help="answers of a paper's author (TOML), or a card that keeps them")
    c.add_argument("--card", action="append", default=[], metavar="FILE", help="a card of your own (repeatable)")
    c.add_argument("--statement", metavar="ID", help="only this entry")
    budget = "effort for one link: seconds of an idle machine, counted and not measured (20; 2 with --quick)"
    c.add_argument("--budget", type=positive, metavar="S", help=budget)
    memory_option(c)
    c.add_argument("--quick", action="store_true", help="small budgets and no search for repairs")
    text = "attack claims over points, steps, epochs and runs on N instances (16; --quick: 3 for 3 statements; 0: none)"
    c.add_argument("--instances", type=natural, metavar="N", help=text)
    c.add_argument("--jobs", type=natural, default=0, metavar="N", help="processes (default: one for each core)")
    c.add_argument("--seed", type=natural, default=0, metavar="N", help="seed of the search")
    text = "also judge N (2) mutants of every proved link and print what became of them"
    c.add_argument("--controls", type=natural, nargs="?", const=2, metavar="N", help=text)
    c.add_argument("--out", metavar="DIR", help="write a report, an errata page for each paper, counterexample scripts")
    evidence_options(c)
    strict_option(c)


def _fidelity(commands: argparse._SubParsersAction[Parser]) -> None:
    c = add_command(
        commands, "fidelity", "manuscripts", "is what a card quotes in the paper, and is it what is judged?"
    )
    beside_print_options(c)
    c.add_argument("--statement", metavar="ID", help="only this entry (or definitions, settings.NAME)")


def _coverage(commands: argparse._SubParsersAction[Parser]) -> None:
    c = add_command(commands, "coverage", "manuscripts", "which row judges each printed relation, or why none does")
    beside_print_options(c)
    c.add_argument("--full", action="store_true", help="the full audit instead of the quick one")
    c.add_argument("--jobs", type=natural, default=0, metavar="N", help="processes (default: one for each core)")
    c.add_argument("--out", metavar="DIR", help="write a page for each paper: its formulas in order, with verdicts")


def _draft(commands: argparse._SubParsersAction[Parser]) -> None:
    c = add_command(commands, "draft", "drafting", "a card from the source of a paper: LaTeX or Markdown")
    c.add_argument("paper", metavar="PAPER", help="a .tex file (with what it takes in) or a .md file")
    c.add_argument("--out", metavar="FILE", help="the card (default: PAPER.draft.toml in this folder)")
    c.add_argument("--answers", metavar="FILE", help="answers of the author (TOML), or a card that keeps them")


def _check(commands: argparse._SubParsersAction[Parser]) -> None:
    c = add_command(commands, "check", "auditing", "prove or refute one chain of relations")
    c.add_argument("formula", metavar="CHAIN", help="'a <= b < c'")
    c.add_argument("--for", dest="ranges", action="append", default=[], metavar="RANGE", help="'k = integers 1..'")
    c.add_argument("--where", action="append", default=[], metavar="CONDITION", help="hypothesis (repeatable)")
    c.add_argument(
        "--budget",
        type=positive,
        default=20.0,
        metavar="S",
        help="seconds for one link, also by the clock (default 20)",
    )
    memory_option(c)
    c.add_argument("--out", metavar="DIR", help="write a script for every refutation; it needs mpmath alone")
    c.add_argument("--seed", type=natural, default=0, metavar="N", help="seed of the search")
    evidence_options(c)
    strict_option(c)


def _list(commands: argparse._SubParsersAction[Parser]) -> None:
    c = add_command(commands, "list", "catalogue", "what there is: problems, statements, methods, cards")
    kinds = ("problems", "statements", "methods", "cards", "api")
    c.add_argument("kind", nargs="?", choices=kinds, help="only one of them; api: the API reference as Markdown")
    c.add_argument("--paper", metavar="KEY", help="only the statements of this paper")
    c.add_argument("--show", metavar="ID", help="one problem, statement, method or card in full")
    c.add_argument("--fidelity", action="store_true", help="with --show: the statement's quotations beside the print")


def _report(commands: argparse._SubParsersAction[Parser]) -> None:
    c = add_command(commands, "report", "campaigns", "write the report of what was stored")
    c.add_argument("source", metavar="SOURCE", help="folder of a run, its results.sqlite, or a report.json")
    c.add_argument("--out", metavar="DIR", help="folder of the report (default: beside the source)")
    c.add_argument("--title", metavar="TEXT", help="title of the report")
    c.add_argument("--format", metavar="F,...", help="of html, json, markdown, latex, figures (default: all)")
    columns = (
        "columns of tables/rows.tex: statement, claim, problem, eps, formula, measured, certainty ... (fields of a row)"
    )
    c.add_argument("--columns", metavar="NAME,...", help=columns)
    c.add_argument("--export", choices=("csv", "parquet"), help="write all rows as a flat table too")


def _rates(commands: argparse._SubParsersAction[Parser]) -> None:
    c = add_command(
        commands, "rates", "rating", "observed exponents beside those of the papers, or of a method of yours"
    )
    c.add_argument("--only", default="", metavar="TEXT", help="series whose name contains TEXT (default: all)")
    c.add_argument("--list", action="store_true", help="only say which series there are")
    c.add_argument("--short", action="store_true", help="the cheap settings of the four series on the ramp (seconds)")
    c.add_argument("--resume", action="store_true", help="leave out what --out has")
    c.add_argument("--out", metavar="DIR", help="write rates.md and rates.json, which a report into DIR shows")
    own = c.add_argument_group("a series of your own")
    problem_options(own, positional=False)
    own.add_argument("--method", metavar="NAME", help="name of a method (see list methods)")
    own.add_argument("--eps", metavar="E,E,...", help="tolerances, at least four; one where another letter varies")
    own.add_argument("--sweep", metavar="kappa=A,B,...", help="values of another letter of a family: kappa, d or nu")
    counts = "iterations (default), epochs, a kind of call such as grad_g, a sum or a quotient of them"
    own.add_argument("--count", default="iterations", metavar="WHAT", help=counts)
    own.add_argument("--exponent", type=float, metavar="P", help="the promised exponent, in 1/eps or in the letter")
    run_options(own)


def _bench(commands: argparse._SubParsersAction[Parser]) -> None:
    c = add_command(commands, "bench", "measuring", "speed beside hand-written C, lambdify, JAX and CasADi; growth")
    parts = "loops, batch, dimension, samples, constants, import, main-job"
    c.add_argument("--only", metavar="PART,...", help=f"of {parts} (default: all)")
    c.add_argument("--quick", action="store_true", help="smaller sizes and fewer rounds (a minute)")
    c.add_argument("--main-job", action="store_true", help="run the main job too, cold and warm (minutes)")
    c.add_argument("--out", metavar="FILE", help="write the tables into a text file too")


def _experiments(commands: argparse._SubParsersAction[Parser]) -> None:
    text = "run the experiments of the papers; without a name list them"
    c = add_command(commands, "experiments", "experimenting", text)
    c.add_argument("names", nargs="*", metavar="NAME", help="experiments, or all; list shows them")
    c.add_argument(
        "--size", choices=("tiny", "small", "paper"), default="small", help="small (default), or the printed shapes"
    )
    c.add_argument("--data", metavar="DIR", help="folder of data that do not ship with scikit-learn")
    c.add_argument("--out", metavar="DIR", default="bilevel-verify-experiments", help="folder of store and report")
    c.add_argument("--jobs", type=count, metavar="N", help="worker processes (default: the number of processors)")
    c.add_argument("--retry", action="store_true", help="work again on runs that failed before")


def _plot(commands: argparse._SubParsersAction[Parser]) -> None:
    c = add_command(commands, "plot", "picturing", "one picture of a problem, a run or a promise, as SVG, PNG or PDF")
    kinds = "hyper-objective penalty trajectory convergence bound margins scaling curvature".split()
    kinds += ["performance-profile", "data-profile"]
    c.add_argument("kind", choices=kinds, metavar="KIND", help=", ".join(kinds))
    problem_options(c, positional=True)
    c.add_argument("--out", metavar="FILE", help="where to write it: NAME.svg, .png or .pdf (default: KIND.svg)")
    c.add_argument("--method", action="append", default=[], metavar="NAME,...", help="methods (of runs and profiles)")
    c.add_argument(
        "--among", action="append", default=[], metavar="PROBLEM", help="of profiles: one more problem (repeatable)"
    )
    c.add_argument("--statement", metavar="STATEMENT", help="paper/id[:claim] (bound, margins)")
    c.add_argument("--eps", metavar="E,E,...", help="tolerance; several for scaling, margins, profiles")
    box = "range that is shown (repeatable); by default the declared one"
    c.add_argument("--box", action="append", default=[], metavar="NAME=LOW:HIGH", help=box)
    c.add_argument("--along", metavar="NAME,...", help="coordinates that are shown, one or two")
    c.add_argument("--lam", metavar="A,B,...", help="penalty parameters (default 1,3,10,100)")
    across = "horizontal axis of convergence: calls, iterations, seconds, or a kind such as grad_g (default calls)"
    c.add_argument("--against", default="calls", metavar="WHAT", help=across)
    c.add_argument(
        "--count", default="iterations", metavar="WHAT", help="of scaling: iterations, epochs, calls, a kind"
    )
    c.add_argument("--exponent", type=float, metavar="P", help="of scaling: the promised exponent in 1/eps")
    c.add_argument("--letter", metavar="NAME", help="of curvature: a constant of the problem, or L_phi")
    c.add_argument("--paper", metavar="KEY", help="of curvature: whose constants (default: as of constants)")
    run_options(c)


def _cache(commands: argparse._SubParsersAction[Parser]) -> None:
    c = add_command(commands, "cache", "caching", "the folder of compiled code: where it is, what it holds, clear it")
    c.add_argument("--clear", action="store_true", help="remove everything that this tool keeps there")
    c.add_argument("--limit", type=positive, metavar="MB", help="remove what was not used for longest above MB now")


count.__name__, natural.__name__, positive.__name__ = "whole number", "whole number", "number"
