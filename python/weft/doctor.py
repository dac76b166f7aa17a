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
from weft.version import __version__

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
    yield Finding("weft", "ok", f"{__version__}, Python {platform.python_version()}, {platform.platform(terse=True)}")
    yield _packages()
    yield _simulator()
    yield _machine()
    yield _place(Path.cwd())
    yield _program("weftd", 'level "linux"', "make build-linux", os.environ.get("WEFTD"))
    yield _program("tshark", "reading what weft trace writes", "sudo apt-get install tshark")
    yield from map(_extra, EXTRAS)


@dataclass(frozen=True)
class Package:
    """A package that Weft's own metadata require."""

    requirement: Requirement
    version: str | None
    """None if it is missing."""

    @property
    def suits(self) -> bool:
        """Whether it is there in a version that Weft works with."""
        return self.version is not None and self.requirement.specifier.contains(self.version, prereleases=True)

    @property
    def needed(self) -> str:
        """The name and the versions that Weft works with, as `pip install` takes them."""
        return f"{self.requirement.name}{self.requirement.specifier}"

    def __str__(self) -> str:
        if self.suits:
            return f"{self.requirement.name} {self.version}"
        if self.version is None:
            return f"no {self.needed}"
        return f"{self.requirement.name} {self.version} instead of {self.needed}"


def packages(extra: str = "") -> list[Package]:
    """Returns the packages that Weft requires, or those of an extra alone.

    Raises:
        PackageNotFoundError: Weft itself is not installed.
    """
    found = []
    for requirement in map(Requirement, metadata.requires(DISTRIBUTION) or []):
        marker = requirement.marker
        if marker is None:
            wanted = not extra
        else:
            wanted = marker.evaluate({"extra": extra}) and not (extra and marker.evaluate({"extra": ""}))
        if wanted:
            try:
                version = metadata.version(requirement.name)
            except metadata.PackageNotFoundError:
                version = None
            found.append(Package(requirement, version))
    return found


def wrong_versions() -> list[Package]:
    """Returns the packages that are there in versions which Weft does not work with, also those of extras."""
    try:
        found = [package for extra in ("", *EXTRAS) for package in packages(extra)]
    except metadata.PackageNotFoundError:
        return []
    return [package for package in dict.fromkeys(found) if package.version is not None and not package.suits]


def install(wrong: list[Package]) -> str:
    """Returns the command that installs packages in versions that Weft works with."""
    return f"pip install {shlex.join(package.needed for package in wrong)}"


def _packages() -> Finding:
    """Checks the packages that all commands need."""
    try:
        wrong = [package for package in packages() if not package.suits]
    except metadata.PackageNotFoundError:
        return Finding("Python packages", "error", f"{DISTRIBUTION} is not installed", "make build")
    if wrong:
        return Finding("Python packages", "error", "; ".join(map(str, wrong)), install(wrong))
    return Finding("Python packages", "ok", "all there, in versions that Weft works with")


def _simulator() -> Finding:
    """Checks that a run of one millisecond works; the run checks conservation."""
    try:
        run = _weft.Experiment.parse(TINY).run()
        rows = len(run.tables()["flows"])
    except Exception as error:  # noqa: BLE001 - whatever it is, it is to be shown
        return Finding("simulator", "error", str(error), "reinstall weft")
    return Finding("simulator", "ok" if rows == 2 else "error", f"a run of {rows} flows")


def _machine() -> Finding:
    from weft.sweeps.local import cores

    memory = "memory unknown"
    try:
        lines = dict(line.split(":") for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines())
        memory = f"{int(lines['MemAvailable'].split()[0]) / 1e6:.1f} GB of memory free"
    except (OSError, LookupError, ValueError):
        pass
    return Finding("machine", "ok", f"{cores()} cores, load {os.getloadavg()[0]:.1f}, {memory}")


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
    try:
        needed = packages(extra)
    except metadata.PackageNotFoundError:
        return Finding(extra, "warning", f"unknown, because {DISTRIBUTION} is not installed", "make build")
    wrong = [package for package in needed if not package.suits]
    if wrong:
        detail = f"needed for {PURPOSES[extra]}: {', '.join(map(str, wrong))}"
        return Finding(extra, "warning", detail, install(wrong))
    return Finding(extra, "ok", ", ".join(map(str, needed)))
