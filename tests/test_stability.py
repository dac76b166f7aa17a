"""The numbers of research/warp/analysis.md on Warp's fixed points and stability: computed, and at the packet level."""

from __future__ import annotations

import numpy as np
import pytest

from tests.stability import packets
from tests.stability.fluid import Scene, course, critical_kappa, fastest_growth, turn
from tests.stability.law import fixed_point, settled

DELAY_US = 20
"""A bandwidth-delay product of 101 packets."""
KAPPAS = (0.0, 0.05, 0.1, 0.25, 0.5, 1.0)
PATHS = [(0,), (0, 0), (0, 0, 0, 0)]


def one(connections: int, mark: float, paths: tuple[int, ...]) -> Scene:
    return packets.scene(DELAY_US, mark=mark, connections=connections, paths=paths)


def two(connections: int, dctcp: tuple[int, int] = (0, 0)) -> Scene:
    return packets.scene(DELAY_US, mark=30, connections=connections, paths=(0, 1), dctcp=dctcp)


@pytest.mark.parametrize(
    ("kappa", "signals"),
    [(0, (0.02,)), (0.25, (0.02,) * 4), (0, (0.02, 0.04)), (0.25, (0.02, 0.04)), (0.25, (0.02, 0.03, 0.04))],
)
def test_under_marks_at_random_the_law_rests_at_its_fixed_point(kappa: float, signals: tuple[float, ...]) -> None:
    shares, law = fixed_point(kappa, signals), settled(kappa, signals, 10_000)
    assert sum(law) == pytest.approx(sum(shares), rel=0.03)
    # Shares of paths with equal marks wander.
    if len(set(signals)) == len(signals):
        assert law == pytest.approx(shares, rel=0.06)
    # Parts of a DCTCP flow's window sqrt(2) / p on each path, which add up to one.
    parts = [share * p / np.sqrt(2) for share, p in zip(shares, signals, strict=True)]
    assert sum(parts) == pytest.approx(1)
    if kappa == 0:
        assert parts == pytest.approx([1 / len(signals)] * len(signals))


def test_on_one_bottleneck_the_fluid_of_a_connection_is_dctcps_whatever_its_subflows() -> None:
    dctcp = course(packets.scene(DELAY_US, mark=30, connections=0, paths=(0,), dctcp=(2,)), (0.25,), 200, 100, apart=0)
    for paths in PATHS:
        warp = course(one(2, 30, paths), (0.25,), 200, 100, apart=0)
        assert np.allclose(warp.queues, dctcp.queues, atol=1e-6)
        assert np.allclose(warp.shares.sum(axis=2), dctcp.beside[:, :, 0], atol=1e-6)


def test_on_one_bottleneck_the_queue_is_dctcps_sawtooth_whatever_the_subflows() -> None:
    """K + N and, with A = sqrt(2 N (C d + K)) / 2, K + N - A (DCTCP, SIGCOMM 2010, section 3.3)."""
    for paths in PATHS:
        scene = one(2, 30, paths)
        top = scene.mark + scene.connections
        height = np.sqrt(2 * scene.connections * (scene.bdp + scene.mark)) / 2
        found = packets.run(scene, DELAY_US, 0.25)
        assert abs(found.high - top) <= 2
        assert abs(found.low - (top - height)) <= 4
        assert found.utilisation > 0.999


@pytest.mark.parametrize(("mark", "full"), [(5, False), (10, False), (20, True), (25, True)])
def test_a_seventh_of_the_product_keeps_a_link_full_whatever_the_subflows(mark: int, *, full: bool) -> None:
    """K > C d / 7 for the worst number of connections, (C d + K) / 8; the fluid needs up to a fifth."""
    least = min(float(course(one(n, mark, (0,)), (0.25,), 200, 100).queues.min()) for n in (1, 2, 4, 8, 14))
    assert (least > 0) == full
    used = [packets.run(one(8, mark, paths), DELAY_US, 0.25, end_ms=60).utilisation for paths in PATHS]
    assert all((value > 0.999) == full for value in used), used


def test_the_linear_loop_turns_at_four_tenths_of_alpha() -> None:
    """By the gain at half a turn, and by eigenvalues."""
    for alpha in (0.02, 0.05, 0.1, 0.2):
        kappa = critical_kappa(alpha)
        assert 0.39 < kappa / alpha < 0.46
        assert 8.8 < 2 * np.pi / turn(alpha) < 9.6
        assert fastest_growth(0.95 * kappa, alpha) < 0 < fastest_growth(1.05 * kappa, alpha)


EMPTIED = "a shift of this size empties subflows, which are then deactivated: 0.010 of the window"
"""The swing of packets with kappa = 1."""


@pytest.mark.parametrize(
    "oscillating",
    [(0.25, 0.5), pytest.param((0.25, 0.5, 1.0), marks=pytest.mark.xfail(strict=True, reason=EMPTIED))],
)
def test_the_shift_oscillates_above_a_kappa_and_then_empties_queues(oscillating: tuple[float, ...]) -> None:
    """The fluid and packets: shares rest up to 0.1, and then swing more with kappa, at most as a relay makes them.

    Packets swing a half to three quarters as much as the fluid, and no more at 1 than at 0.5.
    """
    scene = two(2)
    fluid = course(scene, KAPPAS, 400, 200)
    swing = dict(zip(KAPPAS, fluid.swing(), strict=True))
    found = {kappa: packets.run(scene, DELAY_US, kappa) for kappa in KAPPAS}
    for quiet in (0.0, 0.05, 0.1):
        assert swing[quiet] < 0.025
        assert found[quiet].swing < 0.035
    large = [kappa for kappa in oscillating if kappa >= 0.5]
    assert found[0.1].swing < found[0.25].swing < min(found[kappa].swing for kappa in large)
    assert swing[0.1] < swing[0.25] < swing[0.5] < swing[1.0]
    for kappa in (0.25, 0.5, 1.0):
        # A triangle of kappa / 2 a round up and down, 9.5 rounds long.
        assert max(swing[kappa], found[kappa].swing) < 0.34 * kappa
    assert all(0.3 < found[kappa].swing / swing[kappa] < 0.8 for kappa in oscillating)
    assert [found[kappa].low > 0 for kappa in (0.1, *oscillating)] == [kappa < 0.5 for kappa in (0.1, *oscillating)]
    assert found[0.1].utilisation > 0.999
    assert max(found[kappa].utilisation for kappa in large) < 0.999


def test_on_two_bottlenecks_a_connection_has_less_than_a_dctcp_flow_where_they_mark_by_turns() -> None:
    """They then cut more often, in the fluid twice as often.

    In the fluid, marks of both queues come at once up to kappa = 0.1. Packets are marked by turns whatever kappa is.
    Marks of packets that were sent before both subflows had applied a cut have no effect, which spares some cuts.
    """
    scene = two(1, (4, 4))
    fluid = course(scene, KAPPAS, 600, 300)
    worth = dict(zip(KAPPAS, (fluid.shares.sum(axis=2) / fluid.beside.mean(axis=2)).mean(axis=0), strict=True))
    found = {}
    for kappa in KAPPAS:
        warp, dctcp = packets.run(scene, DELAY_US, kappa).goodputs
        found[kappa] = warp / dctcp
    assert all(0.97 < worth[name] < 1.02 for name in (0.0, 0.05, 0.1))
    assert all(0.45 < worth[name] < 0.55 for name in (0.25, 0.5, 1.0))
    assert all(0.45 < worth < 0.8 for worth in found.values()), found
