"""Published results at both levels: `tests/published`."""

from __future__ import annotations

import pytest

from tests.published.comparison import Comparison, Measure
from tests.published.comparisons import COMPARISONS, column

AT_LEVELS = [
    pytest.param(comparison, measure, id=f"{comparison.name}, {level} level")
    for comparison in COMPARISONS
    for level, measure in (("flow", comparison.flow), ("packet", comparison.packet))
    if measure is not None
]


@pytest.mark.parametrize(("comparison", "measure"), AT_LEVELS)
def test_levels_agree_with_published_results(comparison: Comparison, measure: Measure) -> None:
    if measure.agrees:
        assert measure.found() == pytest.approx(comparison.published(), rel=measure.band)
    else:
        assert column(measure, comparison.published())[1], "it agrees: the comparison needs no cause"


def test_a_dozen_comparisons_of_eight_sources_have_a_packet_level() -> None:
    with_packets = [comparison for comparison in COMPARISONS if comparison.packet]
    assert len({comparison.source.partition(",")[0] for comparison in with_packets}) >= 8
    assert sum(comparison.packet is not None and comparison.packet.agrees for comparison in with_packets) >= 12
    for comparison in with_packets:
        assert comparison.cause or (comparison.packet is not None and comparison.packet.agrees)
