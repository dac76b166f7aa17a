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
}
"""Fields, bytes of the array and time of `n` ranks."""
POWERS = ("halving-doubling", "recursive-doubling")
"""Algorithms whose closed form is that of a power of two."""
CASES = [(name, n) for name in FORMS for n in (2, 3, 8, 13, 32, 64) if name not in POWERS or n & (n - 1) == 0]
LARGEST = int(os.environ.get("WEFT_CLOSED_FORMS", "24"))
"""Largest ring of the test of all sizes, which takes hours up to 1,024."""


def seconds(name: str, n: int) -> float:
    """The time of an operation. Senders wait for no acknowledgement, and windows limit none of them."""
    fields, size, _ = FORMS[name]
    traffic = {
        "kind": "collective",
        "size": f"{size(n)}B",
        "start": f"{START}s",
        "connections": "persistent",
        "send_done": "started",
        **fields,
    }
    transport = {"cc": "dctcp", "tcp": {"header": "0B", "mss": "1B"}}
    jobs = run(spec(n, traffic, transport=transport, level="flow", duration="100s"), threads=1).jobs
    return float(jobs["finish_s"].item()) - START


@pytest.mark.parametrize(("name", "n"), CASES)
def test_operations_take_the_time_of_their_closed_form(name: str, n: int) -> None:
    expected = FORMS[name][2](n)
    assert seconds(name, n) == pytest.approx(expected, rel=0.01)


def test_rings_of_every_size_take_the_time_of_their_closed_form() -> None:
    for n in range(2, LARGEST + 1):
        assert seconds("ring", n) == pytest.approx(FORMS["ring"][2](n), rel=0.01), n
