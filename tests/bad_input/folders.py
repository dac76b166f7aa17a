"""Folders of results that are damaged, or are none, given to commands that read or continue them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.bad_input.row import Row

FCT = ("--minimize", "avg(fct_s) FROM flows")
SWEEP = ("sweep", "incast.toml", "--over", "traffic[0].flows=2,3")
TUNE = ("tune", "incast.toml", "--over", "topology.delay=1us:9us", *FCT, "--trials", "2", "--seeds", "1")


def without(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def written(name: str, text: str | bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)


def cut(name: str) -> Callable[[Path], object]:
    def damage(folder: Path) -> None:
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(whole[: len(whole) // 2])

    return damage


def manifest(name: str, **changes: object) -> Callable[[Path], object]:
    def damage(folder: Path) -> None:
        document = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps({**document, **changes}))

    return damage


def folder(name: str) -> Callable[[Path], object]:
    def damage(at: Path) -> None:
        (at / name).unlink(missing_ok=True)
        (at / name).mkdir()

    return damage


def report(*words: str, needs: str = "run", damage: Callable[[Path], object] | None = None) -> Row:
    return Row(("report", needs, "-o", "out.html"), (needs, *words), needs=needs, damage=damage)


def trace(*words: str, damage: Callable[[Path], object]) -> Row:
    return Row(("trace", "run", "--out", "out.pcapng"), words, needs="run", damage=damage)


FOLDERS = [
    Row(("report", "none"), ("none: not a run folder: no manifest.json; pass a folder that `weft run` wrote",)),
    Row(("report", "."), (".: not a run folder",)),
    Row(("report", "incast.toml"), ("incast.toml: not a run folder",)),
    Row(("report", ""), ("not a run folder",)),
    Row(("report", "run", "-o", "run"), ("exists already",), needs="run"),
    Row(("report", "run", "-o", "none/x.html"), ("cannot create",), needs="run"),
    Row(("report", "run", "-o", ""), ("--out",), needs="run"),
    Row(("report", "run", "-o", "x" * 300), ("cannot create: File name too long",), needs="run"),
    Row(("report", "run", "run"), ("is the same run",), needs="run"),
    Row(("report", "run", "none"), ("none: not a run folder",), needs="run"),
    Row(("report", "sweep", "sweep"), ("is the same run",), needs="sweep"),
    Row(("report", "tune"), ("tune: not a run folder",), needs="tune"),
    report("not a run folder", damage=without("run/manifest.json")),
    report(damage=written("run/manifest.json", "")),
    report(damage=written("run/manifest.json", "{")),
    report(damage=written("run/manifest.json", "[]")),
    report(damage=written("run/manifest.json", "{}")),
    report(damage=written("run/manifest.json", '{"rows": 3}')),
    report(damage=written("run/manifest.json", b"\xff\xfe")),
    report(damage=written("run/manifest.json", "[" * 100_000)),
    report(damage=cut("run/manifest.json")),
    report(damage=folder("run/manifest.json")),
    report(damage=manifest("run/manifest.json", spec=3)),
    report("no flows.parquet", damage=without("run/flows.parquet")),
    report("no links.parquet", damage=without("run/links.parquet")),
    report("flows.parquet", damage=written("run/flows.parquet", "")),
    report("flows.parquet", damage=written("run/flows.parquet", b"PAR1" + bytes(1000) + b"PAR1")),
    report("flows.parquet", damage=cut("run/flows.parquet")),
    report("flows.parquet", damage=folder("run/flows.parquet")),
    report("sweep.json", needs="sweep", damage=written("sweep/sweep.json", "")),
    report("sweep.json", needs="sweep", damage=written("sweep/sweep.json", "{}")),
    report("sweep.json", needs="sweep", damage=written("sweep/sweep.json", "3")),
    report("sweep.json", needs="sweep", damage=cut("sweep/sweep.json")),
    report("sweep.json", needs="sweep", damage=manifest("sweep/sweep.json", runs=[3])),
    report("sweep.json", needs="sweep", damage=manifest("sweep/sweep.json", over={"a": 3})),
    report("no run of this sweep has results", needs="sweep", damage=manifest("sweep/sweep.json", runs=[])),
    trace("no recorded packets", damage=lambda _: None),
    trace("not a run folder", damage=without("run/manifest.json")),
    trace(damage=written("run/manifest.json", "{}")),
    trace("no packets.parquet", damage=without("run/packets.parquet")),
    Row((*SWEEP, "--out", "run"), ("not the folder of a sweep",), needs="run"),
    Row((*SWEEP, "--out", "tune"), ("not the folder of a sweep",), needs="tune"),
    Row((*TUNE, "--out", "run"), ("not the folder of a tune",), needs="run"),
    Row((*TUNE, "--out", "sweep"), ("not the folder of a tune",), needs="sweep"),
    Row(
        (*TUNE, "--out", "tune", "--seeds", "2"),
        ("holds a tuning with a different seeds; rerun that command (only --trials may change) or use a new folder",),
        needs="tune",
    ),
    Row((*TUNE, "--out", "tune", "--batch-size", "2"), ("a different batch",), needs="tune"),
    Row((*TUNE, "--out", "tune", "--set", "duration=1ms"), ("a different set",), needs="tune"),
    Row((*TUNE, "--out", "tune", "--over", "duration=1ms:9ms"), ("a different over",), needs="tune"),
    Row(
        (*TUNE, "--out", "tune"),
        ("not a valid tune.json",),
        needs="tune",
        damage=written("tune/tune.json", "{}"),
    ),
    Row((*TUNE, "--out", "tune"), ("not a valid tune.json",), needs="tune", damage=cut("tune/tune.json")),
    Row(
        (*TUNE, "--out", "tune"),
        ("trials.log", "not a journal"),
        needs="tune",
        damage=written("tune/trials.log", "nonsense\n" * 3),
    ),
]
