"""A number that does not fit its field is refused with the range that the schema states for the field."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import weft

SPEC: dict[str, Any] = {
    "name": "ranges",
    "duration": "1ms",
    "topology": {"kind": "many-to-one", "senders": 3, "rate": "10Gbps", "delay": "1us"},
    "queues": {"limit": "100 packets"},
    "transports": {"t": {"cc": "reno"}},
    "traffic": [{"kind": "bulk", "transport": "t", "from": "h0", "to": "r0"}],
}

PLACES: dict[str, tuple[str, Callable[[dict[str, Any]], dict[str, Any]]]] = {
    "Topology": ("topology", lambda part: {"topology": part}),
    "Traffic": ("traffic[0]", lambda part: {"traffic": [{"transport": "t", **part}]}),
    "Queue": ("queues.kind", lambda part: {"queues": {"limit": "100KB", "kind": part}}),
    "Paths": ("transports.t.paths", lambda part: {"transports": {"t": {"cc": "reno", "paths": part}}}),
    "Controller": ("controller", lambda part: {"controller": part}),
}
"""The place in a spec of each sort of kind, by the end of its name in the schema."""

PARTS: dict[str, tuple[str, Callable[[dict[str, Any]], dict[str, Any]]]] = {
    "Transport": ("transports.t", lambda part: {"transports": {"t": {"cc": "reno", **part}}}),
    "ProfilePatch": ("transports.t.tcp", lambda part: {"transports": {"t": {"cc": "reno", "tcp": part}}}),
    "Uet": ("transports.u.uet", lambda part: {"transports": {"u": {"kind": "uet", "uet": part}}}),
    "Ndp": ("transports.n.ndp", lambda part: {"transports": {"n": {"kind": "ndp", "ndp": part}}}),
    "Roce": ("transports.r.roce", lambda part: {"transports": {"r": {"kind": "roce", "roce": part}}}),
    "Timely": (
        "transports.r.roce.timely",
        lambda part: {"transports": {"r": {"kind": "roce", "roce": {"control": "timely", "timely": part}}}},
    ),
    "Hpcc": (
        "transports.r.roce.hpcc",
        lambda part: {"transports": {"r": {"kind": "roce", "roce": {"control": "hpcc", "hpcc": part}}}},
    ),
    "Swift": ("transports.s.swift", lambda part: {"transports": {"s": {"kind": "swift", "swift": part}}}),
    "Hosts": ("hosts", lambda part: {"hosts": part}),
    "Event": ("events[0]", lambda part: {"events": [{"at": "1ms", **part}]}),
    "Stop": ("stop", lambda part: {"stop": {"class": "bulk", **part}}),
    "Sweep": ("sweep", lambda part: {"sweep": part}),
    "QueueClass": (
        "queues.kind.classes[0]",
        lambda part: {"queues": {"limit": "100KB", "kind": {"name": "priority", "classes": [part]}}},
    ),
}
"""The place of the parts that have no kind."""

Field = tuple[str, dict[str, Any], object, str]


def bounds(schema: dict[str, Any]) -> str:
    """Returns the range of a field in words."""

    def bound(key: str, words: str) -> str:
        return words + f"{schema[key]}".removesuffix(".0") if key in schema else ""

    if "minimum" in schema and "maximum" not in schema:
        return bound("minimum", ", at least ")
    lower = bound("minimum", ", ") + bound("exclusiveMinimum", ", above ")
    upper = bound("maximum", " to " if "minimum" in schema else ", up to ") + bound("exclusiveMaximum", ", below ")
    return lower + upper


def fields() -> Iterator[Field]:
    """Yields path, spec, wrong value and range of each field that is one number."""
    for name, part in weft.schema()["$defs"].items():
        place = next((PLACES[end] for end in PLACES if name.endswith(end)), PARTS.get(name))
        if place is None:
            continue
        where, spec = place
        names = {key: part["properties"].get(key, {}) for key in ("kind", "name")}
        chooser = {key: schema["const"] for key, schema in names.items() if "const" in schema}
        for field, schema in part["properties"].items():
            kinds = {schema.get("type")} if isinstance(schema.get("type"), str) else set(schema.get("type", []))
            if not kinds & {"integer", "number"}:
                continue
            whole = "integer" in kinds
            shown = ("a whole number" if whole else "a number") + bounds(schema)
            wrong = 0.5 if whole else "many"
            yield f"{where}.{field}", {**SPEC, **spec({**chooser, field: wrong})}, wrong, shown


FIELDS = list(fields())


def test_there_are_fields_of_each_sort() -> None:
    assert len(FIELDS) > 50
    places = {place for place, _ in [*PLACES.values(), *PARTS.values()]}
    assert {path.rpartition(".")[0] for path, *_ in FIELDS} == places


@pytest.mark.parametrize(
    ("path", "spec", "wrong", "shown"), [pytest.param(*field, id=f"{n}-{field[0]}") for n, field in enumerate(FIELDS)]
)
def test_the_range_is_that_of_the_schema(path: str, spec: dict[str, Any], wrong: object, shown: str) -> None:
    with pytest.raises(weft.SpecError) as raised:
        weft.run(spec)
    given = f'"{wrong}"' if isinstance(wrong, str) else f"{wrong}"
    assert str(raised.value) == f"{path}: {given}; allowed: {shown}"
