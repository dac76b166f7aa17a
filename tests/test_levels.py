"""Two experiments at the packet level and at the flow level. `make validate-flow` runs them all."""

from __future__ import annotations

from dataclasses import replace

import pytest

import weft
from tests.levels.compare import IN_TURN, LEVELS, SCENES, USUAL, Scene, compare, measured


def test_amp_settles_at_both_levels_where_subflows_send_as_windows_allow() -> None:
    scene = next(scene for scene in SCENES if scene.name == "AMP, 4 subflows")
    rows = compare([replace(scene, from_ms=250, end_ms=400)], seeds=1)
    assert [row.measure for row in rows] == list(USUAL)
    assert [row for row in rows if not row.holds] == []


def test_a_scene_out_of_its_band_is_told() -> None:
    scene = next(scene for scene in SCENES if scene.name == "AMP, 4 subflows, Linux's scheduler")
    rows = compare([replace(scene, from_ms=150, end_ms=250, wider={})], seeds=1)
    assert not next(row for row in rows if row.measure == "mean").holds


def test_no_link_carries_more_than_its_rate_with_olia() -> None:
    """OLIA uses the best paths alone, and the best path changes between iterations. The result is a mean."""
    scene = Scene("OLIA", "olia", 4, IN_TURN, from_ms=250, end_ms=500)
    mean = {}
    for level in LEVELS:
        spec = scene.experiment(level).model_dump(mode="json", by_alias=True, exclude_none=True)
        spec["topology"]["k"] = 4
        result = weft.run(spec, seed=1)
        mean[level] = measured(result).item(0, "mean")
        assert max(result.links["utilisation"]) <= 1 + (1e-6 if level == "flow" else 1e-3)
    assert mean["flow"] == pytest.approx(mean["packet"], rel=0.1)
