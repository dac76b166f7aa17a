"""Every run satisfies the relations of `tests/relations`; `make relations CASES=10000` tries more specs."""

from __future__ import annotations

import json
import os
import warnings
from collections import Counter

import pytest

import weft
from tests.relations.random_specs import names, random_spec
from tests.relations.relations import RELATIONS, run

CASES = int(os.environ.get("CASES", "150"))
FIRST = int(os.environ.get("FIRST", "1"))
PARTS = 4
"""Tests that run side by side."""


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


def test_random_specs_cover_all_registries() -> None:
    texts = [json.dumps(random_spec(seed)) for seed in range(400)]
    for sort in ("topologies", "algorithms", "paths", "schedulers", "profiles", "traffic", "queues", "transports"):
        for name in names(sort):
            assert name == "flow-list" or any(json.dumps(name) in text for text in texts), name
