"""Processes of local sweeps: they use no network, are replaced when they are killed, and end with the command."""

from __future__ import annotations

import os
import random
import signal
import statistics
import subprocess
import time
from functools import partial
from pathlib import Path

import polars as pl
import psutil  # type: ignore[import-untyped]
import pytest

from tests.command import INCAST, WEFT, catches, wait_for, weft
from weft.errors import RequirementError
from weft.sweeps import local
from weft.sweeps.command import Outcome, run_sweep
from weft.sweeps.executor import Executor
from weft.sweeps.plan import plan

LONG = INCAST.replace("flows = 4", "flows = 4\nrounds = 100000\ninterval = '500us'").replace("50ms", "60s")
"""Runs that take until they are stopped."""


def begin(folder: Path, spec: str, *arguments: str) -> subprocess.Popen[str]:
    (folder / "spec.toml").write_text(spec)
    command = [WEFT, "sweep", "spec.toml", "--seeds", "8", "--workers", "2", "--out", "out", *arguments]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def tree(process: subprocess.Popen[str]) -> list[psutil.Process]:
    parent = psutil.Process(process.pid)
    return [parent, *parent.children(recursive=True)]


def wait_for_workers(process: subprocess.Popen[str], folder: Path) -> None:
    until = time.monotonic() + 60
    while len(list(folder.glob("out/runs/??/.weft-*"))) < 2:
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.05)


def test_no_socket_is_open(tmp_path: Path) -> None:
    process = begin(tmp_path, LONG)
    wait_for_workers(process, tmp_path)
    processes = tree(process)
    assert len(processes) == 3
    assert [connection for value in processes for connection in value.net_connections("all")] == []
    process.terminate()
    process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.usefixtures("ctrl_c")
def test_signal_ends_all_processes(tmp_path: Path, number: signal.Signals) -> None:
    process = begin(tmp_path, LONG)
    wait_for_workers(process, tmp_path)
    children = tree(process)[1:]
    process.send_signal(number)
    _, err = process.communicate(timeout=20)
    assert err == "weft: stopped; 0 of 8 runs are in out; the same command runs the others\n"
    assert process.returncode == 130
    assert not any(child.is_running() for child in children)
    assert list(tmp_path.rglob(".weft-*")) == []


@pytest.mark.usefixtures("ctrl_c")
def test_signal_at_any_moment_gives_one_line(tmp_path: Path) -> None:
    moments = random.Random(40)  # noqa: S311 - drawn at random, but not secret
    took = []
    for n in range(int(os.environ.get("WEFT_MOMENTS", "15"))):
        folder = tmp_path / str(n)
        folder.mkdir()
        process = begin(folder, LONG if n % 3 else INCAST)
        number = (signal.SIGINT, signal.SIGTERM)[n % 2]
        if number == signal.SIGINT:
            # Before, Ctrl-C gives Python's own traceback.
            wait_for(process, partial(catches, process, signal.SIGTERM))
        time.sleep(moments.uniform(0, 3))
        began = time.monotonic()
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
        took.append(time.monotonic() - began)
        if process.returncode == 0:
            assert (err, out[:6]) == ("", "8 runs"), (out, err)
        elif process.returncode == -number:
            assert err == "", "Python itself was beginning"
        else:
            assert process.returncode == 130, err
            assert err.startswith("weft: stopped"), err
            assert err.count("\n") == 1, err
    # A machine that is busy with other tests may take longer once.
    assert statistics.median(took) < 2


def test_workers_end_when_the_command_is_killed(tmp_path: Path) -> None:
    process = begin(tmp_path, LONG)
    wait_for_workers(process, tmp_path)
    children = tree(process)[1:]
    process.kill()
    process.communicate()
    _, alive = psutil.wait_procs(children, timeout=20)
    assert alive == []


def outcome_of(spec: Path) -> Outcome:
    planned = plan(spec, [], [], 2, force=False)
    executor = Executor(workers=2)
    return run_sweep(planned, spec.parent / "out", executor=executor, force=False, show=lambda _done, _note: None)


def test_run_whose_workers_are_all_killed_has_failed(
    spec: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(local, "PROGRAM", "import os; os.kill(os.getpid(), 9)")
        outcome = outcome_of(spec)
    assert [failure.line for failure in outcome.failures] == 2 * [
        "the worker was killed on every attempt, probably for lack of memory"
    ]
    assert outcome.exit_code == 3
    # Three workers of each run are replaced, and the fourth is not.
    lines = capsys.readouterr().err.splitlines()
    assert sorted(lines) == [
        line
        for seed in (1, 2)
        for line in 3
        * [
            "weft: warning: a worker was killed by signal 9, probably for lack of memory; "
            f"its run with seed {seed} is repeated"
        ]
    ]
    assert outcome_of(spec).exit_code == 0


def test_runs_of_an_earlier_spec_are_counted(spec: Path) -> None:
    assert outcome_of(spec).others_line() is None
    assert outcome_of(spec).others == 0
    spec.write_text(spec.read_text().replace("flows = 4", "flows = 3"))
    outcome = outcome_of(spec)
    assert outcome.others == 2
    assert outcome.document()["others"] == 2
    line = outcome.others_line()
    assert line is not None
    assert line.startswith(f"2 runs of earlier sweeps are in {spec.parent}/out/runs and not part of this one, because ")


def test_worker_that_cannot_start_ends_the_sweep(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "PROGRAM", "import nowhere")
    with pytest.raises(
        RequirementError, match="a worker cannot run weft: ModuleNotFoundError: No module named 'nowhere'"
    ):
        outcome_of(spec)


def test_modules_of_the_working_directory_are_not_imported(tmp_path: Path) -> None:
    for name in ("json", "weft", "queue"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(7)")
    process = begin(tmp_path, INCAST)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, ""), out


def test_unfinished_flows_are_counted(spec: Path) -> None:
    command = ["sweep", spec.name, "--seeds", "2", "--set", "duration=100us", "--out", "out"]
    done = weft(*command, "--json", cwd=spec.parent).document
    flows = pl.read_parquet(spec.parent / done["tables"]["flows"])
    cut_off = flows["unfinished_s"].drop_nulls().len()
    assert cut_off > 0
    assert done["unfinished"] == {"flows": cut_off, "jobs": 0}
    line = f"{cut_off} of {flows.height} flows had not ended, in 2 of 2 runs: their fct_s is null"
    assert line in weft(*command, cwd=spec.parent).out.splitlines()
