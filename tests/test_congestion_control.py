"""Congestion control written in Python."""

from __future__ import annotations

import _thread
import importlib.util
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar

import pytest

import weft
from weft.api import registry

EXAMPLE = Path(__file__).parent.parent / "examples" / "amp.py"


def scene(cc: object, **changes: Any) -> dict[str, Any]:
    """Bulk multipath connections, an incast that drives some of them into timeouts, and competing DCTCP flows."""
    spec: dict[str, Any] = {
        "name": "scene",
        "duration": "60ms",
        "topology": {"kind": "many-to-one", "senders": 8, "rate": "10Gbps", "delay": "2us"},
        "queues": {"limit": "40 packets", "mark": "10 packets"},
        "transports": {"own": {"cc": cc, "subflows": 4, "tcp": {"min_rto": "2ms"}}, "dctcp": {"cc": "dctcp"}},
        "traffic": [
            {"kind": "bulk", "transport": "own", "pairs": [["h0", "r0"]]},
            {
                "kind": "incast",
                "transport": "own",
                "flows": 8,
                "size": "256KB",
                "gap": "5us",
                "interval": "8ms",
                "rounds": 6,
            },
            {"kind": "bulk", "transport": "dctcp", "pairs": [["h2", "r0"]]},
        ],
    }
    return spec | changes


def amp() -> type[weft.CongestionControl]:
    """The worked example."""
    spec = importlib.util.spec_from_file_location("amp", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: type[weft.CongestionControl] = module.Amp
    return found


def test_all_subflows_inactive_is_a_warning() -> None:
    class Silent(weft.CongestionControl):
        """Deactivates every subflow at its first acknowledgement."""

        name = "silent"

        def on_ack(self, w: Any, s: int, _: Any) -> None:
            w[s].active = False

    traffic = [{"kind": "incast", "transport": "own", "flows": 8, "size": "1MB"}]

    def silent(transport: dict[str, Any]) -> weft.Result:
        return weft.run(scene(Silent, traffic=traffic, transports={"own": {"cc": Silent, **transport}}))

    for transport in ({"subflows": 1}, {"subflows": 2, "scheduler": "round-robin"}):
        with pytest.warns(weft.ResultWarning, match="8 flows could not send at the end.*keep one subflow"):
            result = silent(transport)
        assert result.flows["fct_s"].null_count() == 8
    # Linux's scheduler sends on inactive subflows if all are inactive.
    result = silent({"subflows": 2})
    assert (result.flows["fct_s"].null_count(), result.manifest["warnings"]) == (0, [])


def test_example_is_short() -> None:
    assert len([line for line in EXAMPLE.read_text().splitlines() if line.strip()]) < 60


@pytest.mark.parametrize("profile", ["linux", "amp-2019"])
@pytest.mark.parametrize("seed", [1, 2])
def test_example_is_amp_packet_for_packet(profile: str, seed: int) -> None:
    def run(cc: object) -> weft.Result:
        spec = scene(cc)
        spec["transports"]["own"]["profile"] = profile
        spec["transports"]["dctcp"]["profile"] = profile
        return weft.run(spec, seed=seed, trace_hash=True, threads=1)

    ours, native = run(amp()), run("amp")
    assert native.manifest["counters"]["timeouts"] > 0, "of the rarer events, too"
    assert native.suppressions.height > 0
    assert ours.manifest["trace_hash"] == native.manifest["trace_hash"]
    assert ours.flows.equals(native.flows)
    assert ours.manifest["spec"]["transports"]["own"]["cc"] == {"name": "Amp"}
    assert ours.manifest["threads"] == 1


class Plain(weft.CongestionControl):
    """Reno with ECN, all native."""

    echo = "classic"


class Through(weft.CongestionControl):
    """The same by the base class's methods."""

    echo = "classic"

    def on_ack(self, w: Any, s: int, ack: Any) -> None:
        super().on_ack(w, s, ack)

    def on_mark(self, w: Any, s: int) -> None:
        super().on_mark(w, s)

    def on_loss(self, w: Any, s: int) -> None:
        super().on_loss(w, s)

    def on_timeout(self, w: Any, s: int, first: bool) -> None:  # noqa: FBT001
        super().on_timeout(w, s, first)


def test_methods_that_are_not_overridden_are_reno() -> None:
    plain, through = (weft.run(scene(value), trace_hash=True).manifest for value in (Plain, Through))
    assert plain["counters"]["timeouts"] > 0
    assert plain["counters"]["marks"] > 0
    assert plain["trace_hash"] == through["trace_hash"]
    assert weft.run(scene("reno"), trace_hash=True).manifest["trace_hash"] != plain["trace_hash"], "which has no ECN"


def test_without_an_echo_packets_are_not_ecn_capable() -> None:
    class Unset(weft.CongestionControl):
        name = "unset"

    class Off(weft.CongestionControl):
        name = "unset"
        echo = "off"

    unset, off, native = (
        weft.run(scene(cc), trace_hash=True).manifest for cc in (Unset, Off, {"name": "reno", "rfc_growth": 1})
    )
    assert unset["trace_hash"] == off["trace_hash"] == native["trace_hash"]


def test_a_class_that_handles_marks_sets_an_echo() -> None:
    def on_mark(self: Any, w: Any, s: int) -> None:
        del self, w, s

    line = "Mine.echo: not set, and on_mark handles marks; allowed: off, classic, dctcp, count"
    with pytest.raises(weft.UsageError, match=line):
        type("Mine", (weft.CongestionControl,), {"on_mark": on_mark})
    # A class between this one and the base may set it.
    type("Mine", (Plain,), {"on_mark": on_mark})


@pytest.mark.parametrize("event", ["on_ack", "on_round"])
def test_a_class_that_reads_marks_sets_an_echo(event: str) -> None:
    seen: list[int] = []

    def read(self: Any, w: Any, s: int, observed: Any) -> None:
        del self, w, s
        seen.append(observed.marked)

    mine = type("Mine", (weft.CongestionControl,), {event: read})
    with pytest.raises(ValueError, match=r'marked: the class does not set `echo`.*; set echo to "classic", '):
        weft.run(scene(mine))
    assert seen == []
    for echo, is_marked in (("off", False), ("count", True)):
        seen.clear()
        weft.run(scene(type("Mine", (weft.CongestionControl,), {event: read, "echo": echo})))
        assert any(seen) == is_marked


def test_an_object_in_place_of_its_class(spec: Path) -> None:
    line = "cc: an object of the class Plain; pass the class Plain itself"
    with pytest.raises(weft.SpecError, match=line):
        weft.run(scene(Plain()))
    experiment = weft.load(spec)
    with pytest.raises(weft.SpecError, match="cc"):
        experiment.transports["dctcp"].model_copy(update={"cc": Plain()})


class Sampled(weft.CongestionControl):
    """Reno that collects the RTT samples of its acknowledgements."""

    samples: ClassVar[list[float | None]] = []

    def on_ack(self, w: Any, s: int, ack: Any) -> None:
        super().on_ack(w, s, ack)
        self.samples.append(ack.rtt)


def test_an_acknowledgement_without_a_sample_has_no_rtt() -> None:
    """Without timestamps, an acknowledgement of a retransmission gives no sample (RFC 6298, section 3)."""
    Sampled.samples.clear()
    own = {"cc": Sampled, "tcp": {"min_rto": "2ms", "timestamps": False}}
    result = weft.run(scene(Sampled, transports={"own": own, "dctcp": {"cc": "dctcp"}}))
    assert result.flows["retransmitted"].sum() > 0
    assert None in Sampled.samples
    assert all(sample is None or sample >= 8e-6 for sample in Sampled.samples)


class Undoing(weft.CongestionControl):
    """Undoes only what the base class undoes, and counts how often."""

    undone: ClassVar[list[tuple[float, float]]] = []

    def on_undo(self, w: Any, s: int) -> None:
        self.undone.append((w[s].cwnd, w[s].prior_cwnd))
        super().on_undo(w, s)
        assert w[s].cwnd >= w[s].prior_cwnd


def test_a_spurious_timeout_is_undone_by_the_class() -> None:
    spec = {
        "name": "spurious",
        "duration": "4s",
        "topology": {"kind": "many-to-one", "senders": 1, "rate": "100Mbps", "delay": "10ms"},
        "queues": {"limit": "1000 packets", "mark": "100 packets"},
        "transports": {"own": {"cc": Undoing}},
        "traffic": [{"kind": "bulk", "transport": "own", "from": "h0", "to": "r0"}],
        "events": [
            {"at": "2s", "links": ["s0->r0"], "delay": "700ms", "bidirectional": False},
            {"at": "2.5s", "links": ["s0->r0"], "delay": "10ms", "bidirectional": False},
        ],
    }
    Undoing.undone.clear()
    weft.run(spec)
    ((cwnd, prior),) = Undoing.undone
    assert cwnd < prior / 2


class Witness(weft.CongestionControl):
    """Records its events."""

    echo = "dctcp"
    seen: Counter[str]
    acked: list[tuple[float, int]]
    made: list[int]

    def __init__(self) -> None:
        self.made[0] += 1

    def on_open(self, w: Any, s: int) -> None:
        assert w[s].established
        self.seen["open"] += 1

    def on_ack(self, w: Any, s: int, ack: Any) -> None:
        super().on_ack(w, s, ack)
        assert ack.rtt is None or w[s].min_rtt <= ack.rtt
        assert ack.marked <= max(ack.acked, 1)
        self.seen["ack"] += 1
        self.acked.append((ack.now, ack.acked))

    def on_round(self, w: Any, s: int, round: Any) -> None:  # noqa: A002
        assert round.marked <= round.acked
        assert len(w) > s
        self.seen["round"] += 1

    def on_close(self, w: Any, s: int) -> None:
        assert not w[s].established
        self.seen["close"] += 1

    def pacing_rate(self, w: Any, s: int) -> float | None:
        self.seen["pacing"] += 1
        return None if w[s].srtt == 0 else w[s].cwnd / w[s].srtt


def test_every_connection_has_an_object_and_every_event_arrives(spec: Path) -> None:
    Witness.seen, Witness.acked, Witness.made = Counter(), [], [0]
    experiment = weft.load(spec, ["transports.dctcp.subflows=2"])
    experiment.transports["dctcp"].cc = Witness
    result = weft.run(experiment)
    assert Witness.made == [4]
    assert result.flows["fct_s"].null_count() == 0
    assert Witness.seen["open"] == Witness.seen["close"] == 8
    assert Witness.seen["round"] > 8
    assert Witness.seen["pacing"] == result.flows["packets_sent"].sum()
    assert len(Witness.acked) == Witness.seen["ack"]
    assert all(0 < now < 0.05 for now, _ in Witness.acked)


class Paced(weft.CongestionControl):
    """Reno at 20,000 packets per second."""

    def pacing_rate(self, w: Any, s: int) -> float | None:  # noqa: ARG002
        return 20_000.0


def test_a_pace_alone_is_kept_from_the_first_packet_on() -> None:
    """Of 208 packets the first ten leave at once, the others 50 us apart."""
    flow = {"kind": "bulk", "transport": "own", "pairs": [["h0", "r0"]], "size": "300KB"}
    spec = scene(Paced, transports={"own": {"cc": Paced}}, traffic=[flow])
    (fct,) = weft.run(spec).flows["fct_s"]
    assert 198 * 50e-6 <= fct <= 210 * 50e-6


class NotPaced(weft.CongestionControl):
    """Reno with a pace that no packet can have."""

    rate = 0.0

    def pacing_rate(self, w: Any, s: int) -> float | None:  # noqa: ARG002
        return self.rate


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan")])
def test_a_pace_of_zero_is_refused(monkeypatch: pytest.MonkeyPatch, rate: float) -> None:
    monkeypatch.setattr(NotPaced, "rate", rate)
    with pytest.raises(ValueError, match=r"pacing_rate returned .*; return packets per second above 0, or None"):
        weft.run(scene(NotPaced))


class Fraction(weft.CongestionControl):
    """A constant window."""

    packets = 0.25
    rate: float | None = None

    def on_open(self, w: Any, s: int) -> None:
        w[s].cwnd = self.packets

    def on_ack(self, w: Any, s: int, ack: Any) -> None:
        del ack
        w[s].cwnd = self.packets

    def pacing_rate(self, w: Any, s: int) -> float | None:  # noqa: ARG002
        return self.rate


@pytest.mark.parametrize(("packets", "rate"), [(0.5, None), (0.25, None), (0.01, None), (0.25, 1_000.0)])
def test_a_window_below_one_is_a_packet_every_rtt_over_the_window(
    monkeypatch: pytest.MonkeyPatch, packets: float, rate: float | None
) -> None:
    monkeypatch.setattr(Fraction, "packets", packets)
    monkeypatch.setattr(Fraction, "rate", rate)
    spec = scene(
        Fraction,
        duration="420ms",
        measure={"start": "20ms", "stop": "420ms"},
        topology={"kind": "many-to-one", "senders": 1, "rate": "10Gbps", "delay": "50us"},
        transports={"own": {"cc": Fraction, "tcp": {"ack_every": 1}}},
        traffic=[{"kind": "bulk", "transport": "own", "from": "h0", "to": "r0"}],
        hosts={"jitter": "0s"},
    )
    # Two links with 50 us each way, a packet of 1,514 bytes and an acknowledgement of 66.
    rtt = 2 * (2 * 50e-6) + 2 * (1514 + 66) * 8 / 10e9
    expected = min(packets / rtt, rate or float("inf"))
    (goodput,) = weft.run(spec).flows["goodput_bps"]
    assert goodput / 8 / 1448 == pytest.approx(expected, rel=0.02)


class Delay(weft.CongestionControl):
    """Swift's window (Kumar et al., SIGCOMM 2020, algorithm 1) with a constant target."""

    target = 60e-6
    smallest = 0.001
    samples: ClassVar[list[float]] = []

    def __init__(self) -> None:
        self.last_cut = 0.0

    def on_ack(self, w: Any, s: int, ack: Any) -> None:
        if ack.rtt is None:
            return
        if ack.now > 30e-3:
            self.samples.append(ack.rtt)
        cwnd = w[s].cwnd
        if ack.rtt < self.target:
            w[s].cwnd = cwnd + ack.acked / max(cwnd, 1.0)
        elif ack.now - self.last_cut > w[s].srtt:
            excess = (ack.rtt - self.target) / ack.rtt
            w[s].cwnd = max(cwnd * max(1.0 - 0.8 * excess, 0.5), self.smallest)
            self.last_cut = ack.now


def test_windows_below_one_keep_the_delay_of_a_large_incast_at_its_target(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred flows have a window of 0.42 packets each at a round-trip time of 60 us and 10 Gbps.

    With windows of at least one packet, a hundred packets take 121 us.
    """

    def delay(smallest: float) -> tuple[float, float]:
        monkeypatch.setattr(Delay, "smallest", smallest)
        spec = scene(
            Delay,
            measure={"start": "30ms", "stop": "60ms"},
            topology={"kind": "many-to-one", "senders": 100, "rate": "10Gbps", "delay": "5us"},
            queues={"limit": "1000 packets"},
            transports={"own": {"cc": Delay, "tcp": {"ack_every": 1}}},
            traffic=[{"kind": "bulk", "transport": "own", "from": "0..100", "to": "r0"}],
        )
        Delay.samples.clear()
        result = weft.run(spec)
        return fmean(Delay.samples), float(result.flows["goodput_bps"].sum())

    (rtt, goodput), (clamped, _) = delay(0.001), delay(1.0)
    assert clamped > 110e-6
    assert rtt == pytest.approx(60e-6, rel=0.35)
    assert goodput > 0.9 * 10e9


def test_model_takes_the_class(spec: Path) -> None:
    experiment = weft.load(spec)
    transport = experiment.transports["dctcp"].model_copy(update={"cc": Plain})
    changed = experiment.model_copy(update={"transports": {"dctcp": transport}})
    assert weft.run(changed).manifest["spec"]["transports"]["dctcp"]["cc"] == {"name": "Plain"}
    with pytest.raises(weft.SpecError, match="cc"):
        experiment.transports["dctcp"].model_copy(update={"cc": int})
    with pytest.raises(weft.SpecError, match=r"transports\.own\.cc: .*does not exist"):
        weft.run(scene("Plain"))


def test_exception_ends_the_run_with_its_own_traceback(tmp_path: Path) -> None:
    class Wrong(weft.CongestionControl):
        echo = "classic"

        def on_mark(self, w: Any, s: int) -> None:
            w[s].cwnd = self.halve(w[s].cwnd)

        def halve(self, packets: float) -> float:
            return packets / 0

    with pytest.raises(ZeroDivisionError) as raised:
        weft.run(scene(Wrong), out=tmp_path / "out")
    names = [frame.name for frame in traceback.extract_tb(raised.value.__traceback__)]
    assert names[-2:] == ["on_mark", "halve"]
    assert list(tmp_path.iterdir()) == [], "nothing is left"


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("cwnd", 0.0, "above 0"),
        ("cwnd", -0.5, "above 0"),
        ("cwnd", float("nan"), "above 0"),
        ("cwnd", float("inf"), "above 0"),
        ("ssthresh", float("nan"), "at least 0"),
        ("srtt", 1.0, "srtt"),
        ("cwdn", 1.0, "cwdn"),
    ],
)
def test_windows_refuse_impossible_values(field: str, value: float, words: str) -> None:
    class Wrong(weft.CongestionControl):
        def on_open(self, w: Any, s: int) -> None:
            setattr(w[s], field, value)

    with pytest.raises((ValueError, AttributeError), match=words):
        weft.run(scene(Wrong))


def test_constructor_that_fails_and_one_with_arguments() -> None:
    class Demanding(weft.CongestionControl):
        echo = "classic"

        def __init__(self, gain: float) -> None:
            self.gain = gain

        def on_mark(self, w: Any, s: int) -> None:
            del w, s

    with pytest.raises(TypeError, match="gain"):
        weft.run(scene(Demanding))


def test_threads_are_one() -> None:
    assert weft.run(scene(Plain), threads=1).manifest["threads"] == 1
    assert weft.run(scene(Plain)).manifest["threads"] == 1
    with pytest.raises(weft.RunError, match="threads: 2 with congestion control in Python; allowed: 1"):
        weft.run(scene(Plain), threads=2)


def test_other_levels_are_refused() -> None:
    for level in ("flow", "linux"):
        with pytest.raises(weft.SpecError):
            weft.run(scene(Plain, level=level, traffic=scene("amp")["traffic"][:1], queues={"limit": "60 packets"}))


def test_names() -> None:
    class Other(weft.CongestionControl):
        name = "Plain"

    class Builtin(weft.CongestionControl):
        name = "amp"

    spec = scene(Plain)
    spec["transports"]["dctcp"]["cc"] = Other
    with pytest.raises(weft.SpecError, match="'Plain' of another class"):
        weft.run(spec)
    with pytest.raises(weft.SpecError, match="'amp' of an algorithm that is built in"):
        weft.run(scene(Builtin))
    assert "Plain" not in {listing["name"] for listing in registry()["algorithms"]}
    for wrong, words in (({"echo": "loud"}, "echo"), ({"name": ""}, "name"), ({"on_ack": 3}, "on_ack")):
        with pytest.raises(weft.WeftError, match=words):
            type("Wrong", (weft.CongestionControl,), wrong)


def test_two_classes_and_a_native_one_side_by_side() -> None:
    spec = scene(amp())
    spec["transports"]["dctcp"]["cc"] = Plain
    result = weft.run(spec)
    assert set(result.flows["transport"]) == {"own", "dctcp"}


def test_other_threads_of_the_interpreter_run_meanwhile() -> None:
    class Slow(weft.CongestionControl):
        def on_ack(self, w: Any, s: int, ack: Any) -> None:
            super().on_ack(w, s, ack)

    ticks = 0
    over = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not over.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    # Long enough for some fifty of the interpreter's switches, of which a busy machine may miss many.
    weft.run(scene(Slow, duration="600ms"))
    before = ticks
    over.set()
    thread.join()
    assert before > 3


def test_ctrl_c_ends_it(ctrl_c: None) -> None:
    del ctrl_c
    long = scene(Through, duration="1000s")
    timer = threading.Timer(0.5, _thread.interrupt_main)
    timer.start()
    begun = time.monotonic()
    try:
        result = weft.run(long)
        assert result.partial
    except KeyboardInterrupt:
        pass
    assert time.monotonic() - begun < 10


async def _async(*_: object) -> None:
    pass


def _generator(*_: object) -> Iterator[None]:
    yield


@pytest.mark.parametrize(
    ("methods", "words"),
    [
        ({"on_acks": lambda *_: None}, r"Mine.on_acks: not an event; allowed: on_open, on_ack, "),
        ({"pacing_rates": lambda *_: None}, "Mine.pacing_rates: not an event"),
        ({"on_mark": 3}, "Mine.on_mark: not a method"),
        ({"on_mark": _async}, "Mine.on_mark: an async method; define a plain method"),
        ({"on_mark": _generator}, "Mine.on_mark: a generator"),
    ],
)
def test_methods_that_would_never_run_are_refused(methods: dict[str, object], words: str) -> None:
    with pytest.raises(weft.UsageError, match=words):
        type("Mine", (weft.CongestionControl,), methods)


def test_helpers_may_have_any_other_name() -> None:
    type("Mine", (weft.CongestionControl,), {"halve": lambda *_: None, "pace": lambda *_: None})
