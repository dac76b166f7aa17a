"""The Python API."""

from __future__ import annotations

import _thread
import threading
import time
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import weft
from weft import _weft
from weft.bench import spec_text
from weft.errors import UsageError


@pytest.fixture
def experiment(spec: Path) -> weft.Experiment:
    return weft.load(spec)


@pytest.fixture
def long(spec: Path) -> weft.Experiment:
    """Takes minutes unless it is stopped."""
    return weft.load(spec, ["duration=1000s", "traffic[0].size=100GB"])


def test_load_fills_in_defaults(experiment: weft.Experiment) -> None:
    assert experiment.seed == 1
    assert experiment.transports["dctcp"].profile == "linux"


def test_load_applies_overrides_in_order(spec: Path) -> None:
    experiment = weft.load(spec, ["topology.senders=3", "topology.senders=2", "queues.limit=50 packets"])
    assert experiment.topology.model_dump()["senders"] == 2
    assert experiment.queues.limit == "50 packets"


def test_load_reads_json(tmp_path: Path, experiment: weft.Experiment) -> None:
    path = tmp_path / "incast.json"
    path.write_text(experiment.model_dump_json(by_alias=True, exclude_none=True))
    assert weft.load(path) == experiment


def test_error_names_file_and_field(spec: Path) -> None:
    with pytest.raises(weft.SpecError) as raised:
        weft.load(spec, ["topology.senders=0"])
    assert str(raised.value).startswith(f"{spec}: topology.senders: ")
    assert len(str(raised.value).splitlines()) == 1


def test_numbers_of_numpy_are_numbers(experiment: weft.Experiment) -> None:
    document = experiment.model_dump(by_alias=True, exclude_none=True)
    document["topology"]["senders"] = np.int64(3)
    document["traffic"][0]["flows"] = np.arange(5)[4]
    document["seed"] = np.uint32(7)
    document["hosts"] = {"tso": np.bool_(0)}
    document["events"] = [{"at": "1ms", "layer": "switch-host", "fraction": np.float32(0.5), "rate": "1Gbps"}]
    threads: Any = np.int64(1)
    plain = weft.run(document, threads=threads)
    assert plain.manifest["spec"]["topology"]["senders"] == 3
    assert plain.manifest["spec"]["events"][0]["fraction"] == 0.5
    model = weft.Experiment(**document)
    assert weft.run(model).flows.equals(plain.flows)
    assert experiment.model_copy(update={"seed": np.int64(7)}).seed == 7


def test_values_that_are_not_of_a_spec_are_named_with_their_path(experiment: weft.Experiment) -> None:
    document = experiment.model_dump(by_alias=True, exclude_none=True)

    class Own(weft.CongestionControl):
        name = "own-by-object"

    deep: list[object] = []
    for _ in range(100):
        deep = [deep]
    for change, line in (
        ({"seed": {1, 2}}, "seed: set {1, 2}; allowed: values of JSON, and models of weft.spec"),
        (
            {"transports": {"t": {"cc": Own()}}},
            "transports.t.cc: an object of the class Own; pass the class Own ",
        ),
        ({"traffic": [{"flows": float("nan")}]}, "traffic[0].flows: nan; allowed: a finite number"),
        ({"transports": {1: {}}}, "transports: the name 1; allowed: names that are text"),
        ({"probes": deep}, "probes[0][0][0]"),
        ({"topology": document["topology"] | {"senders": 2.5}}, "topology.senders: 2.5; allowed: a whole number, 1 to"),
    ):
        with pytest.raises(weft.SpecError) as raised:
            weft.run(document | change)
        assert str(raised.value).startswith(line)
    with pytest.raises(weft.SpecError, match=r"^seed: set \{1\}; allowed: values of JSON"):
        weft.Experiment(**(document | {"seed": {1}}))


def test_a_spec_may_begin_with_a_byte_order_mark(spec: Path, experiment: weft.Experiment) -> None:
    spec.write_text("\ufeff" + spec.read_text().replace("\n", "\r\n"), encoding="utf-8")
    assert weft.load(spec) == experiment


def test_tables(experiment: weft.Experiment) -> None:
    result = weft.run(experiment)
    assert not result.partial
    assert list(result.tables) == [
        "flows",
        "subflows",
        "queues",
        "links",
        "traces",
        "jobs",
        "ranks",
        "steps",
        "operations",
        "suppressions",
        "latencies",
        "packets",
        "pause_frames",
        "throughput",
        "traffic_classes",
        "drops",
    ]
    assert result.flows["delivered_bytes"].to_list() == [64_000] * 4
    assert len(result.subflows) == 4
    assert len(result.links) == 2 * 5
    assert result.queues.is_empty()
    assert result.traces.is_empty()
    assert result.jobs.is_empty()
    assert result.suppressions.is_empty()


def test_tables_are_not_copied(spec: Path) -> None:
    probes = ['probes=[{kind = "queue", at = ["s0->r0"], interval = "1us"}]']
    exported = _weft.Experiment.parse(spec.read_text(), probes).run().tables()["traces"]
    frames = [pl.DataFrame(exported) for _ in range(2)]
    assert len(frames[0]) == len(exported) > 1000
    one, two = (frame["time_s"].to_numpy(allow_copy=False) for frame in frames)
    assert np.shares_memory(one, two)


def test_table_outlives_its_run(experiment: weft.Experiment) -> None:
    flows = weft.run(experiment).flows
    assert flows["finish_s"].is_sorted()


def test_seed_decides(spec: Path) -> None:
    experiment = weft.load(spec, ["traffic[0].jitter=100us"])
    one, again, other = (weft.run(experiment, seed=seed).flows for seed in (1, 1, 2))
    assert one.equals(again)
    assert not one.equals(other)


def test_threads_change_nothing(experiment: weft.Experiment) -> None:
    runs = [weft.run(experiment, threads=threads, trace_hash=True) for threads in (1, 2, 3)]
    assert len({run.manifest["trace_hash"] for run in runs}) == 1
    for run in runs[1:]:
        assert all(run.tables[name].equals(table) for name, table in runs[0].tables.items())


@pytest.mark.parametrize(("scenario", "threads"), [("syndrome", 1), ("permutation-128", 3)])
def test_small_networks_have_one_thread(scenario: str, threads: int) -> None:
    spec = tomllib.loads(spec_text(scenario)) | {"duration": "200us"}
    assert weft.run(spec, threads=3).manifest["threads"] == threads


def test_tables_are_found_from_another_working_directory(
    experiment: weft.Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    results = [weft.run(experiment, out="run"), weft.Result.read("run")]
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert [result.flows.height for result in results] == [4, 4]


@pytest.mark.parametrize("threads", [0, 5000])
def test_threads_out_of_range(experiment: weft.Experiment, threads: int) -> None:
    with pytest.raises(weft.RunError, match=f"threads: {threads}; allowed"):
        weft.run(experiment, threads=threads)


def test_progress_ends_at_one(experiment: weft.Experiment) -> None:
    seen: list[weft.Progress] = []
    weft.run(experiment, progress=seen.append)
    assert seen[-1].fraction == 1.0
    assert seen[-1].simulated == pytest.approx(0.05)
    assert seen[-1].packet_hops > 4 * 2 * 64_000 / 1448


def test_progress_stops(long: weft.Experiment) -> None:
    result = weft.run(long, progress=lambda _: False)
    assert result.partial
    assert 0 < result.manifest["end_s"] < 1000
    assert result.flows["delivered_bytes"].sum() > 0


def test_exception_of_the_progress_callback_reaches_the_caller(long: weft.Experiment) -> None:
    def raising(_: weft.Progress) -> None:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        weft.run(long, progress=raising)


@pytest.mark.usefixtures("ctrl_c")
def test_interrupt_yields_tables(long: weft.Experiment) -> None:
    timer = threading.Timer(0.5, _thread.interrupt_main)
    timer.start()
    result = weft.run(long)
    timer.join()
    assert result.partial
    assert result.manifest["end_s"] > 0


def test_interpreter_is_free_meanwhile(long: weft.Experiment) -> None:
    stop = threading.Event()
    runner = threading.Thread(target=lambda: weft.run(long, progress=lambda _: not stop.is_set()))
    runner.start()
    longest = 0.0
    begun = last = time.monotonic()
    while last - begun < 1.0:
        time.sleep(0.001)
        now = time.monotonic()
        longest, last = max(longest, now - last), now
    stop.set()
    runner.join()
    assert longest < 0.5


def test_write(tmp_path: Path, experiment: weft.Experiment) -> None:
    result = weft.run(experiment)
    result.write(tmp_path / "results")
    assert pl.read_parquet(tmp_path / "results" / "flows.parquet").equals(result.tables["flows"])
    with pytest.raises(weft.OutputError, match="exists"):
        result.write(tmp_path / "results")


def test_registry_and_schema() -> None:
    assert "amp" in {algorithm["name"] for algorithm in weft.registry()["algorithms"]}
    assert weft.schema()["title"]


def test_load_is_the_share_of_the_senders_links(spec: Path) -> None:
    """30 % of 10 Gbps for 0.2 s are 75 MB: of 7,500 flows the standard deviation is 1.2 %."""
    traffic = "{kind = 'poisson', transport = 'dctcp', pairs = [['h0', 'r0']], size = '10KB', load = 0.3}"
    flows = weft.run(weft.load(spec, ["duration=200ms", f"traffic=[{traffic}]"])).flows
    assert flows["size_bytes"].sum() == pytest.approx(75e6, rel=0.05)


def test_to_pandas_names_the_missing_package(experiment: weft.Experiment) -> None:
    result = weft.run(experiment)
    with pytest.raises(UsageError, match="allowed: drops, flows"):
        result.to_pandas("flow")
    if all(find_spec(name) for name in ("pandas", "pyarrow")):
        assert len(result.to_pandas("flows")) == result.flows.height
    else:
        with pytest.raises(weft.RequirementError, match="is not installed; run: pip install pandas pyarrow"):
            result.to_pandas("flows")


def test_a_folder_written_during_the_run_has_the_same_tables(spec: Path, tmp_path: Path) -> None:
    # Closed loops of short flows: more rows than are kept in memory at a time.
    loops = "{kind = 'closed-loop', transport = 'dctcp', pairs = 'random', size = '1KB', count = 40}"
    probes = "probes=[{kind = 'flow', interval = '3ms'}, {kind = 'queue', at = ['s0->r0'], interval = '1ms'}]"
    busy = weft.load(spec, ["duration=200ms", f"traffic=[{loops}]", probes])
    memory = weft.run(busy)
    disk = weft.run(busy, out=tmp_path / "results")
    assert memory.flows.height > 1 << 16
    assert disk.manifest["rows"] == memory.manifest["rows"]
    assert list(disk.tables) == list(memory.tables)
    for name, table in memory.tables.items():
        keys = {"flows": ["flow"], "subflows": ["flow", "subflow"]}.get(name)
        streamed = disk.tables[name]
        assert streamed.sort(keys).equals(table.sort(keys)) if keys else streamed.equals(table), name
    with pytest.raises(weft.OutputError, match=r"the results are already in .*results"):
        disk.write(tmp_path / "again")
    with pytest.raises(weft.OutputError, match="exists and is not empty"):
        weft.run(busy, out=tmp_path / "results")


def test_no_folder_without_a_result(long: weft.Experiment, tmp_path: Path) -> None:
    def fail(_: weft.Progress) -> bool:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        weft.run(long, progress=fail, out=tmp_path / "results")
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]
