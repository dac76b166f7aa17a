"""What a sweep has to run: each run's spec, checked in full, and the key under which its results are kept."""

from __future__ import annotations

import hashlib
import json
import shlex
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft import _weft, api
from weft.errors import SpecError
from weft.grid import axes as grid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft.grid.axes import Axis

HIGHEST_SEED = 2**63 - 1


@dataclass(frozen=True)
class Planned:
    """One run of a sweep."""

    point: tuple[int, ...]
    """For each axis the place of its value."""
    seed: int
    spec: str
    """The resolved spec as JSON, with the seed."""
    key: str
    """A hash of the spec, the files that it names, the seed and the build of the simulator."""


@dataclass(frozen=True)
class Sweep:
    """All of a sweep."""

    spec: Path
    overrides: tuple[str, ...]
    axes: tuple[Axis, ...]
    seeds: int
    name: str
    level: frozenset[str]
    """The levels at which there are runs."""
    runs: tuple[Planned, ...]

    def changes(self, run: Planned) -> list[str]:
        """What sets a run apart, as `--set` takes it."""
        return [f"{axis.field}={axis.values[n]}" for axis, n in zip(self.axes, run.point, strict=True)]

    def command(self, run: Planned, *, force: bool) -> str:
        """The command that runs one of the runs by itself."""
        sets = [word for change in (*self.overrides, *self.changes(run)) for word in ("--set", change)]
        words = ["weft", "run", str(self.spec), *sets, "--seed", str(run.seed), *(["--force"] if force else [])]
        return shlex.join(words)


def plan(spec: Path, overrides: Sequence[str], axes: Sequence[Axis], seeds: int, *, force: bool) -> Sweep:
    """Checks all runs of a sweep.

    Raises:
        SpecError: One of them is wrong.
        UsageError: The axes are, together.
    """
    grid.check(axes, seeds)
    sweep = Sweep(spec, tuple(overrides), tuple(axes), seeds, "", frozenset(), ())
    planned: list[Planned] = []
    levels: set[str] = set()
    name = ""
    for point in grid.points(axes):
        changes = sweep.changes(Planned(point, 0, "", ""))
        document = json.loads(api._parse(spec, [*overrides, *changes], force=force).spec())  # noqa: SLF001
        name, first = document["name"], document["seed"]
        levels.add(document["level"])
        if first + seeds - 1 > HIGHEST_SEED:
            raise SpecError(f"seed: {first} and {seeds - 1} more; allowed: at most {HIGHEST_SEED}")
        files = [_digest(path) for path in _files(document)]
        for seed in range(first, first + seeds):
            document["seed"] = seed
            text = json.dumps(document, sort_keys=True)
            planned.append(Planned(point, seed, text, _key(text, files)))
    return Sweep(spec, tuple(overrides), tuple(axes), seeds, name, frozenset(levels), tuple(planned))


@cache
def build() -> str:
    """The version, and a hash of the compiled simulator: one changed and compiled anew gives results of its own."""
    return f"{_weft.__version__}+{_digest(Path(_weft.__file__))[:16]}"


def _key(text: str, files: Sequence[str]) -> str:
    parts = "\n".join([build(), *files, text])
    return hashlib.sha256(parts.encode()).hexdigest()[:32]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _files(part: Any) -> list[Path]:  # noqa: ANN401 - any JSON
    """The files that a spec names, which the simulator has read once already; their paths are made absolute."""
    found: list[Path] = []
    if isinstance(part, list):
        for item in part:
            found += _files(item)
    elif isinstance(part, dict):
        for name, value in part.items():
            # A `cdf` without a dot or a slash is the name of a workload.
            if name in {"cdf", "file"} and isinstance(value, str) and ("." in value or "/" in value):
                path = Path(value).absolute()
                part[name] = str(path)
                found.append(path)
            else:
                found += _files(value)
    return found
