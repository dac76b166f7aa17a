"""`weft sweep --cluster slurm`: the scripts of its jobs, and a sweep through programs that stand in for Slurm's.

There is no Slurm here. `sbatch` and `scancel` are shell scripts that start a job's script on this machine, and end it.
"""

from __future__ import annotations

import gc
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest
from distributed import Client

from tests.command import WEFT, weft
from tests.test_sweeps import content
from weft.errors import RequirementError, UsageError
from weft.sweeps import cluster
from weft.sweeps.executor import Executor

ROOT = Path(__file__).parent.parent
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
    gc.collect()  # so that clusters remove their files before pytest does


def write_program(file: Path, text: str) -> None:
    file.write_text(f"#!/bin/sh\n{text}")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)


def _running() -> set[int]:
    """Returns the processes that have not ended."""
    return {p.pid for p in psutil.process_iter(["status"]) if p.info["status"] != psutil.STATUS_ZOMBIE}


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
        assert re.search(r"distributed.cli.dask_worker tls://127.0.0.1:\d+ .*--nthreads 1 .*--protocol tls://", script)
        assert re.search(rf"--tls-key {spec.parent}/there/slurm/\S+ ?", script)
    # Its key goes with the sweep.
    assert [path for path in (spec.parent / "there" / "slurm").iterdir() if path.suffix not in {".err", ".out"}] == []
    leaders = {int(path.read_text()) for path in slurm.glob("*.pid")}
    deadline = time.monotonic() + 30
    while (running := leaders & _running()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not running, "jobs outlive the sweep"


def test_jobs_of_several_cores(tmp_path: Path, slurm: Path) -> None:
    executor = Executor.parse("slurm:cores=4,memory=8GB,interface=lo", 6)
    with cluster._on_slurm(executor, tmp_path) as jobs:  # noqa: SLF001
        assert len(jobs.worker_spec) == 2, "6 runs at a time need 2 jobs of 4 cores"
        script = jobs.job_script()
    assert "#SBATCH --cpus-per-task=4" in script
    assert "#SBATCH --mem=8G" in script
    assert "--nthreads 1 " in script
    assert "--nworkers 4 " in script
    assert len(list(slurm.glob("*.sh"))) == 2


def test_connections_are_encrypted(tmp_path: Path, slurm: Path) -> None:
    with cluster._on_slurm(Executor.parse("slurm:interface=lo", 1), tmp_path) as running:  # noqa: SLF001
        assert running.scheduler_address.startswith("tls://")
        files = list((tmp_path / "slurm").iterdir())
        assert len(files) == 3, "the authority's certificate, the worker's, and its key"
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
        address = running.scheduler_address.replace("tls://", "tcp://")
        with pytest.raises(OSError, match=r"connect|reset"):
            Client(address, timeout=2, set_as_default=False)
    assert len(list(slurm.glob("*.sh"))) == 1


def test_folder_with_blanks_is_refused(tmp_path: Path, slurm: Path) -> None:
    with (
        pytest.raises(UsageError, match=r"my sweep.*cannot contain spaces or quotes"),
        cluster._on_slurm(Executor.parse("slurm", 1), tmp_path / "my sweep"),  # noqa: SLF001
    ):
        pass
    assert list(slurm.iterdir()) == []


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl on PATH")
def test_certificates_as_the_page_makes_them(spec: Path) -> None:
    """A scheduler and a worker with TLS, and a sweep with and without the configuration of docs/how-to/clusters.md."""
    home = spec.parent / "home"
    home.mkdir()
    here = os.environ | {"HOME": str(home)}
    page = (ROOT / "docs" / "how-to" / "clusters.md").read_text().replace("/home/me", str(home))
    make = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    assert len(make) == 1
    subprocess.run(["/bin/sh", "-euc", make[0]], env=here, check=True, capture_output=True)
    settings = re.findall(r"```\n(distributed:\n.*?)```", page, re.DOTALL)
    assert len(settings) == 1
    (home / ".config" / "dask" / "distributed.yaml").write_text(settings[0])
    told = spec.parent / "scheduler.json"
    dask = str(Path(sys.executable).parent / "dask")
    line = [dask, "scheduler", "--protocol", "tls", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    with ExitStack() as started:
        quiet = {"env": here, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        scheduler = subprocess.Popen([*line, "--scheduler-file", str(told)], **quiet)  # type: ignore[call-overload]
        started.callback(end, scheduler)
        while not told.exists():
            assert scheduler.poll() is None
            time.sleep(0.1)
        address = json.loads(told.read_text())["address"]
        assert address.startswith("tls://127.0.0.1:")
        worker = [dask, "worker", address, "--protocol", "tls", "--nthreads", "1"]
        worker += ["--local-directory", str(spec.parent / "worker")]
        started.callback(end, subprocess.Popen(worker, **quiet))  # type: ignore[call-overload]
        sweep = [WEFT, *SWEEP, "--cluster", address, "--out"]
        done = subprocess.run([*sweep, "swept"], cwd=spec.parent, env=here, capture_output=True, check=False)
        assert done.returncode == 0, done
        assert json.loads(done.stdout)["runs"] == 4
        stranger = os.environ | {"HOME": str(spec.parent)}
        done = subprocess.run([*sweep, "no"], cwd=spec.parent, env=stranger, capture_output=True, check=False)
        assert done.returncode == 3, done
        assert b"no certificates" in done.stderr
        assert len(done.stderr.splitlines()) == 1


def end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait(timeout=60)


def test_job_that_is_refused_ends_the_sweep(spec: Path, slurm: Path) -> None:
    write_program(spec.parent / "bin" / "sbatch", 'echo "sbatch: error: invalid account" >&2\nexit 1\n')
    done = weft(*SWEEP, "--cluster", "slurm:account=nobody,interface=lo", "--workers", "2", cwd=spec.parent)
    assert done.complaint(3).endswith("Slurm takes no such job: sbatch: error: invalid account")
    assert list(slurm.iterdir()) == []


def test_without_dask_jobqueue(tmp_path: Path, slurm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dask_jobqueue.slurm", None)
    with (
        pytest.raises(RequirementError, match="pip install cryptography dask-jobqueue"),
        cluster._on_slurm(Executor.parse("slurm", 1), tmp_path),  # noqa: SLF001
    ):
        pass
    assert list(slurm.iterdir()) == []
