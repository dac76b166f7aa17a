"""One bad input, and what every one of them has to end with."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tests.command import INCAST, WEFT

MAX_S = 2.0
"""Maximum processor time."""
MAX_WALL_S = 5.0
"""Maximum time from start to end, on a machine that is not busy."""
MAX_KB = 500_000
FEW_GB_KB = 6_000_000
"""Maximum address space: a command that grows without end must not fill the machine that tests it."""


@dataclass(frozen=True)
class Row:
    """A command that must fail."""

    arguments: tuple[str | bytes, ...]
    words: tuple[str, ...]
    """Words that its line contains."""
    code: int = 2
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    """Files in the folder, in addition to incast.toml."""
    needs: str = ""
    """A folder of results in the folder: "run", "sweep" or "tune"."""
    damage: Callable[[Path], object] | None = None
    """An action in the folder before the command."""
    process: bool = False
    """Whether the command is a separate process."""
    environment: Mapping[str, str] = field(default_factory=dict)
    before: str = ""
    """Commands that bash runs before the process, in the same shell."""

    def __str__(self) -> str:
        text = " ".join(argument if isinstance(argument, str) else repr(argument) for argument in self.arguments)
        return f"{text[:60]} {','.join(self.files)}{self.before}".strip()


def prepare(row: Row, folder: Path, results: Path) -> None:
    """Makes what the row finds in its folder."""
    (folder / "incast.toml").write_text(INCAST)
    for name, content in row.files.items():
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    if row.needs:
        shutil.copytree(results / row.needs, folder / row.needs)
    if row.damage is not None:
        row.damage(folder)


def content(folder: Path) -> dict[str, tuple[int, int]]:
    """All that is in a folder, with size and time of change."""
    found = {}
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            facts = os.lstat(Path(parent) / name)
            found[str(Path(parent) / name)] = (facts.st_size, facts.st_mtime_ns)
    return found


def check(row: Row, code: int, out: str, err: str) -> None:
    """One clear line, and the documented code."""
    assert code == row.code, err
    assert out == ""
    lines = err.splitlines()
    assert len(lines) == 1, err
    assert lines[0].startswith("weft: ")
    assert "Traceback" not in err
    assert "a bug in weft" not in err
    assert lines[0].isprintable()
    assert len(lines[0]) < 2000
    for word in row.words:
        assert word in lines[0]


MEASURE = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[2:])
_, status, usage = os.wait4(process.pid, 0)
measured = os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss
os.write(int(sys.argv[1]), " ".join(map(str, measured)).encode())
"""
"""Runs a command, and writes its exit code, processor seconds and peak memory in KiB to a file descriptor.

Linux counts for a process what its parent had before `exec`, so the parent must be small.
"""


@dataclass(frozen=True)
class Done:
    """A process that has ended."""

    code: int
    out: str
    err: str
    processor_s: float
    wall_s: float
    peak_kb: int


def run_process(row: Row, folder: Path) -> Done:
    """Runs the row's command to its end."""
    script = f'ulimit -v {FEW_GB_KB}; {row.before or ":"}; exec "$@"'
    reading, writing = os.pipe()
    begun = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", MEASURE, str(writing), "/bin/bash", "-c", script, "-", WEFT, *row.arguments],
        cwd=folder,
        env={**os.environ, **row.environment},
        pass_fds=(writing,),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    os.close(writing)
    assert process.stdout is not None
    assert process.stderr is not None
    err = process.stderr.read()
    out = process.stdout.read()
    assert process.wait() == 0
    with os.fdopen(reading) as measured:
        code, seconds, peak_kb = measured.read().split()
    wall_s = time.monotonic() - begun
    return Done(int(code), out.decode(), err.decode(), float(seconds), wall_s, int(peak_kb))


@cache
def start_s() -> float:
    """Processor time of a command that does nothing: on a machine that is busy all take longer."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([WEFT, "--version"], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def max_wall_s() -> float:
    """Returns the maximum time of a row, which grows with the load of the machine."""
    return MAX_WALL_S * max(1.0, 2 * os.getloadavg()[0] / (os.cpu_count() or 1))


class Usage:
    """Processor time and peak memory of this process, from the construction on."""

    def __init__(self) -> None:
        self._begun = time.process_time()
        self._begun_wall = time.monotonic()
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        self._before_kb = self._peak_kb()

    def check(self) -> None:
        """Neither much time nor much memory."""
        # The first call of `start_s` runs a command, which does not count.
        processor_s, wall_s = time.process_time() - self._begun, time.monotonic() - self._begun_wall
        assert processor_s < max(MAX_S, 8 * start_s())
        assert wall_s < max_wall_s()
        assert self._peak_kb() - self._before_kb < MAX_KB

    @staticmethod
    def _peak_kb() -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
