"""Networks, flows and measurements go to other tools and come back."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import weft
from weft import interop

SPEC: dict[str, Any] = {
    "name": "exchange",
    "duration": "20ms",
    "queues": {"limit": "100 packets"},
    "transports": {"t": {"cc": "reno"}},
}


def graph(kind: str = "Graph") -> Any:
    """Two hosts, two switches, and a fast and a slow way between them."""
    nx = pytest.importorskip("networkx")
    made = getattr(nx, kind)()
    made.add_nodes_from(["h0", "h1"], type="host")
    made.add_nodes_from(["left", "right"], type="switch")
    made.add_edge("h0", "left", rate="10Gbps")
    made.add_edge("left", "right", rate=1e9, delay=20e-6)
    made.add_edge("right", "h1")
    return made


@pytest.mark.parametrize("kind", ["Graph", "MultiGraph", "DiGraph", "MultiDiGraph"])
def test_network_from_networkx(kind: str) -> None:
    made = graph(kind)
    if kind.endswith("DiGraph"):
        made.add_edges_from([(b, a, data) for a, b, data in list(made.edges(data=True))])
    topology = interop.topology_from_networkx(made, rate="5Gbps", delay="1us")
    assert topology["hosts"] == ["h0", "h1"]
    assert topology["switches"] == ["left", "right"]
    traffic = [{"kind": "bulk", "transport": "t", "from": "h0", "to": "h1"}]
    links = weft.run({**SPEC, "topology": topology, "traffic": traffic}).links
    rows = links.select("from", "to", "rate_bps", pl.col("delay_s").round(12)).iter_rows()
    found = {(a, b): (rate, delay) for a, b, rate, delay in rows}
    one_way = {("h0", "left"): (10**10, 1e-6), ("left", "right"): (10**9, 2e-5), ("right", "h1"): (5 * 10**9, 1e-6)}
    assert found == one_way | {(b, a): link for (a, b), link in one_way.items()}


def test_parallel_edges_are_cables() -> None:
    made = graph("MultiGraph")
    made.add_edge("left", "right")
    topology = interop.topology_from_networkx(made, rate="5Gbps", delay="1us")
    assert [(link["a"], link["b"]) for link in topology["links"]].count(("left", "right")) == 2


def test_hosts_by_name_or_by_a_single_edge() -> None:
    made = graph()
    assert interop.topology_from_networkx(made, rate="1Gbps", delay="1us", hosts=["left", "h1"])["hosts"] == [
        "left",
        "h1",
    ]
    for node in made.nodes:
        del made.nodes[node]["type"]
    assert interop.topology_from_networkx(made, rate="1Gbps", delay="1us")["hosts"] == ["h0", "h1"]


def test_wrong_graphs() -> None:
    made = graph()

    def refused(**how: Any) -> str:
        with pytest.raises(weft.UsageError) as raised:
            interop.topology_from_networkx(made, rate="1Gbps", delay="1us", **how)
        return str(raised.value)

    assert refused(hosts=["h9"]) == "hosts: 'h9'; allowed: nodes of the graph"
    made.add_edge("left", "left")
    assert refused() == "graph: edge left-left; allowed: edges between different nodes"
    made = graph()
    made.edges["left", "right"]["rate"] = -1
    assert refused() == "graph: edge left-right: rate is -1; allowed: a number of at least 0, or text"
    made = graph("DiGraph")
    assert refused() == "graph: no edge left->h0 like h0->left; add it with equal data"
    made = graph()
    made.add_node(1)
    made.add_node("1")
    assert refused() == "graph: two nodes are called '1'; allowed: distinct names"


@pytest.mark.parametrize(
    ("data", "link"),
    [
        ({"bandwidth": "2.5Gbps"}, {"rate": "2.5Gbps"}),
        ({"capacity": "1Gbps", "latency": "5us"}, {"rate": "1Gbps", "delay": "5us"}),
        ({"LinkSpeedRaw": 155_000_000.0, "LinkLabel": "OC-3"}, {"rate": "155000000bps"}),
        ({"LinkSpeedRaw": "155000000"}, {"rate": "155000000bps"}),
        ({"rate": 1e9, "bandwidth": 7}, {"rate": "1000000000bps"}),
        ({"delay": 2e-6, "latency": 3}, {"delay": "2000000ps"}),
    ],
)
def test_data_of_edges_by_the_names_of_other_programs(data: dict[str, Any], link: dict[str, str]) -> None:
    nx = pytest.importorskip("networkx")
    made = nx.Graph()
    made.add_edge("a", "b", **data)
    links = interop.topology_from_networkx(made, rate="1Mbps", delay="1s")["links"]
    assert links == [{"a": "a", "b": "b", **link}]


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (
            {"bandwidth": 10},
            "bandwidth is 10, a number without a unit; allowed: text with a unit, or the data rate in bits per second",
        ),
        (
            {"latency": 0.5},
            "latency is 0.5, a number without a unit; allowed: text with a unit, or the data delay in seconds",
        ),
        ({"LinkSpeedRaw": "fast"}, "LinkSpeedRaw is 'fast'; allowed: a number of bits per second"),
    ],
)
def test_data_of_edges_without_a_unit_is_refused(data: dict[str, Any], line: str) -> None:
    nx = pytest.importorskip("networkx")
    made = nx.Graph()
    made.add_edge("a", "b", **data)
    with pytest.raises(weft.UsageError) as raised:
        interop.topology_from_networkx(made, rate="1Gbps", delay="1us")
    assert str(raised.value) == f"graph: edge a-b: {line}"


def test_data_of_edges_without_an_effect_is_named() -> None:
    made = graph()
    made.edges["left", "right"]["weight"] = 3
    made.edges["h0", "left"]["bw"] = 10
    made.edges["h0", "left"]["label"] = "x"
    with pytest.warns(weft.ResultWarning, match=r"^graph: edges have data without an effect: bw, weight; links have"):
        interop.topology_from_networkx(made, rate="1Gbps", delay="1us")


def test_graphs_of_numpy() -> None:
    np = pytest.importorskip("numpy")
    made = graph()
    made.edges["left", "right"].update(rate=np.float64(2e9), delay=np.float32(0.5))
    links = interop.topology_from_networkx(made, rate="1Gbps", delay="1us")["links"]
    assert {"a": "left", "b": "right", "rate": "2000000000bps", "delay": "500000000000ps"} in links


def test_network_to_networkx() -> None:
    nx = pytest.importorskip("networkx")
    topology = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 2, "rate": "1Gbps", "delay": "1us"}
    traffic = [{"kind": "bulk", "transport": "t", "from": "h0", "to": "h3"}]
    result = weft.run({**SPEC, "topology": topology, "traffic": traffic})
    made = interop.topology_to_networkx(result)
    assert made.number_of_edges() == result.links.height
    kinds = dict(made.nodes(data="type"))
    assert sorted(name for name, kind in kinds.items() if kind == "host") == ["h0", "h1", "h2", "h3"]
    assert len(kinds) == 8
    assert len(list(nx.all_shortest_paths(made, "h0", "h3"))) == 2
    assert max(value for _, _, value in made.edges(data="utilisation")) > 0.5
    back = interop.topology_from_networkx(nx.DiGraph([(a, b) for a, b in made.edges()]), rate="1Gbps", delay="1us")
    assert len(back["links"]) * 2 == result.links.height


FLOWS = {"from": ["h0", "h1"], "to": ["r0", "r0"], "size_bytes": [50_000, 2_000], "start_s": [0.0, 0.001]}
MANY_TO_ONE = {"kind": "many-to-one", "senders": 2, "rate": "1Gbps", "delay": "5us"}


def replayed(file: Path) -> pl.DataFrame:
    traffic = [{"kind": "flow-list", "transport": "t", "file": str(file)}]
    return weft.run({**SPEC, "topology": MANY_TO_ONE, "traffic": traffic}).flows


WHOLE = "allowed: whole numbers from 1 to 1000000000000"


def test_flows_from_frames_and_parquet(tmp_path: Path) -> None:
    frame = pl.DataFrame(FLOWS)
    frame.with_columns(note=pl.lit("any")).write_parquet(tmp_path / "flows.parquet")
    given: dict[str, Any] = {"polars": frame, "parquet": tmp_path / "flows.parquet"}
    for name, flows in given.items():
        file = interop.write_flow_list(flows, tmp_path / f"{name}.csv")
        found = replayed(file)
        assert found.select(FLOWS.keys()).to_dict(as_series=False) == FLOWS
        assert found["fct_s"].null_count() == 0


def test_flows_from_pandas(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    file = interop.write_flow_list(pandas.DataFrame(FLOWS), tmp_path / "pandas.csv")
    assert pl.read_csv(file).to_dict(as_series=False) == FLOWS


def test_flows_without_a_size_are_empty_or_nan(tmp_path: Path) -> None:
    for name, size in (("null", None), ("nan", float("nan"))):
        frame = pl.DataFrame(FLOWS | {"size_bytes": [50_000.0, size]})
        file = interop.write_flow_list(frame, tmp_path / f"{name}.csv")
        assert file.read_text().splitlines()[1:] == ["h0,r0,50000,0.0", "h1,r0,,0.001"]
        assert replayed(file)["size_bytes"].to_list() == [50_000, None]


def test_flows_without_a_size_from_pandas(tmp_path: Path) -> None:
    """The frame has NaN for the missing size and floats for the others; a file that pandas writes is read as well."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(FLOWS | {"size_bytes": [50_000, None]})
    file = interop.write_flow_list(frame, tmp_path / "pandas.csv")
    assert pl.read_csv(file)["size_bytes"].to_list() == [50_000, None]
    frame.to_csv(tmp_path / "own.csv", index=False)
    assert "50000.0" in (tmp_path / "own.csv").read_text()
    for written in (file, tmp_path / "own.csv"):
        assert replayed(written)["size_bytes"].to_list() == [50_000, None]


def test_flows_of_a_run_are_replayed(tmp_path: Path) -> None:
    traffic = [{"kind": "incast", "transport": "t", "flows": 2, "size": "20KB", "gap": "50us"}]
    first = weft.run({**SPEC, "topology": MANY_TO_ONE, "traffic": traffic}).flows
    second = replayed(interop.write_flow_list(first, tmp_path / "again.csv"))
    columns = ("from", "to", "size_bytes", "start_s")
    assert first.select(columns).equals(second.select(columns))


@pytest.mark.parametrize(
    ("flows", "line"),
    [
        ({"from": ["h0"]}, "flows: no column 'to'; allowed: columns from, to, size_bytes, start_s"),
        (FLOWS | {"size_bytes": ["a", "b"]}, "flows: column 'size_bytes' has String; allowed: numbers"),
        (FLOWS | {"start_s": [-1.0, 0.0]}, "flows: column 'start_s' has -1; allowed: numbers from 0 to 1000000"),
        (FLOWS | {"start_s": [0.0, 2e6]}, "flows: column 'start_s' has 2e+06; allowed: numbers from 0 to 1000000"),
        (
            FLOWS | {"start_s": [0.0, float("nan")]},
            "flows: column 'start_s' has empty values; set a value for each flow",
        ),
        *(
            (FLOWS | {"size_bytes": [1, wrong]}, f"flows: column 'size_bytes' has {wrong:g}; {WHOLE}")
            for wrong in (0, -5, 10**13)
        ),
        (FLOWS | {"size_bytes": [1.0, 5.5]}, f"flows: column 'size_bytes' has 5.5; {WHOLE}"),
        (FLOWS | {"from": ["h0", None]}, "flows: column 'from' has empty values; set a value for each flow"),
    ],
)
def test_wrong_flows(tmp_path: Path, flows: dict[str, list[Any]], line: str) -> None:
    with pytest.raises(weft.UsageError) as raised:
        interop.write_flow_list(pl.DataFrame(flows), tmp_path / "flows.csv")
    assert str(raised.value) == line
    assert list(tmp_path.iterdir()) == []


def test_wrong_sources_and_files(tmp_path: Path) -> None:
    with pytest.raises(weft.UsageError, match=r"^flows: int; allowed: a frame of Polars or pandas"):
        interop.write_flow_list(3, tmp_path / "flows.csv")
    with pytest.raises(weft.UsageError, match=r"none\.parquet: cannot read: .*; pass a Parquet file$"):
        interop.write_flow_list(tmp_path / "none.parquet", tmp_path / "flows.csv")
    with pytest.raises(weft.UsageError, match=r"does not end in \.csv"):
        interop.write_flow_list(pl.DataFrame(FLOWS), tmp_path / "flows.txt")
    (tmp_path / "flows.csv").touch()
    with pytest.raises(weft.OutputError, match="exists"):
        interop.write_flow_list(pl.DataFrame(FLOWS), tmp_path / "flows.csv")


def test_iperf3(tmp_path: Path) -> None:
    stream = {"socket": 5, "start": 0, "end": 1.0, "seconds": 1.0, "bytes": 125_000_000, "bits_per_second": 1e9}
    sender = stream | {"retransmits": 3, "snd_cwnd": 14480, "rtt": 250}
    file = tmp_path / "iperf3.json"
    file.write_text(json.dumps({"start": {}, "intervals": [{"streams": [sender]}, {"streams": [stream]}], "end": {}}))
    found = interop.read_iperf3(file)
    assert found.row(0) == (5, 0.0, 1.0, 125_000_000, 1e9, 3, 14480, 250e-6)
    assert found.row(1) == (5, 0.0, 1.0, 125_000_000, 1e9, None, None, None)


NSTAT, SS = shutil.which("nstat"), shutil.which("ss")


@pytest.mark.skipif(NSTAT is None, reason="no nstat")
def test_nstat(tmp_path: Path) -> None:
    command = [NSTAT or "", "--json", "--zeros", "--noupdate"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True)
    (tmp_path / "nstat.json").write_text(printed.stdout)
    found = interop.read_nstat(tmp_path / "nstat.json")
    assert {"TcpRetransSegs", "TcpOutSegs"} <= set(found["counter"])
    assert found.schema == {"counter": pl.String, "value": pl.Int64}


SOCKETS = """\
ESTAB 0      0      10.0.0.1:5001  10.0.0.2:40000 users:(("iperf3",pid=1,fd=5))
\t dctcp wscale:7,7 rto:204 rtt:0.25/0.1 ato:40 mss:1448 cwnd:10 ssthresh:7 bytes_acked:100 bytes_received:200 \
send 463Mbps pacing_rate 926.7Mbps delivery_rate 1.2Gbps retrans:0/4 minrtt:0.2
LISTEN 0 128 [::]:22 [::]:*
"""


def test_ss(tmp_path: Path) -> None:
    (tmp_path / "ss.txt").write_text(SOCKETS)
    first, second = interop.read_ss(tmp_path / "ss.txt").rows(named=True)
    assert first == {
        "state": "ESTAB",
        "local": "10.0.0.1:5001",
        "peer": "10.0.0.2:40000",
        "cc": "dctcp",
        "cwnd": 10,
        "ssthresh": 7,
        "mss": 1448,
        "bytes_acked": 100,
        "bytes_received": 200,
        "retransmits": 4,
        "rtt_s": 0.25e-3,
        "minrtt_s": 0.2e-3,
        "rto_s": 0.204,
        "delivery_rate_bps": 1.2e9,
        "pacing_rate_bps": pytest.approx(926.7e6),
    }
    assert (second["state"], second["local"], second["cwnd"]) == ("LISTEN", "[::]:22", None)


@pytest.mark.skipif(SS is None, reason="no ss")
def test_ss_of_this_machine(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        filtered = [SS or "", "--tcp", "--info", "--no-header", "sport", "=", f":{client.getsockname()[1]}"]
        printed = subprocess.run(filtered, check=True, capture_output=True, text=True)
    (tmp_path / "ss.txt").write_text(printed.stdout)
    (row,) = interop.read_ss(tmp_path / "ss.txt").rows(named=True)
    assert row["state"] == "ESTAB"
    assert row["cwnd"] >= 1
    assert row["cc"]


@pytest.mark.parametrize("read", [interop.read_iperf3, interop.read_nstat, interop.read_ss])
@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"kernel": 3}', '{"intervals": [{}]}', "nonsense\n", "\udcff"])
def test_wrong_measurements(tmp_path: Path, read: Any, text: str) -> None:
    file = tmp_path / "file"
    file.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(weft.UsageError) as raised:
        read(file)
    line = str(raised.value)
    assert line.startswith(f"{file}: ")
    assert len(line.splitlines()) == 1


@pytest.mark.parametrize("read", [interop.read_iperf3, interop.read_nstat, interop.read_ss])
def test_missing_measurements(tmp_path: Path, read: Any) -> None:
    with pytest.raises(weft.UsageError) as raised:
        read(tmp_path / "none")
    assert str(raised.value) == f"{tmp_path / 'none'}: cannot read: No such file or directory; pass a text file"
