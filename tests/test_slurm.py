"""`weft sweep --cluster slurm`: the scripts of its jobs, and a sweep through programs that stand in for Slurm's.

There is no Slurm here. `sbatch` and `scancel` are shell scripts that start a job's script on this machine, and end it.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from tests.command import weft
from tests.test_grid import content
from weft.errors import MissingError
from weft.grid import cluster
from weft.grid.where import Where

SWEEP = ["sweep", "incast.toml", "--over", "traffic[0].flows=2,3", "--seeds", "2", "--json"]


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that keeps the scripts of the jobs, by their number; all are ended afterwards."""
    kept = tmp_path / "jobs"
    programs = tmp_path / "bin"
    for folder in (kept, programs):
        folder.mkdir()
    write_program(
        programs / "sbatch",
        f'[ "$1" = --test-only ] && exit 0\ncd {kept}\ncp "$1" $$.sh\nsetsid sh $$.sh >$$.log 2>&1 </dev/null &\n'
        'echo $! >$$.pid\necho "Submitted batch job $$"\n',
    )
    write_program(programs / "scancel", f"cd {kept}\nkill -- -$(cat $1.pid)\n")
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    yield kept
    for pid in kept.glob("*.pid"):
        for process in psutil.process_iter():
            if process.pid == int(pid.read_text()):
                process.kill()


def write_program(file: Path, text: str) -> None:
    file.write_text(f"#!/bin/sh\n{text}")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)


def test_sweep_by_jobs_is_as_one_here(spec: Path, slurm: Path) -> None:
    here = weft(*SWEEP, "--out", "here", cwd=spec.parent)
    assert here.code == 0, here
    options = "slurm:queue=long,account=me,walltime=00:10:00,memory=512MB,interface=lo"
    done = weft(*SWEEP, "--cluster", options, "--workers", "2", "--out", "there", cwd=spec.parent)
    assert done.code == 0, done
    assert content(spec.parent / "there" / "tables") == content(spec.parent / "here" / "tables")
    scripts = [path.read_text() for path in slurm.glob("*.sh")]
    assert len(scripts) == 2
    for script in scripts:
        lines = script.splitlines()
        for line in ("-p long", "-A me", "-t 00:10:00", "--mem=489M", "--cpus-per-task=1", "-n 1"):
            assert f"#SBATCH {line}" in lines, script
        assert re.search(r"distributed.cli.dask_worker tcp://127.0.0.1:\d+ .*--nthreads 1 ", script)
    leaders = {int(path.read_text()) for path in slurm.glob("*.pid")}
    running = {process.pid for process in psutil.process_iter() if process.status() != psutil.STATUS_ZOMBIE}
    assert not leaders & running, "jobs outlive the sweep"


def test_jobs_of_several_cores(tmp_path: Path, slurm: Path) -> None:
    where = Where.parse("slurm:cores=4,memory=8GB,interface=lo", 6)
    with cluster._on_slurm(where, tmp_path) as it:  # noqa: SLF001
        assert len(it.worker_spec) == 2, "6 runs at a time need 2 jobs of 4 cores"
        script = it.job_script()
    assert "#SBATCH --cpus-per-task=4" in script
    assert "#SBATCH --mem=8G" in script
    assert "--nthreads 1 " in script
    assert "--nworkers 4 " in script
    assert len(list(slurm.glob("*.sh"))) == 2


def test_job_that_is_refused_ends_the_sweep(spec: Path, slurm: Path) -> None:
    write_program(spec.parent / "bin" / "sbatch", 'echo "sbatch: error: invalid account" >&2\nexit 1\n')
    done = weft(*SWEEP, "--cluster", "slurm:account=nobody,interface=lo", "--workers", "2", cwd=spec.parent)
    assert done.complaint(3).endswith("Slurm takes no such job: sbatch: error: invalid account")
    assert list(slurm.iterdir()) == []


def test_without_dask_jobqueue(tmp_path: Path, slurm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dask_jobqueue.slurm", None)
    with (
        pytest.raises(MissingError, match=r"pip install 'weft\[slurm\]'"),
        cluster._on_slurm(Where.parse("slurm", 1), tmp_path),  # noqa: SLF001
    ):
        pass
    assert list(slurm.iterdir()) == []
