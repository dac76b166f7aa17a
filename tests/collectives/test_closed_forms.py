"""Collective operations on an idle fabric against their closed forms, at level `flow`, without headers.

Thakur, Rabenseifner and Gropp (2005); Patarasuk and Yuan (2009). `alpha` is the latency of an empty message, and `beta`
the time per byte. `test_ranks.py` has a ring at level `packet`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from tests.collectives.test_ranks import run, spec

if TYPE_CHECKING:
    from collections.abc import Callable

ALPHA, BETA = 1e-6, 0.8e-9
"""Links of 10 Gbps, 1 us from host to host."""
START = 1e-3
"""Connections open before."""
PART = 400_000


def log2(n: int) -> int:
    return (n - 1).bit_length()


def message(size: float) -> float:
    return ALPHA + BETA * size


FORMS: dict[str, tuple[dict[str, Any], Callable[[int], int], Callable[[int], float]]] = {
    "ring": (
        {"operation": "all-reduce", "algorithm": "ring"},
        lambda n: n * PART,
        lambda n: 2 * (n - 1) * message(PART),
    ),
    "reduce-scatter": ({"operation": "reduce-scatter"}, lambda n: n * PART, lambda n: (n - 1) * message(PART)),
    "all-gather": ({"operation": "all-gather"}, lambda n: n * PART, lambda n: (n - 1) * message(PART)),
    "halving-doubling": (
        {"operation": "all-reduce", "algorithm": "halving-doubling"},
        lambda n: n * PART,
        lambda n: 2 * sum(message(n * PART / 2 ** (step + 1)) for step in range(log2(n))),
    ),
    "recursive-doubling": (
        {"operation": "all-reduce", "algorithm": "recursive-doubling"},
        lambda _: PART,
        lambda n: log2(n) * message(PART),
    ),
    "shift": (
        {"operation": "all-to-all", "algorithm": "shift"},
        lambda n: n * PART,
        lambda n: (n - 1) * message(PART),
    ),
    "at-once": (
        {"operation": "all-to-all", "algorithm": "at-once"},
        lambda n: n * PART,
        lambda n: ALPHA + BETA * (n - 1) * PART,
    ),
    "broadcast": (
        {"operation": "broadcast", "algorithm": "binomial-tree", "send_done": "acknowledged"},
        lambda _: PART,
        lambda n: log2(n) * message(PART),
    ),
    "chain": (
        {"operation": "broadcast", "algorithm": "chain", "send_done": "acknowledged"},
        lambda _: PART,
        lambda n: (n - 1) * message(PART),
    ),
    "binomial-tree": (
        {"operation": "all-reduce", "algorithm": "binomial-tree", "send_done": "acknowledged"},
        lambda _: PART,
        lambda n: 2 * log2(n) * message(PART),
    ),
}
"""Fields, bytes of the array and time of `n` ranks."""
POWERS = ("halving-doubling", "recursive-doubling")
"""Algorithms whose closed form is that of a power of two."""
CASES = [(name, n) for name in FORMS for n in (2, 3, 8, 13, 32, 64) if name not in POWERS or n & (n - 1) == 0]
LARGEST = int(os.environ.get("WEFT_CLOSED_FORMS", "24"))
"""Largest number of ranks of the test of all numbers; 1,024 by `make closed-forms`."""
FIRST = int(os.environ.get("WEFT_CLOSED_FORMS_FIRST", "2"))
STEP = int(os.environ.get("WEFT_CLOSED_FORMS_STEP", "1"))
"""Numbers that are left out between, because a ring of n ranks has 2 n (n - 1) messages."""


def seconds(name: str, n: int) -> float:
    """The time of an operation."""
    fields, size, _ = FORMS[name]
    return seconds_of(fields, n, size(n))


def seconds_of(fields: dict[str, Any], n: int, size: int) -> float:
    """The time of an operation. Senders wait for no acknowledgement unless `fields` say so; no window limits them."""
    traffic = {
        "kind": "collective",
        "size": f"{size}B",
        "start": f"{START}s",
        "connections": "persistent",
        "send_done": "started",
        **fields,
    }
    transport = {"cc": "dctcp", "tcp": {"header": "0B", "mss": "1B"}}
    jobs = run(spec(n, traffic, transport=transport, level="flow", duration="1000s"), threads=1).jobs
    return float(jobs["finish_s"].item()) - START


@pytest.mark.parametrize(("name", "n"), CASES)
def test_operations_take_the_time_of_their_closed_form(name: str, n: int) -> None:
    expected = FORMS[name][2](n)
    assert seconds(name, n) == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("name", FORMS)
def test_every_number_of_ranks_takes_the_time_of_the_closed_form(name: str) -> None:
    for n in range(FIRST, LARGEST + 1, STEP):
        if name not in POWERS or n & (n - 1) == 0:
            assert seconds(name, n) == pytest.approx(FORMS[name][2](n), rel=0.01), n


def test_a_double_binary_tree_is_near_its_bound() -> None:
    """Sanders, Speck and Träff: about 2 beta S, of which links that are shared equally, not in turns, use a part."""
    size = 20_000_000
    fields = {"operation": "all-reduce", "algorithm": "double-binary-tree", "chunks": 100}
    for n in (3, 8, 13, 32, LARGEST):
        assert 2.0 <= seconds_of(fields, n, size) / (BETA * size) < 2.3, n
