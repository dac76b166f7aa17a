"""Each row of `docs/reference/limitations.md` has a check that fails when Weft no longer lacks the thing.

A row that fails here has to leave the page, and other pages may then describe the thing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import weft
from weft import _weft

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reference" / "limitations.md"
COLUMNS = (ROOT / "crates" / "weft-run" / "src" / "tables" / "columns.md").read_text(encoding="utf-8")
RULES = (ROOT / "research" / "rules-of-rfcs.md").read_text(encoding="utf-8")
SCHEMA = json.loads(_weft.schema())
NAMES = {group: {entry["name"] for entry in entries} for group, entries in json.loads(_weft.registry()).items()}
OTHER_TRAFFIC = {name for name in SCHEMA["$defs"] if name.endswith("Traffic")} - {
    "CollectiveTraffic",
    "TraceTraffic",
    "TrainingTraffic",
}
"""Definitions of traffic whose flows are a connection each."""
TCP = {"cc": "dctcp"}

Check = Callable[[], bool]
"""Returns whether the thing is still missing."""


def fields(*definitions: str) -> set[str]:
    """The fields of definitions of the schema, by default of all."""
    chosen = [SCHEMA["$defs"][name] for name in definitions] or [SCHEMA, *SCHEMA["$defs"].values()]
    return {field for definition in chosen for field in definition.get("properties", {})}


def no_field(pattern: str, *definitions: str) -> Check:
    return lambda: not any(re.search(pattern, field) for field in fields(*definitions))


def no_name(pattern: str) -> Check:
    """No name of the registries matches the pattern."""
    known = set().union(*NAMES.values())
    return lambda: not any(re.fullmatch(pattern, name, re.IGNORECASE) for name in known)


def only(definition: str, field: str, *values: str) -> Check:
    """A field allows these values and no others."""
    return lambda: set(values) == set(re.findall(r'"([a-z-]+)"', json.dumps(choices(definition, field))))


def choices(definition: str, field: str) -> list[str]:
    """The values that a field allows."""
    schema = SCHEMA["$defs"][definition]["properties"][field]
    for arm in schema.get("anyOf", [schema]):
        if "oneOf" in arm:
            return [value["const"] for value in arm["oneOf"]]
        if "$ref" in arm:
            return [value["const"] for value in SCHEMA["$defs"][arm["$ref"].rsplit("/", 1)[1]]["oneOf"]]
    raise ValueError(field)


def no_column(text: str) -> Check:
    return lambda: f"`{text}`" not in COLUMNS


def departs(rfc: int, section: str, state: str = "not modelled") -> Check:
    """A rule of an RFC has a state in the list of rules."""
    (rules,) = re.findall(rf"^## RFC {rfc}:.*?(?=^## |\Z)", RULES, re.DOTALL | re.MULTILINE)
    found = re.findall(rf"^\| {re.escape(section)} \|.*?\| (\w[\w ]*) \|[^|]*\|$", rules, re.MULTILINE)
    assert found, (rfc, section)
    return lambda: state in found


def spec(transport: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A spec of one flow."""
    return {
        "name": "missing",
        "duration": "1ms",
        "topology": {"kind": "many-to-one", "senders": 2, "rate": "10Gbps", "delay": "1us"},
        "queues": {"limit": "100 packets"},
        "transports": {"one": transport},
        "traffic": [{"kind": "bulk", "transport": "one", "from": 0, "to": 1}],
        **changes,
    }


def refused(transport: dict[str, Any], message: str, **changes: Any) -> Check:
    """A spec is refused with a message, and the same spec without the changes is accepted."""

    def check() -> bool:
        try:
            _weft.Experiment.parse(json.dumps(spec(transport, **changes)))
        except weft.SpecError as error:
            return re.search(message, str(error)) is not None
        return False

    return check


def list_refused(text: str) -> Check:
    """A flow list is refused."""

    def check() -> bool:
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "flows.cm").write_text(text, encoding="utf-8")
            traffic = [{"kind": "flow-list", "transport": "one", "file": "flows.cm"}]
            with pytest.raises(weft.SpecError, match="opens the flow of line 5 at another host"):
                _weft.Experiment.parse(json.dumps(spec(TCP, traffic=traffic)), [], Path(folder))
        return True

    return check


def every(*checks: Check) -> Check:
    """All parts of a row are missing."""
    return lambda: all(check() for check in checks)


def no_class(pattern: str) -> Check:
    """The Python package has no class to derive from whose name contains the pattern."""
    return lambda: not any(re.search(pattern, name) for name in weft.__all__)


BETWEEN_HOSTS = """\
Nodes 3
Connections 2
Triggers 1
0->2 id 1 start 0 size 1000 send_done_trigger 1
1->2 id 2 trigger 1 size 1000
trigger id 1 oneshot
"""
"""A flow of host 1 that starts when one of host 0 is done."""

MISSING: dict[str, Check] = {
    "BBR, PowerTCP, Vegas": every(
        no_name(".*(bbr|powertcp|(?<!w)vegas).*"),
        only("Roce", "control", "dcqcn", "timely", "patched-timely", "hpcc", "none"),
    ),
    "EQDS, Homa, QUIC, SCTP": no_name(".*(eqds|homa|quic|sctp).*"),
    "negotiation of ECN": no_field("negotiat"),
    "receive buffers that tune themselves": no_field("auto_?tun|moderate"),
    "SO_SNDBUF, memory pressure": no_field("sndbuf|memory"),
    "several SACK blocks": no_column("sack_blocks"),
    "clock of timestamps": no_field("timestamp_|granularity|ticks", "ProfilePatch", "Transport", "Hosts"),
    "NewReno's heuristics, rules 3 and 4 of NextSeg": every(departs(6582, "4.1"), departs(6675, "4")),
    "RTO of 3 s after a lost SYN": departs(6298, "5, rule 5.7", "departed"),
    "addresses announced by MPTCP": departs(8684, "3.4"),
    "backup flags of MPTCP": departs(8684, "3.3.8", "departed"),
    "resets, fast close, fallback of MPTCP": every(departs(8684, "3.5"), departs(8684, "3.6"), departs(8684, "3.7")),
    "checksums of MPTCP": no_field("checksum"),
    "`ndp`: priorities of flows, time-wait state": no_field("priorit|time_wait", "Ndp"),
    "`uet`: probes": no_field("probe|sleek", "Uet"),
    "`roce`: queue pairs, messages, RETH, segments as bursts": no_field(
        "queue_pair|message|reth|burst", "Roce", "Timely"
    ),
    "`swift`: coupled subflows, delay at the sender's host": no_field("coupl|sender_time", "Swift"),
    "`constant-rate`: ECN, retransmissions, spraying": every(
        *(
            refused({"kind": "constant-rate", "rate": "1Gbps", **more}, "one.(cc|paths)")
            for more in ({"cc": "dctcp"}, {"paths": "rps"})
        ),
        no_field("ecn|retransmi", "Transport"),
    ),
    "wireless links, routing protocols": no_name(".*(wifi|wireless|ospf|bgp|routing).*"),
    "longer paths than the shortest, except in `bcube`": no_field("k_shortest|valiant|stretch"),
    "FQ-CoDel, PIE": every(
        *(refused(TCP, "does not model", queues={"limit": "9 packets", "kind": kind}) for kind in ("fq_codel", "pie"))
    ),
    "corrupted packets, losses in bursts": every(
        refused(TCP, "does not model corrupted packets", queues={"limit": "9 packets", "ber": 1e-9}),
        no_field("burst|gilbert|correlation", "LossyQueue"),
    ),
    "timers of pause frames": no_field("pause_time|quanta", "LosslessQueue"),
    "traffic classes at the NIC": no_field("class", "Hosts", "HostQueues"),
    "CPU time of hosts": no_field("cpu|processing", "Hosts"),
    "hosts that act on the state of their cables": no_field("carrier", "Hosts", "Event", "Transport"),
    "triggers of htsim between hosts": list_refused(BETWEEN_HOSTS),
    "traces of NCCL, stages of SimAI's tables": only("TraceTraffic", "format", "goal", "chakra", "simai"),
    "reduce, gather, scatter and barriers of Chakra": only(
        "CollectiveTraffic", "operation", "all-reduce", "reduce-scatter", "all-gather", "broadcast", "all-to-all"
    ),
    "several messages of other traffic over one connection": no_field("connections|persistent", *OTHER_TRAFFIC),
    "several ranks at one host": no_field("ranks_per_host", "CollectiveTraffic", "TraceTraffic"),
    "`weft sweep` with fields that vary in step": no_field("case|zip|together", "Sweep"),
    "path policies and traffic in Python": no_class("Path|Policy|Traffic|Pattern"),
}


def rows() -> list[str]:
    """The first cell of each row of the page's tables."""
    text = PAGE.read_text(encoding="utf-8")
    cells = re.findall(r"^\| (.+?) \|", text, re.MULTILINE)
    return [cell for cell in cells if cell != "missing"]


def test_every_row_has_a_check() -> None:
    assert rows() == list(MISSING)


@pytest.mark.parametrize("row", MISSING)
def test_is_still_missing(row: str) -> None:
    assert MISSING[row](), f"Weft has {row}: remove the row from {PAGE.relative_to(ROOT)}"


def test_the_checks_can_fail() -> None:
    assert not no_name("dctcp")()
    assert not no_name("round-robin")()
    assert not only("Roce", "control", "none")()
    assert not no_field("reinject")()
    assert not no_field("watchdog", "LosslessQueue")()
    assert not no_column("sack_from")()
    assert not no_class("Congestion")()
    assert not departs(5681, "3.2, step 1")()
    assert not refused(TCP, "")()


LACKS = re.compile(
    r"\bWeft(?:'s simulator)? (?:has (?:no|neither)|lacks|cannot|models (?:no|neither)"
    r"|does not (?:have|model|support|simulate|implement))\b"
    r"|\b(?:is|are) not (?:modelled|supported|simulated|implemented)\b",
    re.IGNORECASE,
)
"""Words by which a page says that Weft lacks something."""
POINTER = re.compile(r"\[[^]]*\]\([^)]*limitations\.md[^)]*\)")
"""A link to the page, whose text may say what is on it."""
PAGES = [
    ROOT / "README.md",
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if page != PAGE and "contributing" not in page.parts),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_other_page_says_that_weft_lacks_something(page: Path) -> None:
    text = POINTER.sub("", " ".join(page.read_text(encoding="utf-8").split()))
    assert [text[max(found.start() - 60, 0) : found.end() + 40] for found in LACKS.finditer(text)] == []


def test_such_a_statement_is_found() -> None:
    assert LACKS.search("Weft has no routing protocols.")
    assert LACKS.search("Probes are not modelled.")
    assert not LACKS.search(POINTER.sub("", "[what Weft lacks](limitations.md)"))
    assert not LACKS.search("Queues of kind `lossless` have priority flow control.")
