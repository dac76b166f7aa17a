"""Bad input: one line on standard error, exit code 2, nothing written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import weft


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("colour=3", ["colour"]),
        ("transports.dctcp.tcp.speed=3", ["transports.dctcp.tcp", "speed"]),
        ("topology.rate=10", ["topology.rate", "10", "Gbps"]),
        ("topology.rate=10us", ["topology.rate", "10us"]),
        ("topology.rate=-10Gbps", ["topology.rate", "-10Gbps"]),
        ("topology.rate=0Gbps", ["topology.rate", "0"]),
        ("topology.delay=-1us", ["topology.delay", "-1us"]),
        ("queues.mark=101 packets", ["queues", "mark", "101", "100"]),
        ("queues.limit=0 packets", ["queues", "limit", "0"]),
        ("topology={kind = 'fat-tree', k = 3, rate = '1Gbps', delay = '1us'}", ["topology.k", "3", "even"]),
        ("topology.senders=0", ["topology.senders", "0"]),
        ("topology.kind=star", ["topology.kind", "star", "many-to-one"]),
        ("transports.dctcp.cc=vegas", ["transports.dctcp.cc", "vegas", "dctcp"]),
        ("transports.dctcp.profile=bsd", ["transports.dctcp.profile", "bsd", "linux"]),
        ("transports.dctcp.subflows=0", ["transports.dctcp.subflows", "0"]),
        ("traffic[0].transport=sctp", ["traffic[0].transport", "sctp", "dctcp"]),
        ("traffic[1].flows=4", ["traffic[1]"]),
        ("traffic[0].to=h77", ["traffic[0].to", "h77"]),
        ("duration=0s", ["duration", "0"]),
        ("duration", ["="]),
        ("seed=-1", ["seed", "-1"]),
    ],
)
def test_spec(spec: Path, change: str, words: list[str]) -> None:
    line = weft("run", str(spec), "--set", change, "--out", "results", cwd=spec.parent).complaint()
    assert str(spec) in line
    for word in words:
        assert word in line
    assert [path.name for path in spec.parent.iterdir()] == [spec.name]


@pytest.mark.parametrize(
    ("curve", "words"),
    [
        ("# size in bytes\n1000 0\n9000 0.6\n9000 0.5\n20000 1", ['sizes.cdf", line 4', "does not rise"]),
        ("# size in bytes\n1000 0\n20000 0.99", ['sizes.cdf", line 3', "ends at 0.99", "allowed: 1"]),
        ("1000 0\n20000 1", ["sizes.cdf", "no unit of its sizes", "# size in bytes"]),
    ],
)
def test_distribution_of_sizes(spec: Path, curve: str, words: list[str]) -> None:
    (spec.parent / "sizes.cdf").write_text(curve)
    change = (
        "traffic=[{kind = 'poisson', transport = 'dctcp', from = '0..4', to = 'r0', pairs = 'random', rate = 100, "
        "size = {kind = 'empirical', cdf = 'sizes.cdf'}}]"
    )
    line = weft("run", str(spec), "--set", change, "--out", "results", cwd=spec.parent).complaint()
    for word in ["traffic[0].size", *words]:
        assert word in line
    assert not (spec.parent / "results").exists()


def test_more_servers_than_hosts(spec: Path) -> None:
    change = "traffic=[{kind = 'jobs', transport = 'dctcp', servers = 40, request = '2KB', block = '64KB', slots = 1}]"
    line = weft("run", str(spec), "--set", change, "--out", "results", cwd=spec.parent).complaint()
    assert "traffic[0].servers: 40; allowed: 1 to" in line
    assert not (spec.parent / "results").exists()


def test_a_class_without_a_flow_is_a_warning(spec: Path) -> None:
    change = "traffic[0].classes=[{name = 'small', below = '1KB', transport = 'dctcp'}]"
    done = weft("run", str(spec), "--set", change, "--out", "results", "--json", cwd=spec.parent)
    assert done.code == 0, done
    assert done.err == 'weft: warning: traffic[0].classes[0]: no flow is in class "small"\n'
    assert len(done.document["manifest"]["warnings"]) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"name = ", ["line 1"]),
        (b"\xff\xfe\x00", ["cannot be read", "UTF-8"]),
        (b"", ["missing"]),
        (b"{", ["line 1"]),
    ],
)
def test_text(tmp_path: Path, text: bytes, words: list[str]) -> None:
    (tmp_path / "bad.toml").write_bytes(text)
    line = weft("run", "bad.toml", cwd=tmp_path).complaint()
    for word in ["bad.toml", *words]:
        assert word in line


def test_missing_file(tmp_path: Path) -> None:
    line = weft("run", "none.toml", cwd=tmp_path).complaint()
    assert "none.toml: cannot be read: No such file" in line


def test_folder_as_file(tmp_path: Path) -> None:
    assert "cannot be read" in weft("run", ".", cwd=tmp_path).complaint()


def test_output_folder_that_exists(spec: Path) -> None:
    for command in (["run", str(spec)], ["demo"], ["reproduce", "amp/fig02"]):
        line = weft(*command, "--out", ".", cwd=spec.parent).complaint()
        assert "exists already; allowed: a folder that does not exist yet" in line


def test_output_place_that_is_a_file(spec: Path) -> None:
    assert "cannot be made" in weft("run", str(spec), "--out", "incast.toml/x", cwd=spec.parent).complaint()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fly"], ["fly"]),
        (["run"], ["SPEC.toml"]),
        (["run", "x.toml", "--threads", "0"], ["--threads", "0", "1 to 1024 or auto"]),
        (["run", "x.toml", "--threads", "two"], ["--threads", "two"]),
        (["run", "x.toml", "--seed", "x"], ["--seed", "x"]),
        (["run", "x.toml", "--speed"], ["--speed"]),
        (["reproduce"], ["weft reproduce --list"]),
        (["reproduce", "amp/fig99"], ["amp/fig99", "amp/fig02"]),
        (["reproduce", "amp/fig02", "--seeds", "0"], ["--seeds", "0"]),
        (["bench", "warp"], ["warp", "permutation-128"]),
        (["bench", "--repeat", "0"], ["--repeat"]),
        (["list", "all"], ["all"]),
    ],
)
def test_arguments(tmp_path: Path, arguments: list[str], words: list[str]) -> None:
    line = weft(*arguments, cwd=tmp_path).complaint()
    for word in words:
        assert word in line
