"""Differences that count as a change of a snapshot."""

from __future__ import annotations

import pytest

from tests.papers.snapshots import alike


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ("dcm 1.87 ms (1.86 to 1.88)", "dcm 1.87 ms (1.86 to 1.88)", True),
        ("dcm 1.87 ms (1.86 to 1.88)", "dcm 1.88 ms (1.86 to 1.89)", True),
        ("dcm 1.87 ms (1.86 to 1.88)", "dcm 1.87 ms (1.86 to 1.98)", False),
        ("dcm 1.87 ms (1.86 to 1.88)", "dcm 1.87 ms", False),
        ("dcm 1.87 ms", "xmp 1.87 ms", False),
        ("0 episodes", "0 episodes", True),
        ("0 episodes", "1 episodes", False),
        ("1.2e+05 flows", "1.21e+05 flows", True),
        ("1.2e+05 flows", "1.2e+06 flows", False),
    ],
)
def test_alike(one: str, two: str, same: bool) -> None:  # noqa: FBT001 - a row of the table
    assert alike(one, two) is same
