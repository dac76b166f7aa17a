"""The inputs of a report: folders of runs and sweeps, in groups of runs that differ only in their seed."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from weft import api
from weft.api import Result
from weft.errors import UsageError
from weft.inspection import values_of
from weft.output import file_name
from weft.sweeps.axes import Axis, label_names
from weft.sweeps.results import axes_of, read_document
from weft.sweeps.store import DOCUMENT, SPEC, results_of

MAX_FIELDS = 3
"""Maximum number of fields in the name of a group; with more, its folder is the name."""


@dataclass(frozen=True)
class Run:
    """A run on disk."""

    folder: Path
    manifest: dict[str, Any]

    @property
    def seed(self) -> int:
        """Returns the seed of the run."""
        return int(self.manifest["seed"])

    def result(self) -> Result:
        """Reads the tables from the folder."""
        return Result.read(self.folder)


@dataclass(frozen=True)
class Group:
    """Runs that differ only in their seed."""

    labels: dict[str, str | int | float]
    """Values of the fields that distinguish the group; empty if it is the only one."""
    runs: tuple[Run, ...]
    """At least one run, in the order of their seeds."""
    looks: int = 0
    """How often a sweep looked at the group's interval to decide on the number of seeds; 0 if that was fixed."""

    @property
    def name(self) -> str:
        """Returns the name of the group, as in `cc = amp, flows = 10`."""
        if list(self.labels) == ["run"]:
            return str(self.labels["run"])
        return ", ".join(f"{name} = {value}" for name, value in self.labels.items()) or self.manifest["name"] or "run"

    @property
    def manifest(self) -> dict[str, Any]:
        """Returns the manifest of the first run."""
        return self.runs[0].manifest


@dataclass(frozen=True)
class Rerun:
    """How to run a sweep again."""

    command: str
    """A shell command."""
    file: str = ""
    """Name of the spec in the command, if the page has to provide a dictionary as that file."""
    spec: str = ""
    """Content of that file."""


@dataclass
class ReportInputs:
    """All that was given."""

    groups: list[Group] = field(default_factory=list)
    reruns: list[Rerun] = field(default_factory=list)
    """One for each sweep."""
    absent: list[str] = field(default_factory=list)
    """Runs of sweeps that have no results."""
    of: str | None = None
    """The measure that a sweep was asked for, or one that suits its jobs."""
    fields: dict[str, str] = field(default_factory=dict)
    """Fields that sweeps vary, by their names in the labels of groups."""

    @property
    def axes(self) -> list[str]:
        """The fields that set groups apart."""
        return list(dict.fromkeys(name for group in self.groups for name in group.labels))

    @property
    def runs(self) -> list[Run]:
        """All runs."""
        return [run for group in self.groups for run in group.runs]


def read(folders: Sequence[Path]) -> ReportInputs:
    """Reads the folders of runs and sweeps.

    Raises:
        UsageError: One is neither, is incomplete, or holds what another holds as well.
    """
    inputs = ReportInputs()
    single: list[Run] = []
    sweeps = [folder for folder in folders if (folder / DOCUMENT).is_file()]
    for folder in folders:
        if folder in sweeps:
            groups = _sweep(folder, inputs)
            apart: dict[str, str | int | float] = {"sweep": folder.name} if len(folders) > 1 else {}
            inputs.groups += [replace(group, labels=apart | group.labels) for group in groups]
        else:
            single.append(Run(folder, Result.read(folder).manifest))
    if len(sweeps) == len(folders) > 1:
        inputs.groups = _without_sweep([_completed(group, inputs.fields) for group in inputs.groups])
    inputs.groups += _grouped(single, alone=not sweeps)
    _check_distinct(inputs.runs)
    if inputs.of is None and all(run.manifest["rows"].get("jobs") for run in inputs.runs):
        inputs.of = "mean jct"
    return inputs


def _completed(group: Group, fields: dict[str, str]) -> Group:
    """Adds the values of fields that another sweep varies and this group's sweep does not."""
    spec = _flat(group.manifest["spec"])
    values = {name: spec.get(path, spec.get(f"{path}.name")) for name, path in fields.items()}
    constant = {name: value for name, value in values.items() if value is not None and name not in group.labels}
    return replace(group, labels=group.labels | constant)


def _without_sweep(groups: list[Group]) -> list[Group]:
    """Removes the field `sweep` if another field determines it: each of its values occurs in one sweep only."""
    common = set.intersection(*(set(group.labels) for group in groups)) - {"sweep"}
    for name in common:
        pairs = {(group.labels[name], group.labels["sweep"]) for group in groups}
        if len(pairs) == len({value for value, _ in pairs}):
            labels = [{field: value for field, value in group.labels.items() if field != "sweep"} for group in groups]
            return [replace(group, labels=kept) for kept, group in zip(labels, groups, strict=True)]
    return groups


def _sweep(folder: Path, inputs: ReportInputs) -> list[Group]:
    document = read_document(folder)
    inputs.of = inputs.of or document.get("of")
    if not document.get("settings"):  # only Python has settings of several fields
        inputs.reruns.append(_rerun(folder, document))
    axes = axes_of(document)
    labels = [axis.labels() for axis in axes]
    names = label_names(axes, {"seed", "run", "sweep"})
    inputs.fields |= dict(zip(names, (axis.field for axis in axes), strict=True))
    groups: dict[tuple[int, ...], tuple[dict[str, str | int | float], list[Run]]] = {}
    for run in document["runs"]:
        results = results_of(folder, run["run"])
        if not (results / "manifest.json").is_file():
            name = " ".join([*run["set"], f"seed={run['seed']}"])
            inputs.absent.append(f"{name}: has no results in {folder}")
            continue
        point = {name: values[n] for name, values, n in zip(names, labels, run["point"], strict=True)}
        groups.setdefault(tuple(run["point"]), (point, []))[1].append(Run(results, Result.read(results).manifest))
    if not groups:
        raise UsageError(f"{folder}: no run of this sweep has results; allowed: a sweep in which one has")
    looks = {tuple(cell["point"]): cell["looks"] for cell in document.get("looks", [])}
    return [
        Group(labels_of, tuple(sorted(runs, key=lambda run: run.seed)), looks.get(point, 0))
        for point, (labels_of, runs) in groups.items()
    ]


def _rerun(folder: Path, document: dict[str, Any]) -> Rerun:
    own = folder / SPEC
    if Path(document["spec"]).name != SPEC or not own.is_file():
        return Rerun(_sweep_command(document, document["spec"]))
    # A dictionary in Python; the folder may be a temporary one.
    file = f"{file_name(document['name']) or 'sweep'}.json"
    return Rerun(_sweep_command(document, file), file, own.read_text(encoding="utf-8"))


def _sweep_command(document: dict[str, Any], file: str) -> str:
    words = ["weft", "sweep", file]
    words += [word for change in document["set"] for word in ("--set", change)]
    words += [word for name, values in document["over"].items() for word in ("--over", f"{name}={','.join(values)}")]
    if (precision := document.get("precision")) is None:
        return shlex.join([*words, "--seeds", str(document["seeds"])])
    share, most = f"{100 * precision['share']:g}%", str(precision["max_seeds"])
    return shlex.join([*words, "--precision", share, "--of", precision["of"], "--max-seeds", most])


def _grouped(runs: Sequence[Run], *, alone: bool) -> list[Group]:
    """Runs by what they ran, apart from the seed; named by the fields in which they differ, or else by folder."""
    by_spec: dict[str, list[Run]] = {}
    for run in runs:
        by_spec.setdefault(json.dumps(run.manifest["spec"] | {"seed": 0}, sort_keys=True), []).append(run)
    members = [tuple(sorted(group, key=lambda run: run.seed)) for group in by_spec.values()]
    if not members or (len(members) == 1 and alone):
        return [Group({}, group) for group in members]
    return [Group(labels, group) for labels, group in zip(_labels(members), members, strict=True)]


def _labels(members: Sequence[tuple[Run, ...]]) -> list[dict[str, str | int | float]]:
    flat = [_flat(group[0].manifest["spec"]) for group in members]
    differing = [
        name
        for name in flat[0]
        if name not in {"seed", "name"}
        and all(name in spec for spec in flat)
        and len({str(spec[name]) for spec in flat}) > 1
    ]
    points = [tuple(spec[name] for name in differing) for spec in flat]
    if 0 < len(differing) <= MAX_FIELDS and len({str(point) for point in points}) == len(members):
        names = label_names([Axis(name.removesuffix(".name"), ()) for name in differing], {"seed", "run", "sweep"})
        return [dict(zip(names, point, strict=True)) for point in points]
    for kind in ([str(group[0].manifest["name"]) for group in members], [group[0].folder.name for group in members]):
        if len(set(kind)) == len(members) and all(kind):
            return [{"run": name} for name in kind]
    return [{"run": str(group[0].folder)} for group in members]


def _flat(spec: dict[str, Any]) -> dict[str, str | int | float]:
    """Returns the values of a spec by their paths, numbers and text as they are."""
    return {
        path: value if isinstance(value, str | int | float) else json.dumps(value) for path, value in values_of(spec)
    }


def _check_distinct(runs: Sequence[Run]) -> None:
    """A run that counted twice would make intervals narrower than they are."""
    deterministic = {level["name"] for level in api.registry()["levels"] if level["deterministic"]}
    seen: dict[str, Run] = {}
    for run in runs:
        key = str(run.folder.resolve())
        if run.manifest["level"] in deterministic:
            key = json.dumps([run.manifest[name] for name in ("spec", "seed", "version", "end_s")], sort_keys=True)
        if key in seen:
            raise UsageError(f"{run.folder}: is the same run as {seen[key].folder}; allowed: each run once")
        seen[key] = run
