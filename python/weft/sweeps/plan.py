"""The runs of a sweep: each run's spec, checked in full, and the key under which its results are stored."""

from __future__ import annotations

import hashlib
import json
import shlex
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft import _weft, api
from weft.errors import SpecError, UsageError
from weft.sweeps import axes as grid

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from weft.sweeps.axes import Axis

HIGHEST_SEED = 2**63 - 1


@dataclass(frozen=True)
class Planned:
    """One run of a sweep."""

    point: tuple[int, ...]
    """Index of the value of each axis."""
    seed: int
    spec: str
    """The resolved spec as JSON, with the seed."""
    key: str
    """A hash of the spec, the files that it names, the seed and the build of the simulator."""


@dataclass(frozen=True)
class SweepPlan:
    """All runs of a sweep, in the order of its tables."""

    spec: Path
    overrides: tuple[str, ...]
    axes: tuple[Axis, ...]
    seeds: int
    name: str
    level: frozenset[str]
    """The levels of the runs."""
    runs: tuple[Planned, ...]

    def changes(self, run: Planned) -> list[str]:
        """Returns the varied fields of a run, in the form that `--set` takes."""
        return [f"{axis.field}={axis.values[n]}" for axis, n in zip(self.axes, run.point, strict=True)]

    def command(self, run: Planned, *, force: bool) -> str:
        """Returns the command that repeats one of the runs."""
        sets = [word for change in (*self.overrides, *self.changes(run)) for word in ("--set", change)]
        words = ["weft", "run", str(self.spec), *sets, "--seed", str(run.seed), *(["--force"] if force else [])]
        return shlex.join(words)


def plan(
    spec: Path,
    overrides: Sequence[str],
    axes: Sequence[Axis] | None = None,
    seeds: int | None = None,
    *,
    force: bool,
) -> SweepPlan:
    """Plans a sweep and checks all its runs.

    Args:
        spec: The file of the experiment.
        overrides: Changes in all runs, in the form that `--set` takes.
        axes: The varied fields; None: those of the spec's table `[sweep]`.
        seeds: Number of runs per combination; None: that of `[sweep]`, or 1.
        force: Run experiments that need more memory than a machine has free.

    Raises:
        SpecError: A run is wrong.
        UsageError: The axes contradict each other, or there are too many runs.
    """
    if axes is None or seeds is None:
        said = json.loads(api._parse(spec, overrides, force=force).spec()).get("sweep", {})  # noqa: SLF001
        axes = _axes(said.get("over", [])) if axes is None else axes
        seeds = int(said.get("seeds", 1)) if seeds is None else seeds
    grid.check(axes, seeds)
    return plan_points(spec, overrides, axes, grid.points(axes), seeds, force=force)


def plan_points(
    spec: Path,
    overrides: Sequence[str],
    axes: Sequence[Axis],
    points: Iterable[tuple[int, ...]],
    seeds: int,
    *,
    first: int = 0,
    force: bool,
) -> SweepPlan:
    """Checks the runs of some combinations of values.

    Args:
        spec: The file of the experiment.
        overrides: Changes in all runs, in the form that `--set` takes.
        axes: Fields and their values.
        points: Index of the value of each axis, per combination.
        seeds: Number of runs per combination, with consecutive seeds from that of the spec.
        first: Added to the seed of the spec.
        force: Run experiments that need more memory than a machine has free.

    Raises:
        SpecError: A run is wrong.
    """
    sweep = SweepPlan(spec, tuple(overrides), tuple(axes), seeds, "", frozenset(), ())
    planned: list[Planned] = []
    levels: set[str] = set()
    name = ""
    for point in points:
        changes = sweep.changes(Planned(point, 0, "", ""))
        document = json.loads(api._parse(spec, [*overrides, *changes], force=force).spec())  # noqa: SLF001
        document.pop("sweep", None)  # not part of a single run
        name, start = document["name"], document["seed"] + first
        levels.add(document["level"])
        if start + seeds - 1 > HIGHEST_SEED:
            more = first + seeds - 1
            raise SpecError(f"seed: {document['seed']} and {more} more; allowed: at most {HIGHEST_SEED}")
        files = [_digest(path) for path in _files(document)]
        for seed in range(start, start + seeds):
            document["seed"] = seed
            text = json.dumps(document, sort_keys=True)
            planned.append(Planned(point, seed, text, _key(text, files)))
    return SweepPlan(spec, tuple(overrides), tuple(axes), seeds, name, frozenset(levels), tuple(planned))


def _axes(over: Sequence[str]) -> list[Axis]:
    axes = []
    for index, text in enumerate(over):
        try:
            axes.append(grid.Axis.parse(text))
        except UsageError as error:
            raise SpecError(f"sweep.over[{index}]: {str(error).removeprefix('--over ')}") from None
    return axes


@cache
def build() -> str:
    """Returns the version and a hash of the compiled simulator.

    A changed simulator has results of its own.
    """
    return f"{_weft.__version__}+{_digest(Path(_weft.__file__))[:16]}"


def _key(text: str, files: Sequence[str]) -> str:
    parts = "\n".join([build(), *files, text])
    return hashlib.sha256(parts.encode()).hexdigest()[:32]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _files(part: Any) -> list[Path]:  # noqa: ANN401 - any JSON
    """Returns the files that a spec names; the simulator has already read them once.

    Their paths are made absolute.
    """
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
