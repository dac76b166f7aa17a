"""A spec is either an experiment that runs, or one line that says what is wrong, whatever its values."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import weft
from tests.command import INCAST
from weft import _weft

PLACES = [
    "name",
    "duration",
    "seed",
    "topology",
    "topology.kind",
    "topology.senders",
    "topology.rate",
    "topology.delay",
    "queues.limit",
    "queues.mark",
    "queues.host.limit",
    "transports",
    "transports.dctcp.cc",
    "transports.dctcp.cc.name",
    "transports.dctcp.cc.g",
    "transports.dctcp.subflows",
    "transports.dctcp.tcp.mss",
    "transports.dctcp.tcp.initial_cwnd",
    "transports.dctcp.tcp.min_rto",
    "transports.dctcp.tcp.receive_buffer",
    "traffic",
    "traffic[0]",
    "traffic[0].kind",
    "traffic[0].flows",
    "traffic[0].size",
    "traffic[0].gap",
    "traffic[0].to",
    "traffic[0].from",
    "probes",
    "probes[0].at",
]
UNITS = ["", "s", "us", "ps", "Gbps", "bps", "KB", "B", "TiB", "packets", " packets"]
quantities = st.tuples(st.one_of(st.integers(-3, 2**66), st.floats()), st.sampled_from(UNITS))
values = st.one_of(
    quantities.map(lambda row: f"{row[0]}{row[1]}"),
    st.recursive(
        st.one_of(st.booleans(), st.integers(-(2**63), 2**63 - 1), st.text(max_size=20)),
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
        max_leaves=5,
    ).map(json.dumps),
    st.sampled_from(["amp", "off", "all", "h0", "0..3", "3..0", "bulk", "fat-tree", "permutation", "unlimited"]),
)


def check_line(line: str, words: str) -> None:
    assert words in line
    assert "\n" not in line
    assert "\r" not in line
    assert len(line) < 1000


def check(text: str, overrides: list[str]) -> None:
    try:
        experiment = _weft.Experiment.parse(text, overrides)
    except weft.SpecError as error:
        check_line(str(error), "; ")
    else:
        spec: dict[str, Any] = json.loads(experiment.spec())
        assert json.loads(_weft.Experiment.parse(json.dumps(spec)).spec()) == spec
        try:
            experiment.run(on_progress=lambda _: False)
        except weft.RunError as error:
            check_line(str(error), "cannot be simulated")


@given(st.lists(st.tuples(st.sampled_from(PLACES), values), min_size=1, max_size=3))
@settings(max_examples=400)
def test_overrides(changes: list[tuple[str, str]]) -> None:
    check(INCAST, [f"{path}={value}" for path, value in changes])


@given(st.text())
@example("topology = 1979-05-27T07:32:00Z")
@example("[topology]\n[topology]")
@example("{" * 1000)
@example("a = " + "[" * 1000)
@example(INCAST.replace("4", "nan"))
@example(INCAST.replace("4", "1e400"))
def test_text(text: str) -> None:
    check(text, [])


@given(st.integers(0, len(INCAST) - 1), st.text(max_size=3))
@settings(max_examples=300)
def test_one_slip_of_the_pen(offset: int, slip: str) -> None:
    check(INCAST[:offset] + slip + INCAST[offset + 1 :], [])


@given(st.text(max_size=30))
def test_any_override(override: str) -> None:
    check(INCAST, [override])


def test_deep_text_is_refused() -> None:
    with pytest.raises(weft.SpecError):
        _weft.Experiment.parse("a = " + "[" * 100_000)
