"""The last line of defence of a program: whatever goes wrong becomes one line and an exit code."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import typer

from weft import _weft, terminal
from weft.errors import InternalError, MissingError, StoppedError, WeftError

if TYPE_CHECKING:
    from collections.abc import Callable

BAD_INPUT = 2
MISSING = 3
BUG = 70
INTERRUPTED = 130


def run_guarded(program: Callable[[], int | None]) -> int:
    """Runs a program.

    Returns:
        Its exit code: 0, 2 for bad input, 3 where the machine lacks something, 70 for a bug in Weft, 130 for Ctrl-C.
    """
    _weft.record_panics()
    try:
        code = program() or 0
        sys.stdout.flush()
        if code == INTERRUPTED:
            # Typer makes an exit code of Ctrl-C.
            raise KeyboardInterrupt  # noqa: TRY301 - as if it had never been made an exit code
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else BUG
    except BrokenPipeError:
        # The reader has gone. What Python still holds for it must not fail at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except BaseException as error:  # noqa: BLE001 - a panic is no Exception, and nobody should see a traceback
        line, code = describe(error)
        terminal.complain(line)
    return code


def describe(error: BaseException) -> tuple[str, int]:
    """What went wrong, in one line, and the exit code for it."""
    match error:
        case KeyboardInterrupt():
            return "stopped", INTERRUPTED
        case StoppedError():
            return str(error), INTERRUPTED
        case InternalError():
            what = str(error)
        case MissingError():
            return str(error), MISSING
        case WeftError():
            return str(error), BAD_INPUT
        case typer.TyperException():
            return error.format_message(), BAD_INPUT
        case _:
            panic = None if isinstance(error, Exception) else _weft.last_panic()
            what = panic or f"{type(error).__name__}: {error}"
    return f"a bug in weft {_weft.__version__}, please report it: {what}", BUG
