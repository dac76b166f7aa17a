"""Packets as pcapng: what tshark makes of them."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from pathlib import Path

import polars as pl
import pytest

import weft
from tests.command import weft as command
from weft.trace.options import Key

TSHARK = shutil.which("tshark")
needs_tshark = pytest.mark.skipif(TSHARK is None, reason="no tshark: apt-get install tshark")

SPEC = """\
name = "four"
duration = "80ms"
topology = { kind = "many-to-one", senders = 3, rate = "1Gbps", delay = "5us" }
queues = { limit = "30 packets", mark = "10 packets" }
transports.amp = { cc = "amp", subflows = 4, tcp = { min_rto = "5ms" } }
transports.reno.cc = "reno"
transports.dctcp.cc = "dctcp"
traffic = [
  { kind = "bulk", transport = "amp", pairs = [["h0", "r0"]], size = "20MB" },
  { kind = "bulk", transport = "reno", pairs = [["h1", "r0"]], size = "1MB" },
  { kind = "bulk", transport = "dctcp", pairs = [["h2", "r0"]], size = "5MB", count = 6, start = "5ms" },
]
"""


@pytest.fixture
def four(tmp_path: Path) -> Path:
    """One connection of four subflows that are suppressed, and others of one subflow; one of them loses packets."""
    path = tmp_path / "four.toml"
    path.write_text(SPEC)
    return path


FIELDS = {
    "capture_point": "frame.interface_name",
    "time": "frame.time_epoch",
    "malformed": "_ws.malformed",
    "severity": "_ws.expert.severity",
    "message": "_ws.expert.message",
    "connection": "mptcp.stream",
    "subflow": "tcp.stream",
    "bytes": "tcp.len",
    "from": "tcp.srcport",
    "syn": "tcp.flags.syn",
    "acks": "tcp.flags.ack",
    "again": "tcp.analysis.retransmission",
    "data_ack": "mptcp.ack",
    "mapped": "mptcp.dss.dsn",
    "options": "tcp.options.mptcp.subtype",
    "clock": "tcp.options.timestamp.tsval",
    "sack": "tcp.options.sack.count",
    "ecn": "ip.dsfield.ecn",
    "ip_checksum": "ip.checksum.status",
    "tcp_checksum": "tcp.checksum.status",
}
WARNING = 0x600000
OUT_OF_ORDER = "This frame is a (suspected) out-of-order segment"
TRUE = {"1", "True"}
UNSUPPRESSED = {("amp-2019", 1)}
"""Profiles and seeds with which the connection uses all subflows throughout."""


def decoded(file: Path) -> list[dict[str, str]]:
    """The fields of each packet, as tshark decodes them."""
    assert TSHARK is not None
    chosen = [word for name in FIELDS.values() for word in ("-e", name)]
    checks = ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"]
    line = [TSHARK, "-n", *checks, "-r", str(file), "-T", "fields", *chosen]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    return [dict(zip(FIELDS, row.split("\t"), strict=True)) for row in done.stdout.splitlines()]


def warned(packet: dict[str, str]) -> bool:
    """Whether tshark warns of the packet."""
    return any(int(word) >= WARNING for word in packet["severity"].split(",") if word)


@needs_tshark
@pytest.mark.parametrize(
    ("profile", "seed"),
    # With seed 1 and profile `linux`, nothing is lost.
    [
        (profile, seed)
        for profile in ("linux", "amp-2019")
        for seed in (1, 2, 3, 4, 5)
        if (profile, seed) != ("linux", 1)
    ],
)
def test_a_host_sees_one_connection_of_four_subflows(four: Path, profile: str, seed: int) -> None:
    sets = [f"transports.{value}.profile={profile}" for value in ("amp", "reno", "dctcp")]
    probes = 'probes=[{ kind = "packets", at = ["h0"] }, { kind = "flow" }]'
    result = weft.run(weft.load(four, [probes, "traffic[0].size=2MB", "duration=200ms", *sets]), seed=seed)
    flow = result.flows.row(0, named=True)
    assert flow["retransmitted"] > 0
    suppresses = (profile, seed) not in UNSUPPRESSED
    assert (result.suppressions.height > 0) == suppresses
    file = four.parent / "h0.pcapng"
    written = weft.trace.write(result, file)
    packets = decoded(file)
    assert len(packets) == written.packets["h0"]
    assert [
        packet for packet in packets if packet["malformed"] or (warned(packet) and packet["message"] != OUT_OF_ORDER)
    ] == []
    # Data that comes again within the handshake's RTT after newer data, before a second duplicate acknowledgement, is
    # out of order to tshark. A capture at the sender holds no such packet, only retransmissions.
    # Here they are RACK's, which finds losses by time, so that one duplicate can be enough (RFC 8985, 6.2, step 5).
    again = [packet["time"] for packet in packets if packet["again"] or packet["message"] == OUT_OF_ORDER]
    delay_ns = 5_000
    sent_again = result.packets.filter("retransmission")["time_s"] * 1e9 - delay_ns
    assert again == [f"0.{time:09}" for time in sorted(sent_again.round().cast(pl.Int64))]
    assert len(again) == flow["retransmitted"]
    assert {packet["connection"] for packet in packets if packet["connection"]} == {"0"}
    assert len({packet["subflow"] for packet in packets}) == 4
    # Where payload is left out, tshark cannot check TCP's.
    assert {packet["ip_checksum"] for packet in packets} == {"1"}
    assert {packet["tcp_checksum"] for packet in packets if packet["bytes"] == "0"} == {"1"}
    # tshark counts as the simulator does.
    assert len([packet for packet in packets if packet["bytes"] != "0"]) == flow["packets_sent"]
    # Data is acknowledged to its end, a DATA_FIN included, in numbers relative to the first that the keys give.
    acked = [
        int(packet["data_ack"].split(",")[0]) for packet in packets if packet["from"] == "5001" and packet["data_ack"]
    ]
    assert max(acked) == 2_000_000 + 2
    assert any(packet["mapped"] for packet in packets)
    # A join differs from a new connection by its token; priorities change where subflows are suppressed.
    syns = [packet["options"] for packet in packets if packet["syn"] in TRUE and packet["acks"] not in TRUE]
    assert sorted(syns) == ["0", "1", "1", "1"]
    assert any("5" in packet["options"].split(",") for packet in packets) == suppresses
    assert any(packet["clock"] for packet in packets) == (profile == "linux")


@needs_tshark
def test_a_receiver_sees_gaps_where_packets_were_lost(four: Path) -> None:
    done = command("trace", four.name, "--at", "r0", "--out", "r0.pcapng", "--json", cwd=four.parent)
    assert done.code == 0, done
    packets = decoded(four.parent / "r0.pcapng")
    assert len(packets) == done.document["packets"]["r0"] > 1000
    severe = [packet["message"] for packet in packets if warned(packet)]
    assert [packet for packet in packets if packet["malformed"]] == []
    assert severe
    assert all("out-of-order" in message or "Previous segment(s) not captured" in message for message in severe)


@needs_tshark
def test_a_link_has_marks_and_selective_acknowledgements(four: Path) -> None:
    probes = 'probes=[{ kind = "packets", at = ["s0->r0", "s0->h1"] }]'
    result = weft.run(weft.load(four, [probes]))
    file = four.parent / "links.pcapng"
    written = weft.trace.write(result, file)
    packets = decoded(file)
    forward, back = (result.packets.filter(link=_link(result, "s0", end)) for end in ("r0", "h1"))
    assert written.packets == {"s0->r0": forward.height, "s0->h1": back.height}
    marked = [packet for packet in packets if packet["capture_point"] == "s0->r0" and packet["ecn"] == "3"]
    assert len(marked) == forward["ce"].sum() > 0
    sacked = [packet for packet in packets if packet["capture_point"] == "s0->h1" and packet["sack"]]
    assert len(sacked) == back.drop_nulls("sack_to").height > 0


def _link(result: weft.Result, start: str, end: str) -> int:
    found = result.links.filter(pl.col("from") == start, pl.col("to") == end)["link"]
    return int(found[0])


def test_packets_are_those_that_links_count(four: Path) -> None:
    probes = 'probes=[{ kind = "packets", at = ["h0", "s0->r0", "r0"] }]'
    result = weft.run(weft.load(four, [probes]), trace_hash=True)
    links = dict(result.links.select("link", "delivered_packets").iter_rows())
    counts = dict(result.packets.group_by("link").len().iter_rows())
    assert len(counts) == 4
    assert counts == {link: links[link] for link in counts}
    data = result.packets.filter(kind="data", link=_link(result, "s0", "r0"))
    received = (
        result.subflows.group_by("flow").agg(pl.col("packets_received").sum()).filter(pl.col("packets_received") > 0)
    )
    assert dict(data.group_by("flow").len().iter_rows()) == dict(received.iter_rows())
    # The capture does not change the run.
    plain = weft.run(weft.load(four), trace_hash=True)
    assert plain.manifest["trace_hash"] == result.manifest["trace_hash"]
    assert plain.packets.is_empty()
    one, two = (weft.run(weft.load(four, [probes]), threads=threads).packets for threads in (1, 2))
    assert one.equals(two)


def test_file_is_pcapng(four: Path) -> None:
    """Blocks fit one into another, and times are in nanoseconds and rise."""
    done = command(
        "trace", four.name, "--at", "r0", "--set", "traffic[2].start=1ms", "--set", "duration=2ms", cwd=four.parent
    )
    assert done.code == 0, done
    data = (four.parent / "four.pcapng").read_bytes()
    kinds, times, offset = [], [], 0
    while offset < len(data):
        kind, length = struct.unpack_from("<II", data, offset)
        assert struct.unpack_from("<I", data, offset + length - 4) == (length,)
        if kind == 6:
            high, low = struct.unpack_from("<II", data, offset + 12)
            times.append(high << 32 | low)
        kinds.append(kind)
        offset += length
    assert kinds[:3] == [0x0A0D0D0A, 4, 1]
    assert set(kinds[3:]) == {6}
    assert times == sorted(times)
    assert times[-1] < 2_000_000


def test_folder_of_a_run_is_traced(four: Path) -> None:
    probes = 'probes=[{ kind = "packets", at = ["r0", "h1"] }]'
    assert command("run", four.name, "--set", probes, "--out", "run", cwd=four.parent).code == 0
    done = command("trace", "run", "--json", cwd=four.parent)
    assert list(done.document["packets"]) == ["r0", "h1"]
    assert Path(four.parent, "run.pcapng").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["four.toml"], "no links to record"),
        (["four.toml", "--at", "h9"], "'h9'"),
        (["four.toml", "--at", "h0->r0"], "has no link to"),
        (["four.toml", "--at", "h0", "--out", "four.toml"], "exists already"),
        (["four.toml", "--at", "h0", "--out", "nowhere/x.pcapng"], "cannot create"),
        (["."], "manifest.json"),
        ([".", "--at", "h0"], "a run folder, whose packets"),
        (["nobody.toml", "--at", "h0"], "cannot be read"),
        (["four.toml", "--at", "h0", "--set", 'level="flow"'], "flow"),
    ],
)
def test_bad_input(four: Path, arguments: list[str], words: str) -> None:
    complaint = command("trace", *arguments, cwd=four.parent).complaint()
    assert words in complaint.replace('"', "'")
    assert re.search("; (allowed:|use|pass|add) ", complaint) or words == "cannot be read"


PAUSED = """\
name = "paused"
duration = "3ms"
topology = { kind = "leaf-spine", leaves = 2, spines = 2, hosts_per_leaf = 6, rate = "1Gbps", delay = "5us" }
queues = { limit = "20KB", kind = { name = "lossless", classes = 2 } }
transports.low = { cc = "cubic", class = 1 }
transports.high.cc = "cubic"
traffic = [
  { kind = "bulk", transport = "low", from = "0..6", to = "h6" },
  { kind = "bulk", transport = "high", from = "0..6", to = "h7" },
]
probes = [{ kind = "packets", at = ["spine0->leaf0", "leaf0"] }]
"""
"""Two classes in which six hosts send to a host of the other leaf."""

PAUSE_FIELDS = {
    "capture_point": "frame.interface_name",
    "time": "frame.time_epoch",
    "malformed": "_ws.malformed",
    "warning": "_ws.expert.severity",
    "to": "eth.dst",
    "type": "eth.type",
    "length": "frame.len",
    "opcode": "macc.opcode",
    "enabled": "macc.cbfc.enbv",
    "paused_0": "macc.cbfc.pause_time.c0",
    "paused_1": "macc.cbfc.pause_time.c1",
}


@needs_tshark
def test_pause_frames_are_mac_control_frames(tmp_path: Path) -> None:
    path = tmp_path / "paused.toml"
    path.write_text(PAUSED)
    result = weft.run(weft.load(path))
    file = tmp_path / "paused.pcapng"
    written = weft.trace.write(result, file)
    recorded = result.pause_frames
    assert recorded["traffic_class"].n_unique() == 2
    assert recorded["time_s"].is_sorted()
    assert sum(written.packets.values()) == len(decoded(file))
    # A class is paused and released in turn.
    for _, rows in recorded.group_by("link", "traffic_class", maintain_order=True):
        assert rows["paused"].to_list() == [number % 2 == 0 for number in range(rows.height)]

    assert TSHARK is not None
    chosen = [word for name in PAUSE_FIELDS.values() for word in ("-e", name)]
    line = [TSHARK, "-n", "-r", str(file), "-Y", "macc", "-T", "fields", *chosen]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    frames = [dict(zip(PAUSE_FIELDS, row.split("\t"), strict=True)) for row in done.stdout.splitlines()]
    assert [frame for frame in frames if frame["malformed"] or frame["warning"]] == []
    same = {(frame["to"], frame["type"], frame["length"], int(frame["opcode"], 0)) for frame in frames}
    assert same == {("01:80:c2:00:00:01", "0x8808", "60", 0x0101)}

    link = _link(result, "spine0", "leaf0")
    seen = [
        (round(float(frame["time"]) * 1e9), int(frame["enabled"], 0), int(frame["paused_0"]), int(frame["paused_1"]))
        for frame in frames
        if frame["capture_point"] == "spine0->leaf0"
    ]
    expected: dict[int, list[int]] = {}
    for time, number, paused in recorded.filter(link=link).select("time_s", "traffic_class", "paused").iter_rows():
        values = expected.setdefault(round(time * 1e9), [0, 0, 0])
        values[0] |= 1 << number
        values[1 + number] = 0xFFFF if paused else 0
    assert seen == [(time, *values) for time, values in expected.items()]
    assert len(seen) > 10
    # The frames pause the link to the spine, whose pauses the table of links counts. The last frame of each class may
    # not have arrived.
    begun = recorded.filter("paused", link=link).height
    counted = result.links.filter(pl.col("from") == "leaf0", pl.col("to") == "spine0")["pauses"].sum()
    assert begun <= counted <= begun + 2


def test_no_probe_no_file(four: Path) -> None:
    with pytest.raises(weft.WeftError, match="no recorded packets"):
        weft.trace.write(weft.run(four), four.parent / "x.pcapng")
    assert not (four.parent / "x.pcapng").exists()


def test_token_and_first_data_are_parts_of_a_keys_hash() -> None:
    """The hash of eight zero bytes by `sha256sum` is af5570f5 a1810b7a ... e5b2328de0e83dfc."""
    zero = Key(bytes(8))
    assert zero.token.hex() == "af5570f5"
    assert zero.first_data == 0xE5B2328DE0E83DFC
