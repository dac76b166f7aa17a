"""Runs the command `weft` as a user would: as a process."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]

WEFT = str(Path(sys.executable).parent / "weft")

INCAST = """\
name = "incast"
duration = "50ms"

[topology]
kind = "many-to-one"
senders = 4
rate = "10Gbps"
delay = "5us"

[queues]
limit = "100 packets"
mark = "10 packets"

[transports.dctcp]
cc = "dctcp"

[[traffic]]
kind = "incast"
transport = "dctcp"
flows = 4
size = "64KB"
gap = "50us"
"""


@dataclass(frozen=True)
class Ended:
    """A process that has ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Standard output as the one JSON document it must be."""
        return json.loads(self.out)

    def complaint(self, code: int = 2) -> str:
        """The one line of standard error, after checking that there is nothing else and the code is right."""
        assert self.code == code, self
        assert self.out == "", self
        lines = self.err.splitlines()
        assert len(lines) == 1, self
        assert lines[0].startswith("weft: "), self
        return lines[0]


def press_ctrl_c(after_s: float) -> threading.Timer:
    """Interrupts this process's main thread later. Unlike `_thread.interrupt_main`, it also ends a call that waits."""
    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(after_s, signal.pthread_kill, (main, signal.SIGINT))
    timer.start()
    return timer


def weft(*arguments: str, cwd: Path) -> Ended:
    """Runs `weft` with these arguments."""
    done = subprocess.run([WEFT, *arguments], cwd=cwd, capture_output=True, text=True, check=False, timeout=600)
    # On a slow machine a sweep prints lines of progress.
    err = re.sub(r"^weft: .*% after \d+ min\n", "", done.stderr, flags=re.MULTILINE)
    return Ended(done.returncode, done.stdout, err)


def wait_for(process: subprocess.Popen[Any], condition: Callable[[], bool]) -> None:
    """Waits up to a minute until a condition holds for a process that must not end before."""
    until = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, "the process has ended"
        assert time.monotonic() < until, "the condition never held"
        time.sleep(0.005)


def catches(process: subprocess.Popen[Any], number: signal.Signals) -> bool:
    """Whether a process has a handler for a signal."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    caught = next(int(line.split()[1], 16) for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(caught >> (number - 1) & 1)


def wait_for_work(process: subprocess.Popen[Any], folder: Path, processor_s: float = 0.3) -> None:
    """Waits until a command has worked for some processor time.

    Args:
        process: The command.
        folder: The folder in which its unfinished results are; the time counts from their beginning.
        processor_s: Processor seconds.
    """
    before = set(folder.glob(".weft-*"))
    wait_for(process, lambda: not set(folder.glob(".weft-*")) <= before)

    def used() -> float:
        times = psutil.Process(process.pid).cpu_times()
        return float(times.user + times.system)

    begun = used()
    wait_for(process, lambda: used() > begun + processor_s)
