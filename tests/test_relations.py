"""Every run satisfies the relations of `tests/relations`; `make relations CASES=10000` tries more specs."""

from __future__ import annotations

import json
import os
import warnings
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

import weft
from tests.kinds import QUEUES
from tests.relations.random_specs import FROM_FILES, names, random_spec
from tests.relations.relations import LINK_COUNTERS, RELATIONS, changed, run

CASES = int(os.environ.get("CASES", "150"))
FIRST = int(os.environ.get("FIRST", "1"))
PARTS = 4
"""Tests that run side by side."""
SPECS = Path(__file__).parent / "relations" / "specs"
"""Specs for which a relation did not hold, by the seed of their time."""
CLOS = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 3, "rate": "1Gbps", "delay": "5us"}
CASES_OF_LOSS: dict[str, dict[str, object]] = {
    "overload": {"traffic": [{"kind": "incast", "transport": "a", "flows": 5, "size": "400KB", "rounds": 1}]},
    "failure": {
        "traffic": [{"kind": "bulk", "transport": "a", "pairs": "permutation"}],
        "events": [{"at": "2ms", "state": "down", "layer": "leaf-spine", "fraction": 0.5}],
    },
}
LOSING: dict[str, dict[str, object]] = {
    "shared": {"kind": {"name": "shared", "buffer": "100KB"}},
    "priority": {"kind": {"name": "priority", "classes": [{}, {"weight": 1}]}},
    "red": {
        "kind": {
            "name": "red",
            "at": "dequeue",
            "action": "drop",
            "min": "5 packets",
            "max": "60 packets",
            "probability": 0.3,
        }
    },
    "codel": {"kind": {"name": "codel", "target": "50us", "interval": "200us"}},
    "trimming": {"kind": {"name": "trimming", "victim": "random"}},
    "lossless": {"limit": "700 packets", "kind": {"name": "lossless", "xoff": "20KB", "watchdog": "100us"}},
    "lossy": {"kind": {"name": "lossy", "loss": 0.01}},
}
"""Settings of kinds whose queues lose packets in other ways than at their limit, or not with those of the reference."""


@pytest.mark.parametrize("part", range(PARTS))
def test_relations(part: int) -> None:
    violations = []
    applied: Counter[str] = Counter()
    refused = 0
    for seed in range(FIRST + part, FIRST + CASES, PARTS):
        spec = random_spec(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", weft.ResultWarning)
            try:
                result = run(spec)
            except (weft.SpecError, weft.RunError):
                refused += 1
                continue
            for relation in RELATIONS:
                try:
                    applied[relation.__name__] += relation(spec, result)
                except AssertionError as error:
                    violations.append(f"{relation.__name__}: {error}\n{json.dumps(spec)}")
    assert not violations, f"{len(violations)} violations; the first:\n{violations[0]}"
    assert refused * PARTS < CASES / 2, "most random specs run"
    unused = [relation.__name__ for relation in RELATIONS if not applied[relation.__name__]]
    assert CASES < 400 or not unused, f"{unused} apply to no spec"


@pytest.mark.parametrize("path", sorted(SPECS.glob("*.json")), ids=lambda path: path.stem)
def test_relations_of_a_kept_spec(path: Path) -> None:
    spec = json.loads(path.read_text())
    result = run(spec)
    applied = [relation(spec, result) for relation in RELATIONS]
    assert sum(applied) > len(RELATIONS) / 2


@pytest.mark.parametrize("case", CASES_OF_LOSS)
@pytest.mark.parametrize("kind", QUEUES)
def test_counters_of_many_windows_add_up(kind: str, case: str) -> None:
    spec = CASES_OF_LOSS[case] | {
        "name": "windows",
        "duration": "4ms",
        "topology": CLOS,
        "queues": QUEUES[kind] | {"limit": "50 packets", "mark": "off"} | LOSING.get(kind, {}),
        "transports": {"a": {"cc": "reno"} | ({"ack_class": 1} if kind == "priority" else {})},
    }
    whole = run(spec)
    parts = 16
    bounds = [f"{250 * part}us" for part in range(parts + 1)]
    windows = pairwise(bounds)
    results = [run(changed(spec, measure={"start": start, "stop": stop})) for start, stop in windows]
    for counter in LINK_COUNTERS:
        of_windows = zip(*(result.links[counter].to_list() for result in results), strict=True)
        assert [sum(values) for values in of_windows] == whole.links[counter].to_list(), counter
    lost = [*whole.links["drops"], *whole.links["losses"], *whole.flows["packets_trimmed"]]
    assert any(lost), "queues or links lose packets"


def test_random_specs_cover_all_registries() -> None:
    texts = [json.dumps(random_spec(seed)) for seed in range(400)]
    for sort in ("topologies", "algorithms", "paths", "schedulers", "profiles", "traffic", "queues", "transports"):
        for name in names(sort):
            assert name in FROM_FILES or any(json.dumps(name) in text for text in texts), name
