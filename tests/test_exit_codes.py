"""Every failure becomes one line and an exit code."""

from __future__ import annotations

import errno
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from weft import errors, terminal
from weft.exit_codes import run_command


def raising(error: BaseException) -> Callable[[], None]:
    def program() -> None:
        raise error

    return program


class Panic(BaseException):
    """A stand-in for pyo3's PanicException, which is not an Exception."""


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.SpecError("topology.senders: 0; allowed: 1 or more"), 2),
        (errors.OutputError("out: exists already"), 2),
        (errors.RunError("threads: 0"), 2),
        (errors.RequirementError("needs root"), 3),
        (errors.UsageError("no figure given"), 2),
        (typer.BadParameter("not a number"), 2),
        (FileNotFoundError(errno.ENOENT, "No such file or directory"), 2),
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "weft/lost.json"), 70),
        (errors.InternalError("link 3: 5 sent, 4 arrived"), 70),
        (ZeroDivisionError("division by zero"), 70),
        (Panic("index out of bounds"), 70),
        (errors.StoppedError("stopped"), 130),
        (KeyboardInterrupt(), 130),
        (SystemExit(130), 130),
    ],
)
def test_code(error: BaseException, code: int) -> None:
    assert run_command(raising(error)) == code


@pytest.mark.parametrize("error", [errors.SpecError("a\nb"), ZeroDivisionError("a\nb"), Panic("a\r\n b")])
def test_one_line(error: BaseException, capsys: pytest.CaptureFixture[str]) -> None:
    run_command(raising(error))
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert shown.err.startswith("weft: ")
    assert shown.err.endswith("a b\n")


def test_bug_asks_for_a_report(capsys: pytest.CaptureFixture[str]) -> None:
    run_command(raising(ZeroDivisionError("division by zero")))
    assert "please report it: ZeroDivisionError: division by zero" in capsys.readouterr().err


LOST = """
import gc, signal, sys, time, weakref
from weft.exit_codes import run_command
class Lost:
    def __del__(self):
        {in_del}
def program():
    lost = Lost()
    watched = weakref.ref(lost, lambda _: {in_callback})
    del lost
    time.sleep(20)
signal.signal(signal.SIGINT, signal.SIG_DFL)
sys.exit(run_command(program))
"""


@pytest.mark.parametrize(
    ("in_del", "in_callback"), [("pass", "signal.raise_signal({})"), ("signal.raise_signal({})", "None")]
)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_where_python_ignores_exceptions(in_del: str, in_callback: str, number: signal.Signals) -> None:
    program = LOST.format(in_del=in_del.format(int(number)), in_callback=in_callback.format(int(number)))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (130, "weft: stopped\n")


def test_signal_after_the_end_ends_the_process() -> None:
    """A KeyboardInterrupt at the end of Python could only be printed as a traceback."""
    program = """
import os, signal
from weft.exit_codes import run_command
signal.signal(signal.SIGINT, signal.SIG_DFL)
run_command(lambda: 0)
os.kill(os.getpid(), signal.SIGINT)
print("still running")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def test_success() -> None:
    assert run_command(lambda: None) == 0


@given(st.text())
def test_any_complaint_is_one_line(text: str) -> None:
    line = terminal.one_line(text)
    assert len(line.splitlines()) <= 1
    assert line.isprintable()


def test_name_in_the_progress_bar_is_no_markup() -> None:
    bar = terminal.ProgressBar("[/x]\n")._start()  # noqa: SLF001 - without a terminal there is no bar
    bar.refresh()
    bar.stop()


def test_lines_of_progress_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(terminal, "LINE_EVERY_S", 0.01)
    for lines in (False, True):
        with terminal.ProgressBar("incast", lines=lines) as bar:
            bar.show(0.25, "1 of 4 runs")
            shown = ""
            until = time.monotonic() + (60 if lines else 0.1)
            while shown.count("\n") < 2 and time.monotonic() < until:
                time.sleep(0.01)
                shown += capsys.readouterr().err
        assert shown.startswith("weft: incast: 1 of 4 runs, 25% after 0 min\n" * 2) if lines else shown == ""
