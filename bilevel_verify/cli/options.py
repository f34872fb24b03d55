"""What commands share: their parser, options that several of them have, kinds of numbers."""

from __future__ import annotations

import argparse
from typing import NoReturn

from bilevel_verify.errors import one_line

COMMANDS = "bilevel_verify.cli.commands"


class Parser(argparse.ArgumentParser):
    """Errors on one line instead of the usage text."""

    def error(self, message: str) -> NoReturn:
        if message.endswith("required: CHAIN"):
            message += "; a chain that begins with a minus comes after '--'"
        self.exit(2, f"{self.prog}: error: {one_line(message)} (see {self.prog} --help)\n")


class Version(argparse.Action):
    """``--version`` without importing the package before it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object, **__: object) -> NoReturn:
        from bilevel_verify.version import VERSION

        parser.exit(0, f"bilevel-verify {VERSION}\n")


def add_command(
    commands: argparse._SubParsersAction[Parser], name: str, module: str, summary: str
) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(name, help=summary, description=summary, allow_abbrev=False)
    command.set_defaults(run=f"{COMMANDS}.{module}:{name}_command")
    command.add_argument("--json", action="store_true", help="JSON alone on stdout; messages go to stderr")
    command.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return command


def problem_options(command: argparse._ActionsContainer, positional: bool) -> None:
    if positional:
        command.add_argument("target", nargs="?", metavar="PROBLEM", help="zoo:NAME[:knob=value,...] or a TOML file")
    command.add_argument("--problem", metavar="PROBLEM", help="zoo:NAME[:knob=value,...] or a TOML file")
    command.add_argument(
        "--knob", action="append", default=[], metavar="NAME=VALUE", help="value of a knob (repeatable)"
    )
    command.add_argument("--allow-outside", action="store_true", help="let a problem file read data outside its folder")


def run_options(command: argparse._ActionsContainer) -> None:
    command.add_argument("--x0", metavar="A,B,...", help="start (--x0=-1,2 for a negative one)")
    command.add_argument("--y0", metavar="A,B,...", help="start of the lower level")
    command.add_argument(
        *("--set", "--parameter"), action="append", default=[], dest="letters", metavar="LETTER=VALUE",
        help="explicit letter, wins over the card (repeatable)",
    )  # fmt: skip
    command.add_argument("--budget", type=count, metavar="N", help="most oracle calls of one run")
    command.add_argument("--seed", type=natural, default=0, metavar="N", help="seed of everything random (default 0)")


def seconds_option(command: argparse.ArgumentParser, what: str) -> None:
    command.add_argument("--seconds", type=positive, metavar="S", help=f"seconds of the clock: {what}")


def strict_option(command: argparse.ArgumentParser) -> None:
    command.add_argument("--strict", action="store_true", help="exit 1 for undecided rows too")


def evidence_options(command: argparse.ArgumentParser) -> None:
    text = "find a certificate for each decided relation and write it to DIR (check: python -m bilevel_check DIR)"
    command.add_argument("--certificates", metavar="DIR", help=text)
    text = "write them as files for Coq 8.16 (needs no Coq to write; where it is installed, it is asked)"
    command.add_argument("--coq", metavar="DIR", help=text)


def beside_print_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("paper", nargs="*", metavar="PAPER", help="keys of papers or card files; all cards by default")
    command.add_argument("--print", metavar="FILE", help="print of the paper (default: the one shipped with its card)")
    command.add_argument("--all", action="store_true", help="every row, not only what is wrong or summed up")


def memory_option(command: argparse.ArgumentParser) -> None:
    text = "memory that the engines may use (default 2)"
    command.add_argument("--memory", type=positive, default=2.0, metavar="GIB", help=text)


def count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {text}")
    return value


def natural(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"must not be negative, not {text}")
    return value


def positive(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be positive and finite, not {text}")
    return value
