"""Published results at the flow level: `tests/published/comparisons.py`."""

from __future__ import annotations

import pytest

from tests.published.comparisons import COMPARISONS, Comparison


@pytest.mark.parametrize("comparison", COMPARISONS, ids=lambda comparison: comparison.quantity)
def test_flow_level_agrees_with_published_results(comparison: Comparison) -> None:
    assert comparison.found() == pytest.approx(comparison.published, rel=comparison.band)
