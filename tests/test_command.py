"""Output and files of the command."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import weft as package
from tests.command import WEFT, wait_for_work, weft

TABLES = [
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


def test_version(tmp_path: Path) -> None:
    ended = weft("--version", cwd=tmp_path)
    assert (ended.code, ended.out, ended.err) == (0, f"weft {package.__version__}\n", "")


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "utf-8"])
def test_output_that_is_not_utf_8_has_the_table(spec: Path, encoding: str) -> None:
    """The lines of tables are `-`, and other characters that the output lacks are `?` or, in JSON, escapes."""
    text = spec.read_text().replace("[transports.dctcp]", '[transports."d\u0107tcp"]')
    spec.write_text(text.replace('transport = "dctcp"', 'transport = "d\u0107tcp"'), encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}

    def out(*arguments: str) -> str:
        done = subprocess.run(
            [WEFT, "run", spec.name, *arguments], cwd=spec.parent, env=environment, capture_output=True, check=True
        )
        return done.stdout.decode(encoding)

    assert ("d\u0107tcp" if encoding == "utf-8" else "d?tcp") in out("--out", "table")
    assert ("\u2500\u2500" if encoding == "utf-8" else "--------") in out("--out", "lines")
    assert json.loads(out("--json", "--out", "json"))["results"]["by_transport"][0]["transport"] == "d\u0107tcp"


@pytest.mark.parametrize("arguments", [["-m", "weft", "--help"], ["-c", "import weft"]], ids=["command", "module"])
def test_starts_at_once(arguments: list[str]) -> None:
    def used() -> float:
        # Processor time: what else the machine does makes no difference.
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return children.ru_utime + children.ru_stime

    taken = []
    for _ in range(5):
        begun = used()
        subprocess.run([sys.executable, *arguments], capture_output=True, check=True)
        taken.append(used() - begun)
    assert min(taken) < 0.3, "something heavy is imported at the start"


def test_starts_with_light_modules() -> None:
    ended = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "weft", "--version"], capture_output=True, text=True, check=True
    )
    imported = {
        line.rsplit("|", 1)[-1].strip() for line in ended.stderr.splitlines() if line.startswith("import time:")
    }
    ours = {name for name in imported if name.split(".")[0] == "weft"}
    # The program's body is `weft.__main__`, which `-m` does not import.
    light = {"", ".api", ".cli", ".errors", ".exit_codes", ".terminal", ".version"}
    assert ours == {f"weft{name}" for name in light} | {"weft._weft"}
    packages = {name.split(".")[0] for name in imported}
    assert "typer" in packages
    for heavy in (
        "altair",
        "dask",
        "matplotlib",
        "numpy",
        "orjson",
        "pandas",
        "polars",
        "pyarrow",
        "pydantic",
        "rich",
        "scipy",
    ):
        assert heavy not in packages


def test_help_without_arguments(tmp_path: Path) -> None:
    ended = weft(cwd=tmp_path)
    assert ended.code == 0
    for command in ("run", "list", "schema", "reproduce", "demo", "bench"):
        assert f"\n  {command} " in ended.out


def test_list(tmp_path: Path) -> None:
    registry = weft("list", "--json", cwd=tmp_path).document
    assert {"amp", "dcm", "dctcp", "lia", "reno", "xmp"} <= {algorithm["name"] for algorithm in registry["algorithms"]}
    assert {"many-to-one", "two-bottlenecks", "two-paths", "fat-tree"} <= {
        topology["name"] for topology in registry["topologies"]
    }
    assert {"bulk", "incast"} <= {row["name"] for row in registry["traffic"]}
    assert {"linux", "amp-2019"} <= {profile["name"] for profile in registry["profiles"]}
    for listings in registry.values():
        for listing in listings:
            assert len(listing["about"].splitlines()) == 1


def test_list_shows_the_registries(tmp_path: Path) -> None:
    registry = weft("list", "--json", cwd=tmp_path).document
    shown: dict[str, list[str]] = {}
    for line in weft("list", cwd=tmp_path).out.splitlines():
        match line.split():
            case [group] if group in registry:
                rows = shown.setdefault(group, [])
            case [name, *about] if about and about[0] != "about":
                rows.append(name)
    assert shown == {group: [listing["name"] for listing in listings] for group, listings in registry.items()}


def test_schema(tmp_path: Path) -> None:
    schema = weft("schema", cwd=tmp_path).document
    assert schema["type"] == "object"
    assert {"topology", "queues", "transports", "traffic"} <= set(schema["properties"])


def test_run(spec: Path) -> None:
    ended = weft("run", str(spec), "--json", "--out", "results", cwd=spec.parent)
    assert (ended.code, ended.err) == (0, "")
    document = ended.document
    assert document["partial"] is False
    assert list(document["tables"]) == TABLES
    for name, path in document["tables"].items():
        assert pl.read_parquet(spec.parent / path).columns, name
    flows = pl.read_parquet(spec.parent / "results" / "flows.parquet")
    assert len(flows) == 4
    assert json.loads((spec.parent / "results" / "manifest.json").read_text()) == document["manifest"]


def test_run_picks_a_new_folder(spec: Path) -> None:
    for folder in ("weft-incast", "weft-incast-2"):
        ended = weft("run", str(spec), cwd=spec.parent)
        assert (ended.code, ended.err) == (0, "")
        assert (spec.parent / folder / "flows.parquet").exists()
        assert ended.out.splitlines()[-1] == f"Results: {folder}"


def test_a_class_without_a_flow_is_a_warning(spec: Path) -> None:
    change = "traffic[0].classes=[{name = 'small', below = '1KB', transport = 'dctcp'}]"
    done = weft("run", str(spec), "--set", change, "--out", "results", "--json", cwd=spec.parent)
    assert done.code == 0, done
    assert done.err == 'weft: warning: traffic[0].classes[0]: no flow is in class "small"\n'
    assert len(done.document["manifest"]["warnings"]) == 1


def test_name_makes_one_folder(spec: Path) -> None:
    ended = weft("run", str(spec), "--json", "--set", "name=../k = 4 | 64 KB/é", cwd=spec.parent)
    assert ended.document["out"] == "weft-k-4-64-KB-é"


def test_seed_and_set_reach_the_manifest(spec: Path) -> None:
    ended = weft("run", str(spec), "--json", "--seed", "7", "--set", "topology.senders=3", cwd=spec.parent)
    manifest = ended.document["manifest"]
    assert manifest["seed"] == 7
    assert manifest["spec"]["topology"]["senders"] == 3


def test_manifest_runs_again(spec: Path) -> None:
    first = weft("run", str(spec), "--json", "--out", "first", cwd=spec.parent).document
    (spec.parent / "again.json").write_text(json.dumps(first["manifest"]["spec"]))
    weft("run", "again.json", "--out", "second", cwd=spec.parent)
    for table in TABLES:
        one, two = (pl.read_parquet(spec.parent / out / f"{table}.parquet") for out in ("first", "second"))
        assert one.equals(two), table


@pytest.mark.usefixtures("ctrl_c")
def test_interrupted_run_leaves_its_tables(spec: Path) -> None:
    long = ["--set", "duration=1000s", "--set", "traffic[0].size=100GB", "--json", "--out", "results"]
    process = subprocess.Popen(
        [WEFT, "run", str(spec), *long], cwd=spec.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_for_work(process, spec.parent)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert len(err.splitlines()) == 1
    document = json.loads(out)
    assert document["partial"] is True
    assert document["manifest"]["partial"] is True
    flows = pl.read_parquet(spec.parent / "results" / "flows.parquet")
    assert len(flows) == 4
    assert flows["delivered_bytes"].sum() > 0


@pytest.mark.usefixtures("ctrl_c")
def test_interrupted_reproduction_leaves_nothing(tmp_path: Path) -> None:
    process = subprocess.Popen([WEFT, "reproduce", "amp/fig08"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    wait_for_work(process, tmp_path)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == "weft: stopped\n"
    assert list(tmp_path.iterdir()) == []


def test_reader_that_leaves(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as out:
        done = subprocess.run([WEFT, "schema"], cwd=tmp_path, stdout=out, stderr=subprocess.PIPE, check=False)
    assert done.stderr == b""


def test_bench(tmp_path: Path) -> None:
    (row,) = weft("bench", "syndrome", "--json", cwd=tmp_path).document
    assert list(row) == [
        "scenario",
        "threads",
        "packet_hops",
        "seconds",
        "packet_hops_per_second",
        "peak_rss_bytes",
    ]
    assert row["scenario"] == "syndrome"
    assert row["threads"] == 1
    # 10 Gbps for a second at 1514 bytes per packet, over two links, and an acknowledgement for every second packet.
    assert 1.5 * 2 * 10e9 / 8 / 1514 < row["packet_hops"] < 4.1 * 10e9 / 8 / 1514
    assert row["packet_hops_per_second"] == pytest.approx(row["packet_hops"] / row["seconds"], abs=1)
    assert 1e6 < row["peak_rss_bytes"] < 1e9


def test_bench_of_the_engine(tmp_path: Path) -> None:
    (row,) = weft("bench", "engine-128", "--json", cwd=tmp_path).document
    assert list(row) == [
        "scenario",
        "threads",
        "packet_hops",
        "seconds",
        "packet_hops_per_second",
        "peak_rss_bytes",
    ]
    # In 10 ms, each of 128 hosts sends at most 100 Gbps in packets of 1,526 bytes, over at most six links, with an
    # acknowledgement for every second packet. Windows of 8 x 32 packets keep at least half of the links to hosts busy.
    sent = 128 * 100e9 * 10e-3 / 8 / 1526
    assert 0.5 * 1.5 * 4 * sent < row["packet_hops"] < 1.5 * 6 * sent
