"""The models in `weft.spec` are the spec's."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import generate_models
import generate_reference
import generate_transports
import reference_examples
import weft
from tests.command import INCAST
from weft import _weft, spec


def test_not_stale() -> None:
    # The difference of whole files would take a minute to print.
    models = generate_models.MODELS.read_text() == generate_models.generate()
    assert models, "run `make generate`"
    pages = generate_reference.pages()
    stale = [path for path, text in pages.items() if (generate_reference.DOCS / path).read_text() != text]
    assert stale == [], "run `make generate`"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "[algorithms.reno]",
            "algorithms.reno: missing in python/transport_guide.toml; add title, about, use, avoid",
        ),
        (
            'title = "Ultra Ethernet"\n',
            "kinds.uet: incomplete in python/transport_guide.toml; add title",
        ),
    ],
)
def test_a_kind_without_words_for_its_page_is_one_line(
    line: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = generate_transports.GUIDE.read_text(encoding="utf-8")
    guide = tmp_path / generate_transports.GUIDE.name
    assert line in text
    guide.write_text(text.replace(line, "[algorithms.other]" if line.startswith("[") else ""), encoding="utf-8")
    monkeypatch.setattr(generate_transports, "GUIDE", guide)
    with pytest.raises(SystemExit, match=f"^{re.escape(message)}$"):
        generate_transports.page()


def test_a_kind_without_an_example_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(reference_examples.EXAMPLES, "CodelQueue")
    with pytest.raises(SystemExit, match=r"^CodelQueue: missing in EXAMPLES of python/reference_examples.py; add "):
        generate_reference.pages()


DEFINITIONS = {name: schema for name, schema in json.loads(_weft.schema())["$defs"].items() if "properties" in schema}


@pytest.mark.parametrize("name", DEFINITIONS)
def test_example_of_the_reference(name: str, tmp_path: Path) -> None:
    (tmp_path / "flows.csv").write_text("from,to,size_bytes,start_s\nh0,h3,1000,0\n")
    document = reference_examples.whole(reference_examples.example(name, DEFINITIONS[name]))
    supported = reference_examples.levels(name, DEFINITIONS[name])
    for level in ("packet", "flow"):
        text = json.dumps(document | {"level": level})
        if level in supported:
            _weft.Experiment.parse(text, [], tmp_path)
        else:
            with pytest.raises(weft.SpecError):
                _weft.Experiment.parse(text, [], tmp_path)


WRITE_RATES = [
    name
    for name in DEFINITIONS
    if name.endswith("Traffic") and "Rate" in json.dumps(DEFINITIONS[name]["properties"].get("rate"))
]


@pytest.mark.parametrize("name", WRITE_RATES)
def test_levels_of_write_rates(name: str) -> None:
    assert {"BulkTraffic", "ClosedLoopTraffic", "ShuffleTraffic"} <= set(WRITE_RATES)
    document = reference_examples.whole(reference_examples.example(name, DEFINITIONS[name]))
    for entry in document["traffic"]:
        entry["rate"] = "1Gbps"
    for level in ("packet", "flow"):
        text = json.dumps(document | {"level": level})
        if level in reference_examples.levels(name, DEFINITIONS[name], "rate"):
            _weft.Experiment.parse(text)
        else:
            with pytest.raises(weft.SpecError, match=r"traffic\[0\].rate: not supported"):
                _weft.Experiment.parse(text)


def small(**changes: object) -> weft.Experiment:
    return weft.Experiment.model_validate(json.loads(_weft.Experiment.parse(INCAST).spec()) | changes)


def test_object_is_the_same_as_text() -> None:
    written = spec.Experiment(
        name="incast",
        duration="50ms",
        topology=spec.ManyToOneTopology(senders=4, rate="10Gbps", delay="5us"),
        queues=spec.Queues(limit="100 packets", mark="10 packets"),
        transports={"dctcp": spec.Transport(cc="dctcp")},
        traffic=[spec.IncastTraffic(transport="dctcp", flows=4, size="64KB", gap="50us")],
    )
    text = written.model_dump_json(by_alias=True, exclude_none=True)
    assert json.loads(_weft.Experiment.parse(text).spec()) == json.loads(_weft.Experiment.parse(INCAST).spec())


def test_unknown_field_is_refused() -> None:
    with pytest.raises(weft.SpecError, match="colour: unknown field; allowed: name, duration"):
        small(colour="blue")


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (
            lambda: spec.AmpCc(gamm=3),  # type: ignore[call-arg]
            'gamm: unknown field; did you mean "gamma"? allowed: beta, cwnd_min, dctcp_cut, gamma, name, ssr, tau',
        ),
        (
            lambda: spec.Transport.model_validate({"cc": {"name": "amp", "gamm": 3}}),
            'cc.gamm: unknown field; did you mean "gamma"? allowed: beta, cwnd_min, dctcp_cut, gamma, name, ssr, tau',
        ),
        (
            lambda: small(transports={"t": {"cc": {"name": "amp", "gamm": 3}}}),
            'transports.t.cc.gamm: unknown parameter; did you mean "gamma"? allowed: name, gamma, tau, beta, cwnd_min, '
            "ssr, dctcp_cut",
        ),
        (
            lambda: small().model_copy(update={"durration": "1s"}),
            'durration: unknown field; did you mean "duration"? allowed: name, duration, level, seed, topology, '
            "queues, layers, links, hosts, transports, traffic, probes, sharing, events, controller, stop, measure, "
            "sweep",
        ),
        (
            lambda: small().model_copy(update={"duration": 3}),
            'duration: 3 is a bare number without a unit; allowed: a time with a unit, such as "2us" '
            "(units: s, ms, us, ns, ps, min)",
        ),
    ],
)
def test_a_wrong_part_is_one_line(make: Callable[[], object], line: str) -> None:
    with pytest.raises(weft.SpecError) as raised:
        make()
    assert str(raised.value) == line


def test_kinds_registered_later_get_a_plain_model() -> None:
    program = """if True:
        import json
        from weft import _weft
        registry = json.loads(_weft.registry())
        for group, name in (("algorithms", "c"), ("topologies", "torus"), ("traffic", "storm"), ("probes", "rain")):
            registry[group].append({"name": name, "about": ""})
        _weft.registry = lambda: json.dumps(registry)
        from weft.spec import Experiment
        spec = json.loads(INCAST)
        spec["topology"] = {"kind": "torus", "size": 3}
        spec["traffic"].append({"kind": "storm", "transport": "dctcp", "rate": 1})
        spec["probes"] = [{"kind": "rain"}]
        for cc in "c", {"name": "c", "parameter": 2}:
            spec["transports"]["dctcp"]["cc"] = cc
            kept = json.loads(Experiment.model_validate(spec).model_dump_json(exclude_none=True))
            assert kept["transports"]["dctcp"]["cc"] == cc
            assert kept["topology"] == spec["topology"]
            assert kept["traffic"][1] == spec["traffic"][1]
            assert kept["probes"] == spec["probes"]
    """
    given = f"INCAST = {_weft.Experiment.parse(INCAST).spec()!r}\n"
    subprocess.run([sys.executable, "-c", given + program], check=True)


def test_names_in_specs_have_hyphens() -> None:
    names = [entry["name"] for group in weft.registry().values() for entry in group]
    # A version, such as that of ns-3.21, has a dot.
    assert [name for name in names if not re.fullmatch(r"(bpf:)?[a-z0-9]+(-[a-z0-9]+|\.[0-9]+)*", name)] == []


def test_wrong_value_is_refused_when_run() -> None:
    with pytest.raises(weft.SpecError, match=r"traffic\[0\].transport"):
        weft.run(small(traffic=[{"kind": "incast", "transport": "sctp", "flows": 4, "size": "64KB"}]))


@given(
    senders=st.integers(1, 100),
    rate=st.integers(1, 400),
    mark=st.integers(1, 100),
    subflows=st.integers(1, 8),
    algorithm=st.sampled_from([entry["name"] for entry in weft.registry()["algorithms"]]),
    profile=st.sampled_from([entry["name"] for entry in weft.registry()["profiles"]]),
    flows=st.integers(1, 50),
    size=st.integers(1, 10**9),
)
def test_round_trip(
    *, senders: int, rate: int, mark: int, subflows: int, algorithm: str, profile: str, flows: int, size: int
) -> None:
    """The models accept resolved specs, and return specs that resolve to equal ones."""
    experiment = spec.Experiment.model_validate(
        {
            "name": "any",
            "duration": "1ms",
            "topology": {"kind": "many-to-one", "senders": senders, "rate": f"{rate}Gbps", "delay": "1us"},
            "queues": {"limit": "100 packets", "mark": f"{mark} packets"},
            "transports": {"t": {"cc": algorithm, "subflows": subflows, "profile": profile}},
            "traffic": [{"kind": "incast", "transport": "t", "flows": flows, "size": f"{size}B"}],
        }
    )
    resolved = _weft.Experiment.parse(experiment.model_dump_json(by_alias=True, exclude_none=True)).spec()
    again = spec.Experiment.model_validate_json(resolved).model_dump_json(by_alias=True, exclude_none=True)
    assert json.loads(_weft.Experiment.parse(again).spec()) == json.loads(resolved)
