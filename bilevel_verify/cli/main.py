"""From arguments to an exit status; every error is one line, a traceback only with ``--debug``."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
import time
from collections.abc import Sequence

from bilevel_verify.cli.parser import build_parser
from bilevel_verify.errors import BilevelVerifyError, InputError, one_line, visible

OK, REFUTED, WRONG_USE, OUR_ERROR, INTERRUPTED = 0, 1, 2, 3, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Parameters
    ----------
    argv : arguments without the program's name; those of the process by default.
    """
    began = time.monotonic()
    parser = build_parser()
    try:
        arguments = parser.parse_args(argv)
    except SystemExit as stop:
        return int(stop.code or 0)
    if not getattr(arguments, "run", None):
        parser.print_help(sys.stderr)
        return WRONG_USE
    arguments.began = began
    try:
        return _call(arguments)
    except KeyboardInterrupt:
        _message("interrupted", arguments)
        return INTERRUPTED
    except BrokenPipeError:
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except InputError as error:
        return _failed(f"error: {_line(error)}", WRONG_USE, arguments)
    except BilevelVerifyError as error:
        return _failed(f"error: {_line(error)}", OUR_ERROR, arguments)
    except RecursionError:
        return _failed("error: the input is nested too deeply", WRONG_USE, arguments)
    except Exception as error:
        text = f"internal error: {type(error).__name__}: {_line(error)} (--debug shows where)"
        return _failed(text, OUR_ERROR, arguments)


def _call(arguments: argparse.Namespace) -> int:
    """Load the command's module only now: ``--help`` needs none of them."""
    module, _, function = arguments.run.partition(":")
    return int(getattr(importlib.import_module(module), function)(arguments))


def _failed(message: str, status: int, arguments: argparse.Namespace) -> int:
    if arguments.debug:
        import traceback

        traceback.print_exc()
    _message(message, arguments)
    if arguments.json:
        import json

        print(json.dumps({"error": message.partition(": ")[2], "status": status}))
    return status


def _message(text: str, arguments: argparse.Namespace) -> None:
    print(visible(f"bilevel-verify {arguments.command}: {text}"), file=sys.stderr)


def _line(error: BaseException) -> str:
    return one_line(str(error))
