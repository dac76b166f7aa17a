"""The last line of defence of a program: whatever goes wrong becomes one line and an exit code."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import typer

from weft import _weft, terminal
from weft.errors import InternalError, StoppedError, WeftError

if TYPE_CHECKING:
    from collections.abc import Callable

BAD_INPUT = 2
BUG = 70
INTERRUPTED = 130


def run_guarded(program: Callable[[], int | None]) -> int:
    """Runs a program. Returns its exit code: 0, 2 for bad input, 70 for a bug in Weft, 130 for Ctrl-C."""
    _weft.record_panics()
    try:
        code = program() or 0
        sys.stdout.flush()
        if code == INTERRUPTED:
            # Typer makes an exit code of Ctrl-C.
            raise KeyboardInterrupt  # noqa: TRY301 - as if it had never been made an exit code
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else BUG
    except KeyboardInterrupt:
        terminal.complain("stopped")
        return INTERRUPTED
    except StoppedError as error:
        terminal.complain(str(error))
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has gone. What Python still holds for it must not fail at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except InternalError as error:
        return _bug(str(error))
    except WeftError as error:
        terminal.complain(str(error))
        return BAD_INPUT
    except typer.TyperException as error:
        terminal.complain(error.format_message())
        return BAD_INPUT
    except BaseException as error:  # noqa: BLE001 - a panic is no Exception, and nobody should see a traceback
        return _bug(_weft.last_panic() or f"{type(error).__name__}: {error}")
    return code


def _bug(what: str) -> int:
    terminal.complain(f"a bug in weft {_weft.__version__}, please report it: {what}")
    return BUG
