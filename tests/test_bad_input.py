"""Bad specs, files, arguments and signals: one line that says what is allowed, a documented exit code, no leftovers."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

import weft
from tests.command import INCAST, WEFT, catches, wait_for, wait_for_work

SPEC = """\
{ "name": "any", "duration": "1ms", "level": "packet", "seed": 1,
  "topology": {"kind": "many-to-one", "senders": 4, "rate": "10Gbps", "delay": "5us"},
  "queues": {"limit": "100 packets", "mark": "10 packets", "host": {"limit": "1000 packets", "mark": "off"}},
  "transports": {"t": {"cc": "amp", "subflows": 2, "scheduler": "round-robin", "profile": "linux",
                       "tcp": {"mss": "1448B", "min_rto": "10ms", "limited_transmit": true}}},
  "traffic": [{"kind": "incast", "transport": "t", "flows": 4, "size": "64KB", "gap": "50us", "rounds": 2,
               "interval": "400us"},
              {"kind": "poisson", "transport": "t", "pairs": "random", "rate": 100, "size": "1KB"}],
  "probes": [{"kind": "queue", "at": ["s0->r0"], "interval": "10us"}],
  "stop": {"class": "poisson", "flows": 2} }
"""

TIMES = [
    "duration",
    "topology.delay",
    "traffic[0].gap",
    "traffic[0].interval",
    "probes[0].interval",
    "transports.t.tcp.min_rto",
]
RATES = ["topology.rate"]
SIZES = ["traffic[0].size", "traffic[1].size", "transports.t.tcp.mss"]
AMOUNTS = ["queues.limit", "queues.mark", "queues.host.limit", "queues.host.mark"]
COUNTS = [
    "topology.senders",
    "traffic[0].flows",
    "traffic[0].rounds",
    "transports.t.subflows",
    "transports.t.tcp.dupack_threshold",
    "stop.flows",
    "seed",
]
NAMES = {
    "topology.kind": "many-to-one",
    "traffic[0].kind": "incast",
    "traffic[0].transport": '"t"',
    "probes[0].kind": "queue",
    "transports.t.cc": "amp",
    "transports.t.scheduler": "round-robin",
    "transports.t.profile": "linux",
    "level": "packet",
    "stop.class": "poisson",
}
TABLES = ["topology", "queues", "queues.host", "transports.t", "transports.t.tcp", "traffic[0]", "probes[0]", "stop"]

NO_QUANTITY = ["3", "-3", "0.5", "true", "[]", "{}", '""', "1e9", "nan", "2000-01-01", "fast", "1.2.3us", "-1us"]


def wrong_values() -> Iterator[tuple[str, str]]:
    """Fields and what cannot stand there."""
    for field in TIMES:
        yield from ((field, value) for value in [*NO_QUANTITY, "3GB", "0.1ps", "99999999999999s"])
    for field in RATES:
        yield from ((field, value) for value in [*NO_QUANTITY, "3s", "0Gbps", "1bps", "101Tbps"])
    for field in SIZES:
        yield from ((field, value) for value in [*NO_QUANTITY, "3s", "0B", "0.5B", "9999999999TB"])
    for field in AMOUNTS:
        yield from ((field, value) for value in [*NO_QUANTITY, "3s", "0.5 packets", "99999999999 packets"])
    for field in COUNTS:
        yield from (
            (field, value) for value in ["-1", "0.5", "true", "[]", "{}", "many", "1e30", "99999999999999999999"]
        )
    for field in NAMES:
        yield from ((field, value) for value in ["nothing-such", "3", "true", "[]"])
    for field in TABLES:
        yield from ((f"{field}.colour", "3"), (field, "3"), (field, "true"))


@pytest.mark.parametrize(("field", "value"), list(wrong_values()))
def test_field(tmp_path: Path, field: str, value: str) -> None:
    spec = tmp_path / "spec.json"
    spec.write_text(SPEC)
    with pytest.raises(weft.SpecError) as raised:
        weft.load(spec, [f"{field}={value}"])
    line = str(raised.value)
    assert line.splitlines() == [line]
    assert line.startswith(f"{spec}: {field}")
    assert "; " in line
    assert len(line) < 2000
    if field in NAMES and value == "nothing-such":
        assert NAMES[field] in line


def test_the_spec_itself_is_right(tmp_path: Path) -> None:
    (tmp_path / "spec.json").write_text(SPEC)
    assert weft.load(tmp_path / "spec.json").name == "any"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"name": "a", "name": "b"}', ["line 1", '"name" is given twice']),
        ('{"topology": {"k": 1, "k": 2}}', ['"k" is given twice']),
        ("[" * 100_000, ["line 1"]),
        ('{"a":' * 100_000, ["line 1"]),
        ("a.b = 1\na.b = 2", ["line 2"]),
        ("a" * 1_000_000, ["line 1"]),
        ("[[traffic]]\n" * 10_000, ["traffic[0].kind: required field is missing"]),
        ("\x00", ["line 1"]),
    ],
)
def test_text(tmp_path: Path, text: str, words: list[str]) -> None:
    (tmp_path / "spec").write_text(text)
    with pytest.raises(weft.SpecError) as raised:
        weft.load(tmp_path / "spec")
    line = str(raised.value)
    assert line.splitlines() == [line]
    for word in [str(tmp_path), *words]:
        assert word in line


@pytest.mark.parametrize("size", ["1e300", "1e13", "-1", "inf"])
def test_point_of_a_distribution(size: str) -> None:
    size_distribution = {"kind": "empirical", "points": [[0, 0.5], [float(size), 1]]}
    spec = json.loads(SPEC)
    spec["traffic"][1]["size"] = size_distribution
    with pytest.raises(weft.SpecError, match=r"allowed: |JSON"):
        weft.run(spec)


@pytest.mark.parametrize("experiment", [3, None, [], b"x.toml", object(), {"name": {3}}, {"name": float("nan")}])
def test_no_experiment(experiment: Any) -> None:
    with pytest.raises(weft.SpecError) as raised:
        weft.run(experiment)
    assert len(str(raised.value).splitlines()) == 1


HOSTS = {"hosts": ["a", "b"], "switches": ["s", "t"], "rate": "1Gbps", "delay": "1us"}
APART = {"kind": "graph", "links": [{"a": "a", "b": "s"}, {"a": "b", "b": "t"}], **HOSTS}
NOTHING = {"kind": "graph", "links": [{"a": "a", "b": "s", "rate": "0Gbps"}], **HOSTS}


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"topology": APART}, "traffic[0]: no path leads from a to b; choose connected hosts"),
        ({"topology": NOTHING}, 'topology.links[0].rate: "0Gbps"'),
        ({"events": [{"at": "1ms", "links": ["s0->r0"], "rate": "0bps"}]}, 'events[0].rate: "0bps"'),
        (
            {"transports": {"t": {"cc": "amp-fg"}}},
            'transports.t.cc: "amp-fg" has no response function; allowed: "a',
        ),
        ({"transports": {"t": {"cc": "bpf:amp"}}}, 'transports.t.cc: "bpf:amp" has no response function'),
        ({"probes": [{"kind": "queue", "at": ["s0->r0"]}]}, 'probes[0].kind: "queue", which only packets have'),
        ({"probes": [{"kind": "latency", "flows": [0]}]}, "probes[0]"),
        ({"hosts": {"jitter": "1us"}}, "hosts: "),
    ],
)
def test_flow_level(changes: dict[str, Any], complaint: str) -> None:
    """A level without packets refuses features that need packets, where they are set."""
    spec = {
        "name": "any",
        "level": "flow",
        "duration": "10ms",
        "topology": {"kind": "many-to-one", "senders": 2, "rate": "1Gbps", "delay": "5us"},
        "queues": {"limit": "100 packets"},
        "transports": {"t": {"cc": "reno"}},
        "traffic": [{"kind": "bulk", "transport": "t", "from": "h0", "to": "r0"}],
    }
    if "topology" in changes:
        spec["traffic"] = [{"kind": "bulk", "transport": "t", "from": "a", "to": "b"}]
    with pytest.raises(weft.SpecError) as raised:
        weft.run({**spec, **changes})
    line = str(raised.value)
    assert line.startswith(complaint)
    assert line.splitlines() == [line]
    assert "; " in line


def start(*arguments: str | bytes, cwd: Path, room_kb: int | None = None, **how: Any) -> subprocess.Popen[bytes]:
    """Starts `weft`, which may use so much address space."""
    limits = [] if room_kb is None else ["/bin/bash", "-c", f'ulimit -v {room_kb}; exec "$@"', "-"]
    return subprocess.Popen([*limits, WEFT, *arguments], cwd=cwd, stderr=subprocess.PIPE, **how)


@cache
def start_s() -> float:
    """Processor time of a command that does nothing: on a machine that is busy all take longer."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([WEFT, "--version"], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ended(process: subprocess.Popen[bytes]) -> tuple[int, str]:
    """Its exit code and its standard error, once it has used neither much time nor much memory."""
    assert process.stderr is not None
    err = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert usage.ru_utime + usage.ru_stime < max(2.0, 8 * start_s()), err
    # Linux counts for a process what it had before `exec`, which is what this one has.
    inherited_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert usage.ru_maxrss < max(500_000, inherited_kb + 1), err
    return process.returncode, err


TRAFFIC = 'traffic=[{{kind="poisson", transport="dctcp", from="0..4", to="r0", pairs="random", rate=9, size={}}}]'
GRAPH = 'topology={{kind = "graph", file = "{}", rate = "1Gbps", delay = "1us"}}'
FLOW_LIST = 'traffic=[{kind = "flow-list", transport = "dctcp", file = "/dev/zero"}]'
FAT_TREE = 'topology={kind = "fat-tree", k = 254, rate = "1Gbps", delay = "1us"}'
FEW_GB = 6_000_000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "/dev/zero"], ["/dev/zero: too long", "allowed: at most 4 MiB"]),
        (["run", "/dev/null"], ["missing"]),
        (["run", "large.toml"], ["too long", "allowed: at most 4 MiB"]),
        (["run", "."], ["cannot be read: Is a directory"]),
        (["run", "incast.toml/x"], ["cannot be read: Not a directory"]),
        (["run", "x" * 1000], ["cannot be read: File name too long"]),
        (["run", "incast.toml", "--set", TRAFFIC.format("{kind = 'empirical', cdf = '/dev/zero'}")], ["too long"]),
        (["run", "incast.toml", "--set", GRAPH.format("/dev/zero")], ["topology.file: /dev/zero: is too long"]),
        (["run", "incast.toml", "--set", GRAPH.format("endless.topo")], ["topology.file: endless.topo: is too long"]),
        (["run", "incast.toml", "--set", FLOW_LIST], ["traffic[0].file: /dev/zero: is too long"]),
        (["run", "incast.toml", "--set", FAT_TREE], ["topology: needs about", "GB is free", "--force"]),
        (
            ["run", "incast.toml", "--set", "transports.dctcp.subflows=64", "--set", "traffic[0].flows=10000000"],
            ["needs about", "GB is free", "--force"],
        ),
        (["run", "incast.toml", "--set", b"seed=\xff"], ["not UTF-8 text"]),
        (["run", "incast.toml", "--set", "seed"], ['has no "="']),
        (["run", "incast.toml", "--seed", "9" * 5000], ["--seed", "allowed: a whole number"]),
        (["run", "incast.toml", "--threads", "9" * 30], ["--threads", "allowed: a whole number, 1 to 1024 or auto"]),
        (["run", "incast.toml", "--threads", "-1"], ["--threads"]),
        (["run", "incast.toml", "--threads", "many"], ["--threads", "auto"]),
        (["run", "incast.toml", "--out", "x" * 300], ["cannot create", "File name too long"]),
        (["run", "incast.toml", "--out", "incast.toml/x"], ["cannot create"]),
        (["run", "incast.toml", "--out", "/proc/x/y"], ["/proc"]),
        (["run", "incast.toml", "--out", ""], ["--out"]),
        (["reproduce", "amp/fig02", "--seeds", "1000000000"], ["--seeds", "1 to 1000"]),
        (["bench", "--repeat", "1000000000"], ["--repeat", "1 to 1000"]),
        (["bench", "--threads", "9999"], ["--threads", "1 to 1024"]),
        (["demo", "--out", "/dev/null/x"], ["cannot create"]),
    ],
)
def test_command(tmp_path: Path, arguments: list[str | bytes], words: list[str]) -> None:
    (tmp_path / "incast.toml").write_text(INCAST.replace('gap = "50us"', ""))
    if "large.toml" in arguments:
        (tmp_path / "large.toml").write_text('[[traffic]]\nkind = "bulk"\n' * 4_000_000)
    (tmp_path / "endless.topo").symlink_to("/dev/zero")
    before = set(tmp_path.iterdir())
    code, err = ended(start(*arguments, cwd=tmp_path, room_kb=FEW_GB, stdout=subprocess.DEVNULL))
    assert code == 2, err
    assert err.startswith("weft: ")
    assert len(err.splitlines()) == 1
    for word in words:
        assert word in err
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    "arguments", [["list"], ["list", "--json"], ["schema"], ["--version"], ["--help"], ["run", "--help"]]
)
@pytest.mark.parametrize(
    ("output", "code", "words"),
    [(">&-", 2, "output: closed"), (">/dev/full", 2, "No space left"), ("| head -1", 0, "")],
)
def test_standard_output(tmp_path: Path, arguments: list[str], output: str, code: int, words: str) -> None:
    done = subprocess.run(
        ["/bin/bash", "-o", "pipefail", "-c", f'"$@" {output}', "-", WEFT, *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == (1 if words else 0), done


def long_run(folder: Path, out: str = "out") -> subprocess.Popen[bytes]:
    """Takes minutes unless it is stopped; has begun to write."""
    (folder / "incast.toml").write_text(INCAST)
    longer = ["--set", "duration=1000s", "--set", "traffic[0].size=100GB"]
    process = start("run", "incast.toml", *longer, "--out", out, cwd=folder, stdout=subprocess.PIPE)
    wait_for_work(process, folder)
    return process


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_leaves_partial_tables(tmp_path: Path, number: signal.Signals) -> None:
    process = long_run(tmp_path)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.decode() == "weft: stopped; the tables so far are in out, marked partial\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["incast.toml", "out"]
    assert '"partial": true' in (tmp_path / "out" / "manifest.json").read_text()


def test_next_run_removes_the_folder_of_a_killed_run(tmp_path: Path) -> None:
    killed, other = long_run(tmp_path, "never"), long_run(tmp_path)
    killed.kill()
    killed.communicate()
    try:
        assert len(list(tmp_path.glob(".weft-*"))) == 2
        subprocess.run([WEFT, "run", "incast.toml", "--out", "next"], cwd=tmp_path, check=True, capture_output=True)
        assert len(list(tmp_path.glob(".weft-*"))) == 1, "of the run that is still going on"
    finally:
        other.terminate()
        other.communicate(timeout=60)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["incast.toml", "next", "out"]


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_at_any_moment_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "incast.toml").write_text(INCAST)
    # Until then it is Python that begins, and Python's own traceback if it is stopped.
    for delay in (0.02 * step for step in range(8)):
        process = start("run", "incast.toml", cwd=tmp_path, stdout=subprocess.DEVNULL)
        wait_for(process, partial(loaded, process))
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode in (0, 130, -signal.SIGINT), err
        assert "Traceback" not in err.decode(), delay


def loaded(process: subprocess.Popen[bytes]) -> bool:
    """Whether a process has loaded the simulator."""
    return "_weft" in Path(f"/proc/{process.pid}/maps").read_text()


def test_hangup_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    (tmp_path / "incast.toml").write_text(INCAST)
    program = (
        "import signal, os, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, WEFT, "run", "incast.toml", "--set", "duration=1000s", "--out", "out"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    wait_for(process, partial(catches, process, signal.SIGTERM))
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=120)
    assert process.returncode == 0


def test_peak_memory_is_counted() -> None:
    # `ended` relies on the unit of ru_maxrss, which is KiB here.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 10_000
