"""`weft ls`, `weft show`, `weft diff`, `weft check` and `weft new`: what folders hold, and specs to begin with."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.api import Result
from weft.errors import NotAFolderError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import polars as pl

MAX_DEPTH = 3
"""Number of levels of folders in which runs are looked for."""
MARKERS = {"sweep.json": "sweep", "tune.json": "tuning", "manifest.json": "run"}
"""Files by which a folder is recognised."""
ABSENT = "-"


@dataclass(frozen=True)
class Found:
    """A folder that Weft wrote."""

    folder: Path
    kind: str
    name: str
    runs: int
    version: str
    changed: datetime


def find(folder: Path) -> list[Found]:
    """Returns the runs, sweeps and tunings in a folder and its subfolders, the newest first.

    The runs of a sweep or tuning are a part of it.

    Raises:
        NotAFolderError: The folder does not exist.
    """
    if not folder.is_dir():
        raise NotAFolderError(f"{folder}: not a folder; pass one that exists")
    return sorted(_below(folder, MAX_DEPTH), key=lambda found: found.changed, reverse=True)


def _below(folder: Path, depth: int) -> Iterator[Found]:
    marker = next((name for name in MARKERS if (folder / name).is_file()), None)
    if marker is not None:
        found = _found(folder, marker)
        if found is not None:
            yield found
            return
    if depth == 0:
        return
    try:
        inner = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    except OSError:
        return
    for path in inner:
        yield from _below(path, depth - 1)


def _found(folder: Path, marker: str) -> Found | None:
    file = folder / marker
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        changed = datetime.fromtimestamp(file.stat().st_mtime).astimezone()
        match MARKERS[marker]:
            case "run":
                return Found(folder, "run", str(document["name"]), 1, str(document["version"]), changed)
            case "sweep":
                count = len(document["runs"])
                return Found(folder, "sweep", str(document["name"]), count, str(document["version"]), changed)
            case _:
                config = document["config"]
                trials = document.get("outcome", {}).get("trials", 0)
                name = Path(str(config["spec"])).stem
                return Found(folder, "tuning", name, trials * config["seeds"], str(config["version"]), changed)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def facts(folder: Path) -> dict[str, str]:
    """Returns what a run, sweep or tuning is: its name, spec, seeds, version and size.

    Raises:
        NotAFolderError: It is none of these.
    """
    marker = next((name for name in MARKERS if (folder / name).is_file()), None)
    if marker is None:
        raise NotAFolderError(f"{folder}: not a run, sweep or tuning; pass a folder that Weft wrote")
    if MARKERS[marker] == "run":
        result = Result.read(folder)
        manifest = result.manifest
        transports = manifest["spec"]["transports"].items()
        return {
            "run": manifest["name"],
            "level": manifest["level"],
            "seed": str(manifest["seed"]),
            "simulated": f"{manifest['end_s']:g} s" + (" (partial)" if manifest["partial"] else ""),
            "topology": str(manifest["spec"]["topology"]["kind"]),
            "transports": ", ".join(f"{name}: {_transport(spec)}" for name, spec in transports),
            "rows": ", ".join(f"{name} {count:,}" for name, count in manifest["rows"].items() if count),
            "version": manifest["version"],
            "warnings": str(len(manifest["warnings"])),
        }
    if MARKERS[marker] == "sweep":
        from weft.sweeps.results import read_document

        document = read_document(folder)
        return {
            "sweep": document["name"],
            "spec": document["spec"],
            **{name: ", ".join(values) for name, values in document["over"].items()},
            "seeds": str(document["seeds"]),
            "runs": f"{len(document['runs']):,}",
            "version": document["version"],
        }
    document = json.loads((folder / marker).read_text(encoding="utf-8"))
    config, best = document["config"], document.get("outcome", {}).get("best", {})
    return {
        "tuning": config["spec"],
        **{name: json.dumps(values) for name, values in config["over"].items()},
        "objective": json.dumps(config["objective"]),
        "seeds": str(config["seeds"]),
        "best": ", ".join(f"{name} = {value}" for name, value in best.get("values", {}).items()) or "not ended",
        "version": config["version"],
    }


def _transport(spec: Mapping[str, Any]) -> str:
    cc = spec.get("cc")
    return str(cc["name"] if isinstance(cc, dict) else cc or spec.get("kind", "tcp"))


@dataclass(frozen=True)
class Difference:
    """The differences of two runs."""

    fields: list[tuple[str, str, str]]
    """Fields of the specs, the seed and the version that differ: path, first and second value."""
    tables: list[tuple[str, str]]
    """Each table of either run, and how they differ in it."""
    measures: list[tuple[str, float | None, float | None]]
    """Measures of both runs."""


def difference(first: Path, second: Path) -> Difference:
    """Compares two runs: specs, versions, tables and measures.

    Raises:
        NotAFolderError: One is not the folder of a run.
    """
    one, other = Result.read(first), Result.read(second)
    manifests = one.manifest, other.manifest
    flat = [dict(values_of(manifest["spec"] | {"version": manifest["version"]})) for manifest in manifests]
    names = dict.fromkeys([*flat[0], *flat[1]])
    fields = [
        (name, values[0], values[1])
        for name in names
        if (values := tuple(str(spec.get(name, ABSENT)) for spec in flat))[0] != values[1]
    ]
    rows = [manifest["rows"] for manifest in manifests]
    tables = [(name, _compared(one, other, name)) for name in dict.fromkeys([*rows[0], *rows[1]])]
    return Difference(fields, tables, list(_measures(one, other)))


def _compared(one: Result, other: Result, name: str) -> str:
    counts = [result.manifest["rows"].get(name) for result in (one, other)]
    if None in counts:
        return "only in the first" if counts[1] is None else "only in the second"
    if counts[0] != counts[1]:
        return f"{counts[0]:,} and {counts[1]:,} rows"
    a, b = one.table(name), other.table(name)
    if a.columns != b.columns:
        return f"columns differ: {', '.join(sorted(set(a.columns) ^ set(b.columns)))}"
    if a.equals(b):
        return "equal"
    differing = [column for column in a.columns if not a[column].equals(b[column], null_equal=True)]
    return f"differ in {', '.join(differing[:6])}" + (f" and {len(differing) - 6} more" if len(differing) > 6 else "")


def _measures(one: Result, other: Result) -> Iterator[tuple[str, float | None, float | None]]:
    from weft.measures import parse

    for text in ("mean fct", "p99 fct", "p99 slowdown", "mean goodput", "min goodput", "sum timeouts"):
        measure = parse(text)
        values = []
        for result in (one, other):
            table: pl.DataFrame = result.table(measure.quantity.table)
            known = measure.quantity.column in table.columns
            values.append(measure.values(table, []).item(0, "value") if known and not table.is_empty() else None)
        if any(value is not None for value in values):
            yield measure.title, values[0], values[1]


def values_of(part: Any, at: str = "") -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - any JSON
    """Yields the values of a spec with their paths."""
    items = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else None
    if items is None:
        yield at, part
        return
    for name, value in items:
        yield from values_of(value, f"{at}[{name}]" if isinstance(part, list) else f"{at}.{name}".lstrip("."))


SPECS = {file.stem: file for file in sorted((Path(__file__).parent / "templates" / "specs").glob("*.toml"))}
"""Commented specs by kind, without their names."""


def new_spec(kind: str, name: str) -> str:
    """Returns a commented spec.

    Args:
        kind: A key of `SPECS`.
        name: The name of the experiment.

    Raises:
        UsageError: There is no such kind.
    """
    if kind not in SPECS:
        raise UsageError(f"kind {kind!r:.50} does not exist; allowed: {', '.join(SPECS)}")
    head = f"# An experiment of kind {kind}. `weft check` checks it, `weft run` and `weft sweep` run it.\n"
    return f"{head}name = {json.dumps(name)}\n{SPECS[kind].read_text(encoding='utf-8')}"
