"""Each of some hundreds of bad inputs ends with one clear line, the documented code, and nothing half-written."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from tests.bad_input import commands, fields, folders, scenarios, texts
from tests.bad_input.row import (
    MAX_KB,
    MAX_S,
    Done,
    Row,
    Usage,
    check,
    content,
    max_wall_s,
    prepare,
    run_process,
    start_s,
)
from tests.command import INCAST, weft
from weft import cli
from weft.exit_codes import run_command

GROUPS = {
    "texts": texts.TEXTS,
    "distributions": texts.DISTRIBUTIONS,
    "lists": texts.LISTS,
    "networks": texts.NETWORKS,
    "fields": fields.FIELDS,
    "contradictions": fields.CONTRADICTIONS,
    "unmodelled": fields.UNMODELLED,
    "arguments": commands.ARGUMENTS,
    "files": commands.FILES,
    "outputs": commands.OUTPUTS,
    "sizes": commands.SIZES,
    "environment": commands.ENVIRONMENT,
    "processes": commands.PROCESSES,
    "folders": folders.FOLDERS,
    "scenarios": scenarios.SCENARIOS,
}
ROWS = [row for rows in GROUPS.values() for row in rows]
PROCESSES = [row for row in ROWS if row.process]


def named(rows: list[Row]) -> list[ParameterSet]:
    groups = {id(row): name for name, rows in GROUPS.items() for row in rows}
    return [pytest.param(row, id=f"{groups[id(row)]}-{index}-{row}") for index, row in enumerate(rows)]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders of a run, a sweep and a tuning."""
    folder = tmp_path_factory.mktemp("results")
    (folder / "incast.toml").write_text(INCAST)
    for command in (
        ("run", "incast.toml", "--out", "run"),
        (*folders.SWEEP, "--out", "sweep"),
        (*folders.TUNE, "--out", "tune"),
    ):
        done = weft(*command, cwd=folder)
        assert done.code == 0, done
    return folder


@pytest.mark.parametrize("row", named([row for row in ROWS if not row.process]))
def test_in_this_process(
    row: Row, tmp_path: Path, results: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prepare(row, tmp_path, results)
    monkeypatch.chdir(tmp_path)
    before = content(tmp_path)
    usage = Usage()
    code = run_command(lambda: cli.app(list(row.arguments), standalone_mode=False))
    usage.check()
    shown = capsys.readouterr()
    check(row, code, shown.out, shown.err)
    assert content(tmp_path) == before


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory, results: Path) -> dict[int, tuple[Path, Future[Done]]]:
    """All processes, two at a time."""
    pool = ThreadPoolExecutor(2)
    started = {}
    for row in PROCESSES:
        folder = tmp_path_factory.mktemp("process")
        (folder / "sub").mkdir()
        prepare(row, folder, results)
        started[id(row)] = (folder, pool.submit(run_process, row, folder))
    pool.shutdown(wait=False)
    return started


@pytest.mark.parametrize("row", named(PROCESSES))
def test_as_a_process(row: Row, processes: dict[int, tuple[Path, Future[Done]]]) -> None:
    folder, done = processes[id(row)]
    ended = done.result()
    check(row, ended.code, ended.out, ended.err)
    assert ended.processor_s < max(MAX_S, 8 * start_s())
    assert ended.wall_s < max_wall_s()
    assert ended.peak_kb < MAX_KB
    assert {Path(value).name for value in content(folder)} - {"sub"} == {"incast.toml", *row.files}


def test_number() -> None:
    """The rows, which must differ, and how many of them are processes."""
    assert len(ROWS) >= 500
    assert len(PROCESSES) >= 60
    keys = Counter(
        (row.process, row.arguments, str(row.files), row.before, str(row.environment), row.needs)
        for row in ROWS
        if not row.damage
    )
    assert [key for key, count in keys.items() if count > 1] == []
