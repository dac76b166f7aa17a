"""The whole lines of messages, in their two forms: a wrong value, and a state with what to do about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.command import INCAST
from weft import UsageError, WeftError, run
from weft.api import Result
from weft.output import choose_file, choose_folder
from weft.search.space import parse
from weft.sweeps.axes import Axis
from weft.sweeps.executor import Executor
from weft.sweeps.store import opened

SPEC: dict[str, Any] = {"transports": {}}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("sweep.seeds=1,2", "--over sweep.seeds: cannot vary a field of [sweep]; use a field of the experiment"),
        ("seed=1,2", "--over seed: use --seeds N, which runs N consecutive seeds from the spec's seed"),
        (
            "a=9:1",
            "--over 'a=9:1': empty range; allowed: FIRST:LAST:STEP with LAST of at least FIRST and STEP above 0",
        ),
        ("a=1,2,1", "--over a: has '1' twice; remove one of the two"),
    ],
)
def test_axis_of_a_sweep_is_described(text: str, line: str) -> None:
    with pytest.raises(UsageError) as raised:
        Axis.parse(text)
    assert str(raised.value) == line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a=0:8:log", "--over 'a=0:8:log': a log range must start above 0"),
        ("a=9:1", "--over 'a=9:1': empty range; allowed: LOW below HIGH, and a STEP of at most HIGH - LOW"),
        ("a=1us:9ms", "--over 'a=1us:9ms': has two units; use one unit for all numbers"),
        ("seed=1:9", "--over seed: cannot be tuned, because it does not change results; choose another field"),
    ],
)
def test_range_of_a_tuning_is_described(text: str, line: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse([text], SPEC)
    assert str(raised.value) == line


@pytest.mark.parametrize(
    ("cluster", "workers", "line"),
    [
        ("slurm", None, "--cluster slurm: --workers N is missing; add it, the number of concurrent runs"),
        (
            "tcp://h:1",
            2,
            "--workers: no effect on a running scheduler (--cluster tcp://...); remove one of the two",
        ),
        (
            "slurm:nodes=3",
            2,
            "--cluster slurm: 'nodes' is not an option; "
            "allowed: account, cores, interface, memory, queue, walltime, once each",
        ),
    ],
)
def test_machines(cluster: str, workers: int | None, line: str) -> None:
    with pytest.raises(UsageError) as raised:
        Executor.parse(cluster, workers)
    assert str(raised.value) == line


def test_folders(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "manifest.json").write_text("{")
    advice = "pass a folder that `weft run` wrote"

    def line(function: Any, *arguments: Any) -> str:
        with pytest.raises(WeftError) as raised:
            function(*arguments)
        return str(raised.value).replace(f"{tmp_path}/", "")

    def enter(folder: Path) -> None:
        with opened(folder):
            pass

    assert line(Result.read, tmp_path / "there") == f"there: not a run folder: no manifest.json; {advice}"
    broken = line(Result.read, tmp_path / "bad")
    assert broken.startswith("bad/manifest.json: not a valid Weft manifest: ")
    assert broken.endswith(f"; {advice}")
    assert line(choose_folder, tmp_path / "there", "x") == "--out there: exists already; use a new folder"
    assert line(choose_file, tmp_path / "file", "x", ".html") == "--out file: exists already; use a new file"
    assert line(choose_folder, tmp_path / "file" / "x", "x") == "file/x: cannot create: Not a directory; use --out DIR"
    (tmp_path / "there" / "other").touch()
    assert line(enter, tmp_path / "there") == (
        "--out there: not the folder of a sweep; use a new folder, or one that `weft sweep` wrote"
    )


@pytest.mark.parametrize("threads", [True, 0, 1.5, "two", 1025])
def test_threads(tmp_path: Path, threads: Any) -> None:
    (tmp_path / "incast.toml").write_text(INCAST)
    with pytest.raises(WeftError) as raised:
        run(tmp_path / "incast.toml", threads=threads)
    assert str(raised.value) == f"threads: {threads!r}; allowed: 1 to 1024, or None"
