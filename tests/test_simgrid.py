"""Max-min fair rates of one network by SimGrid's solver too. `make bench` compiles its driver and measures both."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.simgrid.compare import TOLERANCE, compare

DRIVER = Path(__file__).parent.parent / "target" / "simgrid" / "driver"


@pytest.mark.skipif(not DRIVER.exists(), reason="the driver for SimGrid is not there; `make bench` compiles it")
def test_rates_are_simgrids() -> None:
    rows = compare(DRIVER, [1024])
    assert [row.links for row in rows] == ["equal", "unequal"]
    assert max(row.difference for row in rows) <= TOLERANCE
