"""`weft ls`, `show`, `diff`, `check` and `new`."""

from __future__ import annotations

from pathlib import Path

import pytest

import weft
from tests.command import weft as command
from weft.inspection import SPECS, difference, find


@pytest.fixture
def folder(spec: Path) -> Path:
    """Three runs, of which two are equal, and a sweep."""
    for name, seed, changes in (("a", 1, []), ("b", 1, []), ("c", 2, ["traffic[0].size=32KB"])):
        weft.run(weft.load(spec, changes), seed=seed, out=spec.parent / name)
    weft.sweep(spec, {"traffic[0].flows": [2, 4]}, seeds=2, workers=1, out=spec.parent / "s")
    return spec.parent


def test_ls(folder: Path) -> None:
    done = command("ls", "--json", cwd=folder)
    assert done.code == 0, done
    assert {(Path(row["folder"]).name, row["kind"], row["runs"]) for row in done.document} == {
        ("a", "run", 1),
        ("b", "run", 1),
        ("c", "run", 1),
        ("s", "sweep", 4),
    }
    assert all(row["version"] == weft.__version__ for row in done.document)
    (folder / "a" / "manifest.json").write_text("{}")
    assert len(find(folder)) == 3
    assert "not a folder" in command("ls", "absent", cwd=folder).complaint()


def test_show(folder: Path) -> None:
    run = command("show", "c", cwd=folder)
    assert "32" not in run.out.splitlines()[0]
    assert "dctcp: dctcp" in run.out
    assert "mean FCT (ms)" in run.out
    sweep = command("show", "s", "--of", "max fct", cwd=folder)
    assert "max FCT (us)" in sweep.out
    assert "not a run, sweep or tuning" in command("show", ".", cwd=folder).complaint()


def test_diff(folder: Path) -> None:
    equal = difference(folder / "a", folder / "b")
    assert equal.fields == []
    assert {words for _, words in equal.tables} == {"equal"}
    other = difference(folder / "a", folder / "c")
    assert ("seed", "1", "2") in other.fields
    assert any(name == "traffic[0].size" for name, *_ in other.fields)
    assert dict(other.tables)["flows"].startswith("differ in ")
    measures = {name: values for name, *values in other.measures}
    assert measures["mean FCT"][0] > measures["mean FCT"][1]  # type: ignore[operator]
    assert "Specs, seeds and versions are equal." in command("diff", "a", "b", cwd=folder).out
    assert "not a run folder" in command("diff", "a", "s", cwd=folder).complaint()


def test_check(spec: Path) -> None:
    done = command("check", spec.name, cwd=spec.parent)
    assert done.out == "incast.toml: correct; incast, level packet, 1 run\n"
    assert "unknown field" in command("check", spec.name, "--set", "queues.mrk=1", cwd=spec.parent).complaint()


def test_check_shows_the_spec_with_its_defaults(spec: Path) -> None:
    seeds = ("--set", "sweep.seeds=3")
    document = command("check", spec.name, "--json", *seeds, "--set", "seed=5", cwd=spec.parent).document
    assert document["runs"] == 3
    resolved = document["spec"]
    assert (resolved["sweep"]["seeds"], resolved["seed"]) == (3, 5)
    del resolved["sweep"]
    run = weft.run(weft.load(spec, ["seed=5"]))
    assert resolved == run.manifest["spec"]
    assert resolved["transports"]["dctcp"]["tcp"]["initial_cwnd"] > 0, "a default that the spec does not give"


@pytest.mark.parametrize("kind", SPECS)
def test_new_specs_are_correct_and_end(kind: str, tmp_path: Path) -> None:
    done = command("new", kind, cwd=tmp_path)
    assert done.code == 0, done
    assert "runs of [sweep]" in command("check", f"{kind}.toml", cwd=tmp_path).out
    flows = weft.run(tmp_path / f"{kind}.toml").flows
    assert flows["size_bytes"].count() == flows["fct_s"].count()
    assert command("new", kind, "--out", f"{kind}.toml", cwd=tmp_path).code == 2
