"""Turns every failure of a program into one line and an exit code."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
import warnings
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from weft import _weft, terminal
from weft.errors import InternalError, RequirementError, ResultWarning, RunError, StoppedError, WeftError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BAD_INPUT = 2
MISSING = 3
BUG = 70
INTERRUPTED = 130


@runtime_checkable
class _BadCommand(Protocol):
    """Typer's exceptions about options and arguments. Their class has had several names and places."""

    def format_message(self) -> str: ...


def run_command(program: Callable[[], int | None]) -> int:
    """Runs a program. SIGTERM and SIGHUP end it as Ctrl-C does: batch schedulers and closed terminals send them.

    Returns:
        Its exit code: 0, 2 for bad input, 3 if the machine lacks something, 70 for a bug in Weft, 130 if it was
        stopped by Ctrl-C or another signal.
    """
    _weft.record_panics()
    # Commands print the warnings of a manifest themselves, or show them in their pages.
    warnings.simplefilter("ignore", ResultWarning)
    try:
        with _signals_raise():
            code = program() or 0
            terminal.flush()
            if code == INTERRUPTED:
                # Typer turns Ctrl-C into an exit code.
                raise KeyboardInterrupt  # noqa: TRY301 - as if it had never been made an exit code
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else BUG
    except terminal.OutputClosedError:
        code = 0
    except BaseException as error:  # noqa: BLE001 - a panic is not an Exception; users see no traceback
        line, code = describe(error)
        terminal.print_error(line)
    _forget_output()
    return code


RETRY_S = 0.001
"""Time after which a Ctrl-C that was lost is raised once more."""


@contextlib.contextmanager
def _signals_raise() -> Iterator[None]:
    """Makes signals that end the process raise KeyboardInterrupt, and restores the previous handlers.

    An exception in a callback of a weak reference or in a `__del__` cannot propagate: Python prints it as "ignored" and
    goes on. Imports have such callbacks. A Ctrl-C that is lost so is raised once more a little later, by SIGALRM.
    """
    hook = sys.unraisablehook

    def retry(lost: sys.UnraisableHookArgs) -> None:
        if issubclass(lost.exc_type, KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, RETRY_S)
        else:
            hook(lost)

    before = {}
    try:
        for number in (signal.SIGALRM, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # Ignored signals stay ignored: a shell's background jobs, nohup.
            if signal.getsignal(number) == signal.SIG_DFL:
                before[number] = signal.SIG_DFL
                signal.signal(number, signal.default_int_handler)
        sys.unraisablehook = retry
        yield
    finally:
        # From here on a signal ends the process at once: there is nothing left to stop, and Python's own end would
        # print the exception.
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.unraisablehook = hook


def _forget_output() -> None:
    """Drops unwritten output.

    At its end Python writes the rest of its buffers, and would fail if that is impossible.
    """
    for stream, descriptor in ((sys.stdout, 1), (sys.stderr, 2)):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            with contextlib.suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


def describe(error: BaseException) -> tuple[str, int]:
    """Returns the error in one line, and its exit code."""
    match error:
        case KeyboardInterrupt():
            return "stopped", INTERRUPTED
        case StoppedError():
            return str(error), INTERRUPTED
        case InternalError():
            what = str(error)
        case RequirementError():
            return str(error), MISSING
        case WeftError():
            return str(error), BAD_INPUT
        case _BadCommand():
            return error.format_message(), BAD_INPUT
        case FileNotFoundError(filename=None):
            return "the working directory no longer exists; change to another directory", BAD_INPUT
        case OSError(errno=errno.ENOSPC | errno.EIO | errno.EDQUOT | errno.EBADF, filename=None):
            # Help is printed by another library.
            return f"standard output: cannot be written: {error.strerror}", BAD_INPUT
        case _:
            advice = _wrong_versions() if isinstance(error, Exception) else None
            if advice is not None:
                return advice, MISSING
            panic = None if isinstance(error, Exception) else _weft.last_panic()
            what = panic or f"{type(error).__name__}: {error}"
    from weft.version import __version__

    return f"a bug in weft {__version__}, please report it: {what}", BUG


def error_of(line: str, code: int) -> WeftError:
    """Returns the exception for a failure of a worker, from its line and exit code."""
    return {MISSING: RequirementError, BUG: InternalError}.get(code, RunError)(line)


def _wrong_versions() -> str | None:
    """Returns a line about packages whose versions Weft does not work with: they may be the cause of an error."""
    from weft.doctor import install, wrong_versions

    problems = wrong_versions()
    if not problems:
        return None
    return f"{'; '.join(map(str, problems))}; run: {install(problems)}"
