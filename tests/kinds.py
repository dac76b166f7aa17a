"""Settings that work, per kind of queue: those of the reference's examples, which each kind has."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import reference_examples
from weft import _weft

DEFINITIONS = json.loads(_weft.schema())["$defs"]
REGISTRY: dict[str, list[dict[str, str]]] = json.loads(_weft.registry())
NAMES = [kind["name"] for kind in REGISTRY["queues"]]
"""The kinds of queues, in the order of their registry."""


def _example(kind: str) -> dict[str, Any]:
    """Returns the example of a kind, a part of a spec."""
    name = next(
        name
        for name, definition in DEFINITIONS.items()
        if name.endswith("Queue") and definition["properties"]["name"]["const"] == kind
    )
    return tomllib.loads(reference_examples.example(name, DEFINITIONS[name]))


EXAMPLES = {kind: _example(kind) for kind in NAMES}
"""A part of a spec per kind: a table `queues`, and transports if the kind needs some."""
QUEUES: dict[str, dict[str, Any]] = {kind: part["queues"] for kind, part in EXAMPLES.items()}
"""A table `queues` per kind."""
