"""`weft sweep`: a grid of runs in local processes and on Dask, some of which are killed."""

from __future__ import annotations

import contextlib
import json
import random
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import polars as pl
import psutil  # type: ignore[import-untyped]
import pytest
from distributed import LocalCluster
from hypothesis import given
from hypothesis import strategies as st

from tests.command import INCAST, WEFT, Ended, wait_for, weft
from weft import api, cli
from weft.errors import OutputError, RequirementError, SpecError, UsageError
from weft.exit_codes import run_command
from weft.sweeps import cluster, local, store, worker
from weft.sweeps.axes import Axis, label_names
from weft.sweeps.command import Outcome, run_sweep
from weft.sweeps.executor import Executor
from weft.sweeps.plan import SweepPlan, plan

OVER = ["transports.dctcp.cc=dctcp,reno", "transports.dctcp.subflows=1,2"]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a.b=amp,xmp,dcm", ["amp", "xmp", "dcm"]),
        ("traffic[0].flows=10:40:10", ["10", "20", "30", "40"]),
        ("a=1:3", ["1", "2", "3"]),
        ("a=0.1:0.3:0.1", ["0.1", "0.2", "0.3"]),
        ("a=1:3,10", ["1", "2", "3", "10"]),
        ('a={ name = "amp", beta = 4 }, "x,y"', ['{ name = "amp", beta = 4 }', '"x,y"']),
        ("a=10 packets,64KB", ["10 packets", "64KB"]),
        ("a=1µs:3µs:1µs", ["1µs", "2µs", "3µs"]),
        ("a=1 Gbit/s:2 Gbit/s", ["1 Gbit/s", "2 Gbit/s"]),
        ("a=5 packets:25 packets:10 packets", ["5 packets", "15 packets", "25 packets"]),
        ("a=1us:2us:0.5us", ["1.0us", "1.5us", "2.0us"]),
        ("a=9Gbps:10Gbps", ["9Gbps", "10Gbps"]),
    ],
)
def test_axis(text: str, values: list[str]) -> None:
    assert list(Axis.parse(text).values) == values


@given(st.integers(-1000, 1000), st.integers(0, 300), st.integers(1, 50))
def test_range_is_pythons_with_its_end(first: int, more: int, step: int) -> None:
    values = Axis.parse(f"a={first}:{first + more}:{step}").labels()
    assert values == list(range(first, first + more + 1, step))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no values"),
        ("a", "has no values"),
        ("=1", "has no values"),
        ("a=", "has no values"),
        ("a=1,,2", "an empty value"),
        ("a=1,2,1", "has '1' twice"),
        ("a=40:10:10", ": empty range; allowed: "),
        ("a=1:2:0", ": empty range; allowed: "),
        ("a=5:25:10 packets", "has two units; use one unit, "),
        ("a=5us:1ms", "has two units; use one unit, "),
        ("a=5us:9us:2", "has two units; use one unit, "),
        ("a=1:999999999999999999:1", "allowed: at most 100,000"),
        ("seed=1,2", "use --seeds N"),
        ("sweep.seeds=1,2", "use a field of the experiment"),
    ],
)
def test_axis_that_is_none(text: str, words: str) -> None:
    with pytest.raises(UsageError, match="--over") as raised:
        Axis.parse(text)
    assert words in str(raised.value)


def test_labels() -> None:
    assert Axis.parse("a=1,2").labels() == [1, 2]
    assert Axis.parse("a=1,2.5").labels() == [1.0, 2.5]
    assert Axis.parse('a="amp",xmp').labels() == ["amp", "xmp"]
    assert Axis.parse("a=1,1KB").labels() == ["1", "1KB"]


def test_label_names_are_short_where_they_can_be() -> None:
    axes = [Axis(field, ()) for field in ("x.cc", "traffic[0].flows", "x.subflows", "a.k", "b.k", "duration")]
    names = ["cc", "flows", "x.subflows", "a.k", "b.k", "duration"]
    assert label_names(axes, {"flow", "subflows"}) == names


def planned(spec: Path, over: list[str], seeds: int = 1, overrides: tuple[str, ...] = ()) -> SweepPlan:
    return plan(spec, overrides, [Axis.parse(text) for text in over], seeds, force=False)


def test_key_is_of_the_content(spec: Path) -> None:
    keys = [run.key for run in planned(spec, ["traffic[0].flows=2:4"], 2).runs]
    assert len(set(keys)) == 6
    assert [run.key for run in planned(spec, ["traffic[0].flows=4,3,2"], 3).runs[-3:-1]] == keys[:2]
    same = planned(spec, [], overrides=("traffic[0].flows=2", "seed=2"))
    assert {run.key for run in same.runs} & set(keys), "whatever it was asked for as"


def test_key_is_of_files_as_well(spec: Path) -> None:
    sizes = spec.parent / "sizes.txt"
    change = 'traffic=[{kind="poisson",transport="dctcp",pairs="random",rate=100,size={kind="empirical",cdf="%s"}}]'
    keys = set()
    for most in (1000, 2000):
        sizes.write_text(f"# size in bytes\n100 0\n{most} 1\n")
        keys |= {run.key for run in planned(spec, [], overrides=(change % sizes,)).runs}
    assert len(keys) == 2


def test_spec_with_a_sweep_table_names_its_axes(spec: Path) -> None:
    by_command = planned(spec, OVER, 2)
    table = f"[sweep]\nover = {json.dumps(OVER)}\nseeds = 2\n"
    spec.write_text(f"{INCAST}\n{table}")
    by_table = plan(spec, (), force=False)
    assert by_table.runs == by_command.runs, "with the same keys"
    assert by_table.axes == by_command.axes
    # Its command says otherwise.
    assert len(planned(spec, OVER[:1], 3).runs) == 6
    assert len(plan(spec, (), [Axis.parse(OVER[0])], force=False).runs) == 4
    assert len(plan(spec, ("sweep.seeds=3",), force=False).runs) == 12
    assert weft("run", spec.name, "--out", "alone", cwd=spec.parent).code == 0


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("seeds = 0", "sweep.seeds: 0; allowed: 1 to 1000"),
        ("seeds = 1.5", "sweep.seeds"),
        ("over = 3", "sweep.over"),
        ("over = ['x']", "sweep.over[0]: 'x': has no values; allowed: "),
        ("over = ['topology.nobody=1,2']", "topology.nobody"),
        ("runs = 3", "sweep.runs"),
    ],
)
def test_tables_that_say_nothing(spec: Path, table: str, words: str) -> None:
    spec.write_text(f"{INCAST}\n[sweep]\n{table}\n")
    with pytest.raises(SpecError) as raised:
        plan(spec, (), force=False)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--over", "traffic[0].flows=1,x"], 2, "traffic[0].flows"),
        (["--over", "topology.nobody=1,2"], 2, "topology.nobody"),
        (["--over", "duration=1ms,2ms", "--over", "duration=3ms"], 2, "given twice"),
        (["--over", "traffic[0].rounds=1:1000", "--seeds", "1000"], 2, "1,000,000 runs"),
        (["--set", "seed=9223372036854775807", "--seeds", "2"], 2, "seed"),
        (["--seeds", "0"], 2, "1 to 1000"),
        (["--cluster", "host"], 2, "tcp://host:8786"),
        (["--cluster", "tcp://127.0.0.1:1"], 3, "no scheduler answers"),
        (["--cluster", "tls://127.0.0.1:1"], 3, "no certificates"),
        (["--cluster", "tcp://127.0.0.1:1", "--workers", "2"], 2, "remove one of the two"),
        (["--cluster", "slurm"], 2, "--workers N is missing"),
        (["--cluster", "slurm:", "--workers", "2"], 2, "'' is not an option; allowed: account, cores,"),
        (["--cluster", "slurm:nodes=3", "--workers", "2"], 2, "'nodes' is not an option"),
        (["--cluster", "slurm:cores=2,cores=3", "--workers", "2"], 2, "'cores' is given twice"),
        (["--cluster", "slurm:cores=0", "--workers", "2"], 2, "cores is '0'; allowed: such as 8"),
        (["--cluster", "slurm:walltime=2h", "--workers", "2"], 2, "allowed: such as 04:00:00"),
        (["--cluster", "slurm:queue=a b", "--workers", "2"], 2, "queue is 'a b'; allowed: such as a name"),
        (
            ["--cluster", "slurm", "--workers", "2"],
            3,
            "sbatch not found; run this command on a machine from which you submit jobs",
        ),
        (["--out", "incast.toml"], 2, "cannot create"),
        (["--out", "."], 2, "not the folder of a sweep"),
        (["--out", "/dev/null/x"], 2, "cannot create"),
    ],
)
def test_bad_input(
    spec: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    words: str,
) -> None:
    monkeypatch.setattr(cluster, "CONNECT_TIMEOUT_S", 0.5)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.chdir(spec.parent)
    assert run_command(lambda: cli.app(["sweep", spec.name, *arguments], standalone_mode=False)) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 1
    assert words in shown.err


def sweep(out: str) -> list[str]:
    over = [word for text in OVER for word in ("--over", text)]
    return ["sweep", "incast.toml", *over, "--seeds", "3", "--workers", "2", "--out", out, "--json"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a spec whose runs take long enough to be killed."""
    folder = tmp_path_factory.mktemp("sweep")
    long = INCAST.replace("flows = 4", "flows = 4\nrounds = 3000\ninterval = '500us'").replace("50ms", "2s")
    (folder / "incast.toml").write_text(long)
    return folder


@pytest.fixture(scope="module")
def unbroken(folder: Path) -> Ended:
    """A sweep that nothing happened to."""
    done = weft(*sweep("unbroken"), cwd=folder)
    assert done.code == 0, done
    return done


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.parquet")}


def test_failed_runs_are_listed_with_their_command(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = worker.run_on_worker

    def refuse_the_second(text: str, folder: str, wanted: str, *, force: bool) -> worker.WorkerError | None:
        if json.loads(text)["seed"] == 2:
            return worker.WorkerError("needs more memory", 2)
        return whole(text, folder, wanted, force=force)

    monkeypatch.setattr(cluster, "run_on_worker", refuse_the_second)
    sweep = planned(spec, ["traffic[0].flows=2,4"], 2, ("queues.mark=20 packets",))
    outcome = run_on_dask(sweep, spec.parent / "out")
    assert outcome.exit_code == 2
    failed = outcome.failed()
    assert [failure["run"] for failure in failed] == ["traffic[0].flows=2 seed=2", "traffic[0].flows=4 seed=2"]
    assert pl.read_parquet(outcome.tables["flows"])["seed"].to_list() == 6 * [1]
    program, *words = shlex.split(failed[1]["command"])
    assert program == "weft"
    alone = weft(*words, "--json", cwd=spec.parent).document["manifest"]
    assert alone["seed"] == 2
    assert alone["spec"] == json.loads(sweep.runs[3].spec)
    monkeypatch.undo()
    assert run_here(sweep, spec.parent / "out").reused == 2


def test_tables_are_read_as_one(folder: Path, unbroken: Ended) -> None:
    flows = str(folder / unbroken.document["tables"]["flows"])
    relation = duckdb.read_parquet(flows).aggregate('cc, "transports.dctcp.subflows", seed, count(*)')
    rows = sorted(relation.fetchall())
    assert rows == [(cc, n, seed, 12_000) for cc in ("dctcp", "reno") for n in (1, 2) for seed in (1, 2, 3)]
    lazy = pl.scan_parquet(flows).group_by("cc", "seed", "run").len().collect()
    assert lazy.height == 12
    assert set(lazy["len"]) == {12_000}


def test_killed_and_resumed_is_as_unbroken(folder: Path, unbroken: Ended) -> None:
    """Kills a worker, then the command, in the midst of a sweep; then asks for it again."""
    whole = Path(unbroken.document["out"])
    process = subprocess.Popen([WEFT, *sweep("broken")], cwd=folder, stdout=subprocess.DEVNULL)
    runs = folder / "broken" / "runs"

    def ended(number: int) -> Callable[[], bool]:
        return lambda: len(list(runs.glob("??/*/manifest.json"))) >= number

    wait_for(process, ended(2))
    children = psutil.Process(process.pid).children(recursive=True)
    workers = [child for child in children if any("weft.sweeps.worker" in word for word in child.cmdline())]
    assert len(workers) == 2
    workers[0].send_signal(signal.SIGKILL)
    wait_for(process, ended(5))
    assert process.poll() is None, "it must not be over"
    process.send_signal(signal.SIGKILL)
    process.wait()
    psutil.wait_procs(children, timeout=10)
    assert not (folder / "broken" / "tables").exists()
    resumed = weft(*sweep("broken"), cwd=folder)
    assert resumed.code == 0, resumed
    assert 5 <= resumed.document["reused"] < 12
    assert content(folder / "broken" / "tables") == content(folder / whole / "tables")
    assert [path.name for path in (folder / "broken").rglob(".weft-*")] == []


def test_killed_at_ten_moments_is_as_unbroken(spec: Path) -> None:
    """Kills the client, with all that it has started or without, at random moments from its start to its tables."""
    question = ["sweep", spec.name, *[word for text in OVER for word in ("--over", text)], "--seeds", "10", "--json"]
    begun = time.monotonic()
    assert weft(*question, "--out", "unbroken", cwd=spec.parent).code == 0
    takes_s = time.monotonic() - begun
    moments = random.Random(10)  # noqa: S311 - drawn at random, but not secret
    folder = spec.parent / "broken"
    killed = 0
    while killed < 10:
        process = subprocess.Popen(
            [WEFT, *question, "--out", "broken"], cwd=spec.parent, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            process.wait(moments.uniform(0.05, 1.0) * takes_s)
        except subprocess.TimeoutExpired:
            children = psutil.Process(process.pid).children(recursive=True)
            for running in [process, *children] if killed % 2 else [process]:
                with contextlib.suppress(psutil.NoSuchProcess):
                    running.send_signal(signal.SIGKILL)
            process.wait()
            psutil.wait_procs(children, timeout=20)
            killed += 1
        if process.returncode == 0 and killed < 10:
            # The sweep ended before, so half of its runs are repeated.
            for run_folder in sorted((folder / "runs").glob("??"))[::2]:
                shutil.rmtree(run_folder)
    resumed = weft(*question, "--out", "broken", cwd=spec.parent)
    assert resumed.code == 0, resumed
    assert content(folder / "tables") == content(spec.parent / "unbroken" / "tables")
    assert [path.name for path in folder.rglob(".weft-*")] == []


@pytest.mark.parametrize("levels", ["flow", "packet,flow", "flow,packet"])
def test_tables_hold_the_columns_of_each_level(spec: Path, levels: str) -> None:
    outcome = run_here(planned(spec, [f"level={levels}"], 2), spec.parent / "out")
    assert outcome.exit_code == 0
    of_flow = {"flows", "subflows", "jobs", "ranks", "steps", "operations", "links", "throughput"}
    assert set(outcome.tables) == (set(api.TABLES) if "packet" in levels else of_flow)
    assert {path.name for path in (spec.parent / "out" / "tables").iterdir()} == set(outcome.tables)
    flows = pl.read_parquet(outcome.tables["flows"])
    assert flows["level"].to_list() == [level for level in levels.split(",") for _ in range(8)]
    assert flows.filter(level="flow")["fct_s"].null_count() == 0
    if "packet" in levels:
        assert flows["packets_sent"].is_null().to_list() == (flows["level"] == "flow").to_list()
        alone = run_here(planned(spec, ["level=packet"]), spec.parent / "packet")
        assert flows.columns == pl.read_parquet(alone.tables["flows"]).columns
        assert pl.read_parquet(outcome.tables["queues"]).is_empty()


def test_more_seeds_reuse_finished_runs(spec: Path) -> None:
    folder = spec.parent / "out"
    assert run_here(planned(spec, OVER, 2), folder).reused == 0
    first = content(folder / "tables")
    assert run_here(planned(spec, OVER, 3), folder).reused == 8
    assert content(folder / "tables") != first
    assert run_here(planned(spec, OVER, 2), folder).reused == 8
    assert content(folder / "tables") == first


def run_here(sweep: SweepPlan, folder: Path) -> Outcome:
    return run_sweep(sweep, folder, executor=Executor(workers=1), force=False, show=lambda _done, _note: None)


def run_on_dask(sweep: SweepPlan, folder: Path) -> Outcome:
    """Workers are threads of this process."""
    with LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, protocol="tcp", dashboard_address=None, silence_logs=50
    ) as local:
        return run_sweep(
            sweep,
            folder,
            executor=Executor(address=local.scheduler_address),
            force=False,
            show=lambda _done, _note: None,
        )


def test_run_that_was_cut_off_is_run_again(spec: Path) -> None:
    sweep = planned(spec, [], 1)
    folder = spec.parent / "out"
    run_here(sweep, folder)
    tables = content(folder)
    manifest = store.results_of(folder, sweep.runs[0].key) / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"partial": True}))
    assert run_here(sweep, folder).reused == 0
    assert content(folder) == tables


@pytest.mark.parametrize("table", ["links", "flows", "manifest"])
@pytest.mark.parametrize("left", [None, 100])
def test_run_whose_table_is_damaged_is_run_again(spec: Path, table: str, left: int | None) -> None:
    sweep = planned(spec, [], 2)
    folder = spec.parent / "out"
    run_here(sweep, folder)
    tables = content(folder)
    results = store.results_of(folder, sweep.runs[0].key)
    file = results / ("manifest.json" if table == "manifest" else f"{table}.parquet")
    whole = file.read_bytes()
    if left is None:
        file.unlink()
    else:
        file.write_bytes(whole[:left])
    assert run_here(sweep, folder).reused == 1
    assert content(folder) == tables


def test_table_that_is_damaged_within_is_named(spec: Path) -> None:
    sweep = planned(spec, [])
    folder = spec.parent / "out"
    run_here(sweep, folder)
    file = store.results_of(folder, sweep.runs[0].key) / "flows.parquet"
    file.write_bytes(b"PAR1" + bytes(file.stat().st_size - 8) + b"PAR1")
    with pytest.raises(OutputError, match=r"flows\.parquet: cannot read: "):
        run_here(sweep, folder)


def test_only_one_sweep_is_at_work_in_a_folder(tmp_path: Path) -> None:
    with (
        store.opened(tmp_path / "out"),
        pytest.raises(OutputError, match="in use by another `weft sweep`"),
        store.opened(tmp_path / "out"),
    ):
        pass


def test_worker_of_another_build_is_refused(spec: Path) -> None:
    run = planned(spec, []).runs[0]
    complaint = worker.run_on_worker(run.spec, str(spec.parent / "run"), "0.0.1", force=False)
    assert complaint is not None
    assert complaint.missing
    assert "0.0.1" in complaint.line


def test_results_that_cannot_be_written_end_the_sweep(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (spec.parent / "full").write_text("")
    monkeypatch.setattr(cluster, "results_of", lambda _, key: spec.parent / "full" / key)
    with pytest.raises(OutputError, match="full"):
        run_on_dask(planned(spec, [], 3), spec.parent / "out")
    monkeypatch.undo()
    monkeypatch.setattr(local, "results_of", lambda _, key: spec.parent / "full" / key)
    with pytest.raises(OutputError, match="full"):
        run_here(planned(spec, [], 3), spec.parent / "here")


def test_scheduler_that_goes_ends_the_sweep(spec: Path) -> None:
    class Gone:
        status = "lost"

    with pytest.raises(RequirementError, match="is gone"):
        cluster._outcome(Gone(), planned(spec, []).runs[0], spec.parent)  # type: ignore[arg-type]  # noqa: SLF001


def test_dask_is_imported_only_for_a_cluster() -> None:
    program = "import sys, weft.cli, weft.sweeps.runner; sys.exit(bool({'distributed', 'dask'} & set(sys.modules)))"
    python = shutil.which("python", path=str(Path(WEFT).parent))
    assert python is not None
    assert subprocess.run([python, "-c", program], check=False).returncode == 0


def test_spec_is_checked_before_anything_runs(spec: Path) -> None:
    with pytest.raises(SpecError, match="subflows"):
        planned(spec, ["transports.dctcp.subflows=1,0"])


def test_warnings_of_runs_are_printed_once_with_their_cells(spec: Path) -> None:
    """NDP with queues that drop packets, and flows whose SYN is lost; the third transport has no warning."""
    text = (
        spec.read_text()
        + """
[transports.ndp]
kind = "ndp"
"""
    )
    spec.write_text(text)
    over = [
        "--over",
        "traffic[0].transport=dctcp,ndp",
        "--over",
        "events=[],[{at='0s', links=['s0->r0'], state='down'}]",
    ]
    done = weft("sweep", spec.name, *over, "--seeds", "2", "--out", "warned", "--workers", "1", cwd=spec.parent)
    assert done.code == 0, done
    down = "events=[{at='0s', links=['s0->r0'], state='down'}]"
    expected = [
        'weft: warning: queues.kind: transports.ndp (kind "ndp") repeats packets that queues drop only after timeouts; '
        'use queues of kind "trimming" (4 of 8 runs, traffic[0].transport=ndp)',
        "weft: warning: transports.dctcp: no flow was established: no SYN/ACK had arrived when the run ended at 50ms; "
        "tcp.initial_rto, after which a lost SYN is sent again, is 1s "
        f"(2 of 8 runs, traffic[0].transport=dctcp, {down})",
    ]
    assert sorted(line for line in done.err.splitlines() if line.startswith("weft: warning")) == sorted(expected)
    as_json = weft("sweep", spec.name, *over, "--seeds", "2", "--out", "warned", "--json", cwd=spec.parent)
    assert [(warning["runs"], warning["cells"]) for warning in as_json.document["warnings"]] == [
        (2, ["traffic[0].transport=dctcp", down]),
        (4, ["traffic[0].transport=ndp"]),
    ]
