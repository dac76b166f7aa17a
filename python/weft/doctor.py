"""The checks of `weft doctor`: whether the simulator works, and what this machine has for optional features."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from packaging.requirements import Requirement

from weft import _weft
from weft.extras import EXTRAS, PURPOSES

if TYPE_CHECKING:
    from collections.abc import Iterator

State = Literal["ok", "warning", "error"]


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    what: str
    state: State
    """`warning`: a feature is not available; `error`: Weft does not work."""
    detail: str
    fix: str = ""
    """The command or option that makes the finding ok."""


DISTRIBUTION = "weft-sim"
"""The name of the package that has the module `weft`."""
TINY = """
name = "doctor"
duration = "1ms"
topology = { kind = "many-to-one", senders = 2, rate = "10Gbps", delay = "2us" }
queues = { limit = "100 packets", mark = "10 packets" }
transports.dctcp.cc = "dctcp"
traffic = [{ kind = "incast", transport = "dctcp", flows = 2, size = "100KB" }]
"""


def examine() -> Iterator[Finding]:
    """Runs all checks, the most important first."""
    yield Finding(
        "weft", "ok", f"{_weft.__version__}, Python {platform.python_version()}, {platform.platform(terse=True)}"
    )
    yield from _packages()
    yield _simulator()
    yield _machine()
    yield _place(Path.cwd())
    yield _program("weftd", 'level "linux"', "make build-linux", os.environ.get("WEFTD"))
    yield _program("tshark", "reading what weft trace writes", "sudo apt-get install tshark")
    yield from map(_extra, EXTRAS)


def _packages() -> Iterator[Finding]:
    """Checks the packages that Weft's own metadata require."""
    missing = []
    try:
        required = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        yield Finding("Python packages", "error", f"{DISTRIBUTION} is not installed", "make build")
        return
    for requirement in map(Requirement, required):
        if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
            continue
        try:
            suits = metadata.version(requirement.name) in requirement.specifier
        except metadata.PackageNotFoundError:
            suits = False
        if not suits:
            missing.append(f"{requirement.name}{requirement.specifier}")
    if missing:
        yield Finding(
            "Python packages", "error", f"missing: {', '.join(missing)}", f"pip install {shlex.join(missing)}"
        )
    else:
        yield Finding("Python packages", "ok", "all there")


def _simulator() -> Finding:
    """Checks that a run of one millisecond works; the run checks conservation."""
    try:
        run = _weft.Experiment.parse(TINY).run()
        rows = len(run.tables()["flows"])
    except Exception as error:  # noqa: BLE001 - whatever it is, it is to be shown
        return Finding("simulator", "error", str(error), "reinstall weft")
    return Finding("simulator", "ok" if rows == 2 else "error", f"a run of {rows} flows")


def _machine() -> Finding:
    cores = len(os.sched_getaffinity(0))
    memory = "memory unknown"
    try:
        lines = dict(line.split(":") for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines())
        memory = f"{int(lines['MemAvailable'].split()[0]) / 1e6:.1f} GB of memory free"
    except (OSError, LookupError, ValueError):
        pass
    return Finding("machine", "ok", f"{cores} cores, load {os.getloadavg()[0]:.1f}, {memory}")


def _place(folder: Path) -> Finding:
    free = f"{shutil.disk_usage(folder).free / 1e9:.1f} GB free in {folder}"
    if os.access(folder, os.W_OK | os.X_OK):
        return Finding("results", "ok", free)
    return Finding("results", "warning", f"{folder} cannot be written to", "--out with a folder elsewhere")


def _program(name: str, purpose: str, fix: str, given: str | None = None) -> Finding:
    found = given or shutil.which(name)
    if found is not None and Path(found).is_file():
        return Finding(name, "ok", found)
    return Finding(name, "warning", f"needed for {purpose}", fix)


def _extra(extra: str) -> Finding:
    """Checks the packages of an extra."""
    versions, missing = [], []
    for package in EXTRAS[extra]:
        try:
            versions.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            missing.append(package)
    if missing:
        detail = f"needed for {PURPOSES[extra]}: no {', '.join(missing)}"
        return Finding(extra, "warning", detail, f"pip install {' '.join(missing)}")
    return Finding(extra, "ok", ", ".join(versions))
