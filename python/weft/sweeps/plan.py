"""The runs of a sweep: each run's spec, checked in full, and the key under which its results are stored."""

from __future__ import annotations

import hashlib
import inspect
import json
import secrets
import shlex
from dataclasses import dataclass, replace
from functools import cache
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft import _weft, api
from weft.errors import SpecError, UsageError
from weft.sweeps import axes as grid
from weft.sweeps.store import SPEC

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from weft.congestion_control import Own
    from weft.sweeps.axes import Axis
    from weft.sweeps.precision import Precision

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
    """The file of the experiment; `SPEC` if it was not a file."""
    overrides: tuple[str, ...]
    axes: tuple[Axis, ...]
    seeds: int
    """Number of seeds per combination of values, the largest if they differ."""
    name: str
    level: frozenset[str]
    """The levels of the runs."""
    runs: tuple[Planned, ...]
    source: Source
    precision: Precision | None = None
    """The intervals that decide the number of seeds, if it is not fixed."""
    of: str | None = None
    """The measure that the sweep is about, if one was named."""
    looks: tuple[tuple[tuple[int, ...], int], ...] = ()
    """For each combination how often its interval was looked at, if `precision` decides."""

    def changes(self, run: Planned) -> list[str]:
        """Returns the varied fields of a run, in the form that `--set` takes."""
        return [change for axis, n in zip(self.axes, run.point, strict=True) for change in axis.changes(n)]

    def extended(self, point: tuple[int, ...], seeds: int, *, force: bool) -> SweepPlan:
        """Returns a plan with this number of seeds for a combination of values, which has fewer."""
        have = sum(run.point == point for run in self.runs)
        more = plan_points(self.source, self.overrides, self.axes, [point], seeds - have, first=have, force=force)
        runs = sorted((*self.runs, *more.runs), key=lambda run: (run.point, run.seed))
        return replace(self, runs=tuple(runs), seeds=max(self.seeds, seeds))

    def command(self, run: Planned, *, force: bool) -> str:
        """Returns the command that repeats one of the runs."""
        sets = [word for change in (*self.overrides, *self.changes(run)) for word in ("--set", change)]
        words = ["weft", "run", str(self.spec), *sets, "--seed", str(run.seed), *(["--force"] if force else [])]
        return shlex.join(words)


@dataclass(frozen=True)
class Source:
    """The experiment that a sweep varies."""

    experiment: Any
    """The path of a spec, a spec as a dictionary, or an experiment."""
    classes: tuple[Any, ...] = ()
    """Classes of congestion control that the values of axes name."""

    @property
    def path(self) -> Path | None:
        """The file of the experiment; None if there is none."""
        return Path(self.experiment) if isinstance(self.experiment, str | PathLike) else None

    def resolved(self, overrides: Sequence[str], *, force: bool) -> dict[str, Any]:
        """Returns the checked spec with some changes.

        Raises:
            SpecError: It is wrong.
        """
        checked = api.check_experiment(self.experiment, list(overrides), force=force, classes=self.classes)
        document: dict[str, Any] = json.loads(checked.spec())
        return document

    def own(self) -> list[Own]:
        """Returns all classes of congestion control that runs may name."""
        from weft.congestion_control import own_of

        return own_of(self.experiment, self.classes)


def plan(
    spec: Source | Path,
    overrides: Sequence[str],
    axes: Sequence[Axis] | None = None,
    seeds: int | None = None,
    *,
    precision: Precision | None = None,
    force: bool,
) -> SweepPlan:
    """Plans a sweep and checks all its runs.

    Args:
        spec: The experiment, or its file.
        overrides: Changes in all runs, in the form that `--set` takes.
        axes: The varied fields; None: those of the spec's table `[sweep]`.
        seeds: Number of runs per combination; None: that of `[sweep]`, or 1.
        precision: The intervals that decide how many seeds are added, if wanted.
        force: Run experiments that need more memory than a machine has free.

    Raises:
        SpecError: A run is wrong.
        UsageError: The axes contradict each other, or there are too many runs.
    """
    source = spec if isinstance(spec, Source) else Source(spec)
    if axes is None or seeds is None:
        said = source.resolved(overrides, force=force).get("sweep", {})
        axes = _axes(said.get("over", [])) if axes is None else axes
        seeds = int(said.get("seeds", 1)) if seeds is None else seeds
    grid.check(axes, seeds)
    planned = plan_points(source, overrides, axes, grid.points(axes), seeds, force=force)
    return replace(planned, precision=precision)


def plan_points(
    spec: Source | Path,
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
        spec: The experiment, or its file.
        overrides: Changes in all runs, in the form that `--set` takes.
        axes: Fields and their values.
        points: Index of the value of each axis, per combination.
        seeds: Number of runs per combination, with consecutive seeds from that of the spec.
        first: Added to the seed of the spec.
        force: Run experiments that need more memory than a machine has free.

    Raises:
        SpecError: A run is wrong.
    """
    source = spec if isinstance(spec, Source) else Source(spec)
    sweep = SweepPlan(source.path or Path(SPEC), tuple(overrides), tuple(axes), seeds, "", frozenset(), (), source)
    sources = {own.name: source_digest(own) for own, *_ in source.own()}
    planned: list[Planned] = []
    levels: set[str] = set()
    name = ""
    for point in points:
        changes = sweep.changes(Planned(point, 0, "", ""))
        document = source.resolved([*overrides, *changes], force=force)
        document.pop("sweep", None)  # not part of a single run
        name, start = document["name"], document["seed"] + first
        levels.add(document["level"])
        if start + seeds - 1 > HIGHEST_SEED:
            more = first + seeds - 1
            raise SpecError(f"seed: {document['seed']} and {more} more; allowed: at most {HIGHEST_SEED}")
        files = [_digest(path) for path in _files(document)]
        ccs = {str((transport.get("cc") or {}).get("name")) for transport in document["transports"].values()}
        files += [sources[name] for name in sorted(ccs & sources.keys())]
        for seed in range(start, start + seeds):
            document["seed"] = seed
            text = json.dumps(document, sort_keys=True)
            planned.append(Planned(point, seed, text, _key(text, files)))
    return replace(sweep, name=name, level=frozenset(levels), runs=tuple(planned))


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


def source_digest(own: object) -> str:
    """Returns a hash of the source of a class or function, so that results of another version are not reused.

    The source of a class that was typed in may be unknown; such results are never reused.
    """
    try:
        text = inspect.getsource(own)  # type: ignore[arg-type]
    except (OSError, TypeError):
        text = secrets.token_hex(16)
    return hashlib.sha256(text.encode()).hexdigest()


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
