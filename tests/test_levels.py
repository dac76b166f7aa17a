"""Two experiments at the packet level and at the flow level. `make validate-flow` runs them all."""

from __future__ import annotations

from dataclasses import replace

from tests.levels.compare import SCENES, USUAL, compare


def test_amp_settles_at_both_levels_where_subflows_send_as_windows_allow() -> None:
    scene = next(scene for scene in SCENES if scene.name == "AMP, 4 subflows")
    rows = compare([replace(scene, from_ms=250, end_ms=400)], seeds=1)
    assert [row.measure for row in rows] == list(USUAL)
    assert [row for row in rows if not row.holds] == []


def test_a_scene_out_of_its_band_is_told() -> None:
    scene = next(scene for scene in SCENES if scene.name == "AMP, 4 subflows, Linux's scheduler")
    rows = compare([replace(scene, from_ms=150, end_ms=250, wider={})], seeds=1)
    assert not next(row for row in rows if row.measure == "mean").holds
