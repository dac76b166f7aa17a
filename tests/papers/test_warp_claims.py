"""The claims about Warp on tables made by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import polars as pl
import pytest

from weft_papers.beyond.all_schemes import OURS
from weft_papers.figure import Claim, Scale
from weft_papers.warp import (
    ablation,
    coexistence,
    incast,
    incast_grid,
    many_to_many,
    permutation,
    shifting,
    slow_paths,
    web_search,
)
from weft_papers.warp.settings import MULTIPATH, RIVALS, SCHEMES, TURNS, WARP

SEEDS = (1, 2)


def frame(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame([row | {"seed": seed} for row in rows for seed in SEEDS], infer_schema_length=None)


def failing(claims: list[Claim]) -> list[int]:
    return [index for index, claim in enumerate(claims) if claim.holds is False]


def undecided(claims: list[Claim]) -> list[int]:
    return [index for index, claim in enumerate(claims) if claim.holds is None]


def beside(cell: Callable[[str, int], tuple[float, float]]) -> pl.DataFrame:
    """Jain's index and ratio by scheme and DCTCP flows, with 4 subflows and 8."""
    return frame(
        [
            dict(zip(coexistence.CELL, (subflows, 20, 5, m, n), strict=True))
            | {"scheme": name, "jain": cell(name, n)[0], "ratio": cell(name, n)[1]}
            for subflows, m, n, name in product((4, 8), coexistence.FLOWS, coexistence.DCTCP_FLOWS, MULTIPATH)
        ]
    )


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (lambda _name, _n: (0.995, 1.0), []),
        (lambda name, n: (0.98 if (name, n) == (WARP, 2) else 1.0, 1.0), [0]),
        (lambda name, n: (1.0, 0.89 if (name, n) == (WARP, 16) else 1.0), [1]),
        (lambda name, n: (0.9, 1.11) if (name, n) == (TURNS, 4) else (1.0, 1.0), [2, 3]),
        (lambda name, _n: (1.0, 1.0) if name in (WARP, TURNS) else (0.5, 3.0), []),
    ],
)
def test_coexistence(cell: Callable[[str, int], tuple[float, float]], expected: list[int]) -> None:
    claims = coexistence.claims(beside(cell))
    assert (failing(claims), undecided(claims)) == (expected, [4])


def test_coexistence_lists_the_cells_that_miss_a_bar() -> None:
    first = coexistence.claims(beside(lambda name, n: (1.0, 0.5 if (name, n) == (WARP, 2) else 1.0)))[0]
    assert first.table is not None
    assert [row[:5] for row in first.table.rows[:2]] == [("4", "20", "5 us", "1", "2"), ("4", "20", "5 us", "2", "2")]
    assert len(first.table.rows) == 6
    assert len(coexistence.plot(beside(lambda _name, _n: (1.0, 1.0))).axes) == len(coexistence.FLOWS)


Burst = Callable[[str, str, int, int], tuple[float, float, float]]


def bursts(of: Burst) -> pl.DataFrame:
    """Mean, 99th percentile and flows with a timeout by scheme, joins, size and k."""
    schemes = [(incast.SINGLE, incast.AT_ONCE), *product(MULTIPATH, incast.JOINS)]
    rows = []
    for gap_us, size_kib, k, (name, joins) in product(incast.GAPS_US, (32, 128), (10, 70), schemes):
        mean, p99, late = of(name, joins, size_kib, k)
        cell = {"gap_us": gap_us, "size_kib": size_kib, "k": k, "scheme": name, "joins": joins, "unfinished": 0}
        rows.append(cell | {"mean_ms": mean, "p99_ms": p99, "late": late})
    return frame(rows)


def good(name: str, _joins: str, _size: int, k: int) -> tuple[float, float, float]:
    return (0.9 if name == WARP and k > 40 else 1.0, 1.0, 5.0)


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        (good, []),
        (
            lambda name, j, s, k: (
                (1.06, 1.0, 5.0) if (name, j, s, k) == (WARP, "at once", 32, 10) else good(name, j, s, k)
            ),
            [0],
        ),
        (lambda name, j, s, k: (0.9, 1.06, 5.0) if (name, j, s) == (WARP, "at once", 32) else good(name, j, s, k), [1]),
        (lambda name, j, s, k: (0.9, 1.0, 5.1) if (name, j) == (WARP, "after 256 KiB") else good(name, j, s, k), [6]),
        (lambda _n, _j, _s, _k: (1.0, 1.0, 0.0), [3, 7]),
    ],
)
def test_incast(of: Burst, expected: list[int]) -> None:
    claims = incast.claims(bursts(of))
    # First with flows that are apart, then with flows that open at one instant.
    assert (failing(claims), undecided(claims)) == ([*expected, *(8 + value for value in expected)], [16, 17])


def test_incast_has_a_panel_a_size_and_way_of_opening() -> None:
    assert len(incast.plot(bursts(good)).axes) == 4


def times(left: Callable[[str, int], float | None]) -> pl.DataFrame:
    """When the shift was over, by scheme and rate of the hosts."""
    return pl.concat(
        frame(
            [
                {"delay_us": delay_us, "host_gbps": host_gbps, "scheme": name, "subflow": subflow, "window": 9.0}
                | {"time_ms": time, "left_ms": left(name, host_gbps), "upper_packets": 5.0, "beside_gbps": 6.0}
                for subflow, time in product((0, 1), (0.0, 1.0))
            ]
        ).with_columns(pl.col("left_ms").cast(pl.Float64))
        for (delay_us, host_gbps), name in product(shifting.SETTINGS, MULTIPATH)
    )


@pytest.mark.parametrize(
    ("left", "expected"),
    [
        (lambda _name, _gbps: 3.0, []),
        (lambda name, gbps: 3.1 if (name, gbps) == (WARP, 20) else 3.0, [3]),
        (lambda name, _gbps: None if name == WARP else 3.0, [0, 1, 2, 3]),
        (lambda name, _gbps: 3.0 if name == WARP else None, []),
    ],
)
def test_shifting(left: Callable[[str, int], float | None], expected: list[int]) -> None:
    assert failing(shifting.claims(times(left))) == expected


def test_shifting_shows_windows() -> None:
    assert len(shifting.plot(times(lambda _name, _gbps: 3.0)).axes) > 4


def fabric(changes: dict[tuple[str, str], float]) -> pl.DataFrame:
    same = {"mbps": 800.0, "jain": 0.9, "queue": 5.0, "late": 0.0}
    rows = [{"hosts": hosts, "scheme": name, **same} for hosts, name in product((128, 1024), SCHEMES)]
    for row in rows:
        row |= {column: value for (name, column), value in changes.items() if name == row["scheme"]}
    return frame(rows)


BETTER = {(WARP, "jain"): 0.95}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (BETTER, []),
        (BETTER | {(WARP, "mbps"): 799.0}, [0, 3]),
        ({}, [1, 4]),
        (BETTER | {("amp", "queue"): 4.9}, [2, 5]),
    ],
)
def test_permutation(changes: dict[tuple[str, str], float], expected: list[int]) -> None:
    assert failing(permutation.claims(fabric(changes))) == expected


def test_permutation_shows_three_numbers_a_size() -> None:
    assert len(permutation.plot(fabric(BETTER)).axes) == 6


def web(slowdown: dict[str, float], mbps: dict[str, float]) -> pl.DataFrame:
    flow: dict[str, Any] = {"entry": OURS, "at_least": None, "timeouts": 0, "sent": 100, "again": 5}
    rows = [
        flow
        | {"load": load, "scheme": name, "bytes": size}
        | {"slowdown": slowdown.get(name, 3.0), "mbps": mbps.get(name, 500.0)}
        for load, name, size in product(web_search.WORKLOADS, web_search.SCHEMES, (50_000, 5_000_000))
    ]
    return frame(rows).with_columns(pl.col("at_least").cast(pl.Float64))


@pytest.mark.parametrize(
    ("slowdown", "mbps", "expected"),
    [
        ({}, {}, []),
        ({"rps": 2.9}, {}, [0, 2, 4, 6]),
        ({TURNS: 2.9}, {TURNS: 900.0}, []),
        ({}, {"lia": 520.0}, []),
        ({}, {"lia": 530.0}, [1, 3, 5, 7]),
    ],
)
def test_web_search(slowdown: dict[str, float], mbps: dict[str, float], expected: list[int]) -> None:
    assert failing(web_search.claims(web(slowdown, mbps))) == expected


def test_web_search_has_two_panels_a_load() -> None:
    assert len(web_search.plot(web({}, {})).axes) == 2 * len(web_search.WORKLOADS)


def slow(mbps: dict[tuple[str, str], float]) -> pl.DataFrame:
    same = {"slowest": 100.0, "jain": 0.9, "late": 0.0}
    names = (*SCHEMES, slow_paths.OPTIMUM)
    return frame(
        [
            {"load": scene, "scheme": name, "mbps": mbps.get((scene, name), 500.0), **same}
            for scene, name in product(slow_paths.SCENES, names)
        ]
    )


@pytest.mark.parametrize(
    ("mbps", "expected"),
    [({}, []), ({("slow", WARP): 449.0}, [0]), ({("lost", slow_paths.OPTIMUM): 560.0}, [1])],
)
def test_slow_paths(mbps: dict[tuple[str, str], float], expected: list[int]) -> None:
    assert failing(slow_paths.claims(slow(mbps))) == expected
    assert len(slow_paths.plot(slow(mbps)).axes) == 2


def test_the_optimum_has_the_paths_of_warp() -> None:
    cases = [case for case in slow_paths.cases(Scale(seeds=1, quick=True)) if case.labels["load"] == "slow"]
    of = {str(case.labels["scheme"]): case.experiment.model_dump() for case in cases}
    best, warp = of[slow_paths.OPTIMUM], of[WARP]
    assert (best["level"], best["sharing"]) == ("flow", "max-min")
    for part in ("topology", "transports", "traffic", "events", "measure"):
        assert best[part] == warp[part]


def many(changes: dict[tuple[str, int, int, str], float]) -> pl.DataFrame:
    """By scheme, subflows, size and column."""
    cells = [(many_to_many.SINGLE, 1), *product(many_to_many.MULTIPATH, many_to_many.SUBFLOWS)]
    rows: list[dict[str, Any]] = []
    for (name, n), size_kib in product(cells, (many_to_many.LONG, *many_to_many.SIZES_KIB)):
        row: dict[str, Any] = {"mbps": 130.0, "jain": 0.96 if name == WARP else 0.95, "mean_ms": 15.0, "p99_ms": 30.0}
        if size_kib == many_to_many.LONG:
            row |= {"mean_ms": None, "p99_ms": None}
        row |= {item: value for (*cell, item), value in changes.items() if cell == [name, n, size_kib]}
        rows.append({"scheme": name, "subflows": n, "size_kib": size_kib, "late": 0.0, "unfinished": 0, **row})
    return frame(rows)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({(WARP, 8, 0, "mbps"): 129.0}, [0]),
        ({("lia", 1, 0, "jain"): 0.96}, [1]),
        ({(WARP, 2, 128, "mean_ms"): 15.8}, [2]),
        ({(WARP, 4, 1024, "p99_ms"): 31.6}, [5]),
        ({("ecmp", 1, 128, "p99_ms"): 28.0}, [3]),
        ({(TURNS, 8, 0, "mbps"): 1.0, (TURNS, 8, 128, "mean_ms"): 99.0}, []),
    ],
)
def test_many_to_many(changes: dict[tuple[str, int, int, str], float], expected: list[int]) -> None:
    claims = many_to_many.claims(many(changes))
    assert failing(claims) == expected
    for table in (claim.table for claim in claims if claim.table is not None):
        assert {len(row) for row in table.rows} == {len(table.columns)}


def test_many_to_many_shows_both_loads() -> None:
    assert len(many_to_many.plot(many({})).axes) == 4


def test_many_send_to_many_in_groups() -> None:
    pairs = many_to_many.pairs(1)
    assert len({(a, b) for a, b in pairs}) == len(pairs) == 16 * 8 * 7
    receivers = [{b for value, b in pairs if value == a} for a, _ in pairs[::7]]
    assert len(receivers) == many_to_many.HOSTS
    assert all(len(receiver) == 7 for receiver in receivers)
    assert many_to_many.pairs(2) != pairs


def test_ablation_judges_nothing() -> None:
    changes = [ablation._name(change) for change in ablation.CHANGES]  # noqa: SLF001
    cells = beside(lambda _name, _n: (1.0, 1.0)).filter(pl.col("scheme") == WARP, subflows=4).drop("scheme", "seed")
    burst = {"mean_ms": 2.0, "p99_ms": 3.0, "late": 0.0, "unfinished": 0.0}
    none = dict.fromkeys(coexistence.CELL, 0) | {"jain": None, "ratio": None, "host_gbps": 0, "left_ms": None}
    rows = [
        row | {"scheme": change, "size_kib": 0, "k": 0, "joins": "", "host_gbps": 0, "gap_us": 0}
        for change in changes
        for row in cells.unique().to_dicts()
    ]
    rows += [
        none | burst | {"scheme": value, "size_kib": 128, "k": k, "joins": incast.AT_ONCE, "gap_us": gap_us}
        for gap_us in incast.GAPS_US
        for value in (*changes, incast.SINGLE)
        for k in ablation.INCAST_FLOWS
    ]
    rows += [
        none
        | {"scheme": ablation._name(value), "delay_us": delay_us, "host_gbps": host_gbps, "left_ms": 7.0}  # noqa: SLF001
        | {"size_kib": 0, "k": 0, "joins": "", "gap_us": 0}
        for value in ablation.SHIFTED
        for delay_us, host_gbps in shifting.QUICK_SETTINGS
    ]
    (claim,) = ablation.claims(frame(rows))
    assert claim.holds is None
    assert claim.table is not None
    assert [row[0] for row in claim.table.rows] == list(ablation.CHANGES)
    assert {len(row) for row in claim.table.rows} == {len(claim.table.columns)}
    assert [row[-1] for row in claim.table.rows[:4]] == ["7 ms", "7 ms", "7 ms", ""]
    assert len(ablation.plot(frame(rows)).axes) == 2


def test_all_rivals_are_there() -> None:
    for name in ("lia", "olia", "balia", "xmp", "dcm", "amp", "amp-cut", "amp-fg", "mmptcp", "opn", "rps"):
        assert name in RIVALS


def grid(of: Callable[[str, int], float]) -> pl.DataFrame:
    """Mean FCT by time of joining and k, in a grid of 20 cells; DCTCP's is 1."""
    cells = [
        dict(zip(("gbps", "limit", "size_kib", "k"), (10, 100, size, k), strict=True))
        for size in range(4)
        for k in range(5)
    ]
    schemes = [(incast.SINGLE, incast.AT_ONCE), *product((WARP,), incast_grid.JOINS)]
    return frame(
        [
            cell | {"scheme": name, "joins": joins, "mean_ms": of(joins, index) if name == WARP else 1.0, "late": 0.0}
            for index, cell in enumerate(cells)
            for name, joins in schemes
        ]
    )


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        (lambda _joins, _cell: 1.1, []),
        (lambda _joins, cell: 9.0 if cell == 7 else 1.0, []),
        (lambda joins, cell: 1.11 if joins == incast.AT_ONCE and cell < 2 else 1.0, [0]),
        (lambda joins, cell: 1.11 if joins == incast_grid.AFTER and cell < 2 else 1.0, [1]),
    ],
)
def test_incast_grid(of: Callable[[str, int], float], expected: list[int]) -> None:
    rows = grid(of)
    claims = incast_grid.claims(rows)
    assert failing(claims) == expected
    assert len(incast_grid.plot(rows).axes) == len(incast_grid.JOINS) * len(incast_grid.MARKS)
