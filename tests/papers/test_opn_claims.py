"""The claims about OPN's figures on tables made by hand."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from weft_papers.figure import Claim, Scale
from weft_papers.opn import fig02, fig10, fig11, fig12, fig13, fig15, fig16, settings, two_racks, workloads


def failing(claims: list[Claim]) -> list[int]:
    return [index for index, claim in enumerate(claims) if not claim.holds]


def fig10_table(
    changes: dict[str, float] | None = None, again: int = 80, reordered: dict[str, int] | None = None
) -> pl.DataFrame:
    """Two seeds of two flows each, in the paper's order."""
    late = {"rps": 50, "mmptcp": 20} | (reordered or {})
    found = {"ecmp": 60.0, "rps": 50.0, "mptcp": 40.0, "mmptcp": 38.0, "opn": 20.0, "opn-rtts": 21.0} | (changes or {})
    return pl.DataFrame(
        [
            {"opens": opens, "scheme": name, "seed": seed, "fct_ms": fct + more}
            | {"sent": 200, "again": again, "moved": 0, "timeouts": int(name == "mptcp")}
            | {f"packets_{within}": 200 for within in fig10.WITHIN}
            | {f"reordered_{within}": late.get(name, 0) for within in fig10.WITHIN}
            for opens in fig10.OPENS
            for name, fct in found.items()
            for seed in (1, 2)
            for more in (-1.0, 1.0)
        ]
    )


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (fig10_table(), []),
        (fig10_table({"opn": 39.0}), [0, 6]),
        (fig10_table({"opn": 39.0, "opn-rtts": 39.0}), [0, 1, 3, 6, 8]),
        (fig10_table().with_columns(timeouts=0), [5, 7]),
        (fig10_table({"rps": 61.0}), [2, 3]),
        (fig10_table(again=2), [4]),
        (fig10_table(reordered={"ecmp": 45}), [9]),
        (fig10_table(reordered={"mmptcp": 60}), [10]),
    ],
)
def test_fig10_orders_the_schemes(table: pl.DataFrame, expected: list[int]) -> None:
    assert failing(fig10.claims(table)) == expected


def test_fig10_has_a_column_of_reordering() -> None:
    table = fig10.claims(fig10_table())[0].table
    assert table is not None
    assert "data reordered in its flow, at once" in table.columns
    assert {row[0]: row[3] for row in table.rows}["RPS"] == "25 %"


def fig11_table(changes: dict[tuple[str, str], float] | None = None) -> pl.DataFrame:
    values = {("mptcp", "short"): 100.0, ("opn", "short"): 40.0, ("opn-rtts", "short"): 40.0} | {
        (name, "long"): 100.0 for name in settings.SCHEMES
    }
    values |= {(name, "short"): 90.0 for name in ("ecmp", "rps", "mmptcp")} | (changes or {})
    return pl.DataFrame(
        [
            {"opens": opens, "scheme": name, "seed": seed, "kind": kind, "fct_ms": value, "mbps": value}
            | {"timeouts": int(name == "mptcp")}
            for opens in fig11.OPENS
            for (name, kind), value in values.items()
            for seed in (1, 2)
            for _ in range(2)
        ]
    )


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({("opn", "short"): 52.0}, [0]),
        ({("opn", "short"): 56.0}, [0, 7]),
        ({("rps", "short"): 30.0}, [1, 4]),
        ({("opn-rtts", "short"): 95.0}, [3, 4, 9]),
        ({("opn", "long"): 80.0}, [2]),
    ],
)
def test_fig11_compares_with_mptcp(changes: dict[tuple[str, str], float], expected: list[int]) -> None:
    assert failing(fig11.claims(fig11_table(changes))) == expected


def fig12_table(opn: float = 11.0) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"reading": reading, "scheme": scheme, "cc": cc, "multipath": n, "seed": 1, "again": 0.01, "moved": 0}
            | {"transport": transport, "flows": flows, "mbps": mbps}
            for reading in (fig12.LAST_HOP, fig12.EACH_PATH)
            for scheme in ("opn", "mptcp")
            for cc in fig12.CCS
            for n in (1, 4)
            for transport, flows, mbps in ((scheme, n, opn), ("tcp0", 50, 9.0), ("tcp1", 50, 11.0))
        ]
    )


def test_fig12_is_of_two_means() -> None:
    claims = fig12.claims(fig12_table())
    assert failing(claims) == []
    # (11 + 10)^2 / (2 (121 + 100))
    assert claims[0].measured == "0.998 to 0.998"
    assert failing(fig12.claims(fig12_table(opn=50.0))) == [0, 1]


def test_fig12_pins_as_many_flows_to_each_path() -> None:
    case = next(value for value in fig12.cases(Scale(seeds=1)) if value.labels["reading"] == fig12.EACH_PATH)
    spec: Any = case.experiment.model_dump(mode="json", exclude_none=True)
    pinned = [
        transport["paths"]["path"] for transport in spec["transports"].values() if isinstance(transport["paths"], dict)
    ]
    assert sorted(pinned) == list(range(settings.SPINES))
    assert {len(row["pairs"]) for row in spec["traffic"] if row["name"] != "ours"} == {fig12.TCP_FLOWS}


def workload_table(changes: dict[tuple[str, str], float] | None = None) -> pl.DataFrame:
    """OPN is best, Data Mining slowest, and long flows alike."""
    rows = []
    for workload in workloads.SHARES:
        for name in settings.SCHEMES:
            short = (10.0 if name in settings.OPNS else 20.0) + (1.0 if workload == "data-mining" else 0.0)
            short = (changes or {}).get((workload, name), short)
            mbps = 101.0 if name in settings.OPNS else 100.0
            row = {"workload": workload, "scheme": name, "seed": 1, "sent": 10, "again": 0, "timeouts": 0}
            rows += [row | {"bytes": 5_000, "fct_ms": short, "mbps": 1.0}]
            rows += [row | {"bytes": 2_000_000, "fct_ms": 2_000_000 * 8e-3 / mbps, "mbps": mbps}]
    return pl.DataFrame(rows)


def test_workloads_hold_where_opn_leads() -> None:
    assert failing(fig13.claims(workload_table())) == []
    assert failing(fig15.claims(workload_table())) == []
    assert failing(fig13.claims(workload_table({("web-search", "rps"): 5.0}))) == [0, 1, 2, 3, 7, 8]
    assert failing(fig13.claims(workload_table({("web-server", "rps"): 50.0}))) == [4]
    assert [axes.get_title()[:3] for axes in fig13.plot(workload_table()).axes] == ["(a)", "(b)", "(c)", "(d)"]


def test_cuts_for_all_multipath_schemes_are_compared_with_each_other() -> None:
    rows = workload_table()
    cuts = [rows.filter(scheme=name).with_columns(scheme=pl.lit(f"{name}-dcm")) for name in ("mptcp", "mmptcp", "opn")]
    assert all("DCTCP's cuts" not in claim.claim for claim in fig13.claims(rows))
    # MPTCP with the same cuts is faster than OPN, and MPTCP without them does not count.
    fast = cuts[0].with_columns(fct_ms=pl.col("fct_ms") / 3)
    for others, expected in (([cuts[0]], [True, True]), ([fast], [False, False])):
        found = fig13.claims(pl.concat([rows, *others, *cuts[1:]]))[-2:]
        assert [
            claim.claim.endswith("with a delta of 200 us, and DCTCP's cuts for all multipath schemes")
            for claim in found
        ]
        assert [claim.holds for claim in found] == expected
    assert "Web Search OPN 10 ms, MPTCP with DCM 6.67 ms" in found[0].measured


def test_workloads_are_those_of_table_2() -> None:
    sizes, shares = zip(*workloads.points("data-mining"), strict=True)
    assert sizes == (1, 10_000, 100_000, 1_000_000, 10_000_000)
    assert shares == pytest.approx((0, 0.78, 0.83, 0.91, 1))
    # 90 % in all, taken in proportion; no flows above 1 MB.
    assert workloads.points("web-search")[1] == pytest.approx((10_000, 49 / 90))
    assert workloads.points("web-server")[-1] == (1_000_000, 1)
    assert workloads.mean_bytes("web-server") == pytest.approx(0.63 * 5_000 + 0.18 * 55_000 + 0.19 * 550_000, rel=1e-4)


def fig16_table(opn: float = 4.0) -> pl.DataFrame:
    """FCT falls with the bandwidth of failed paths, and rises with their number."""
    cells = [(8, rate) for rate in (100.0, 500.0, 1000.0)] + [(n, 100.0) for n in (1, 4)]
    return pl.DataFrame(
        [
            {"failed": n, "rate_mbps": rate, "workload": workload, "scheme": name, "seed": 1}
            | {"fct_ms": (opn if name in settings.OPNS else 10.0) * (1 + n * (1100 - rate) / 1e4)}
            for n, rate in cells
            for workload in fig16.WORKLOADS
            for name in settings.SCHEMES
        ]
    )


def test_fig16_looks_along_both_axes() -> None:
    assert failing(fig16.claims(fig16_table())) == []
    assert failing(fig16.claims(fig16_table(opn=7.0))) == [0, 1]
    assert failing(fig16.claims(fig16_table(opn=11.0))) == [0, 1, 3, 4]
    turned = fig16_table().with_columns(fct_ms=1 / pl.col("fct_ms"))
    assert failing(fig16.claims(turned)) == [0, 1, 2, 3, 4, 5]
    assert len(fig16.plot(fig16_table()).axes) == 4


def fig02_table(
    fct: dict[int, float] | None = None, window: float = 5.0, readings: tuple[str, ...] = fig02.READINGS
) -> pl.DataFrame:
    fcts = fct or {1: 40.0, 8: 20.0, 20: 200.0}
    return pl.DataFrame(
        [
            {"reading": reading, "packets": packets, "subflows": n, "seed": 1}
            | {"window": window + 20 - n, "timeouts": n, "fct_ms": ms, "longest_ms": ms}
            for reading in readings
            for packets in fig02.PACKETS
            for n, ms in fcts.items()
        ]
    )


def test_fig02_has_a_best_number_inside() -> None:
    assert failing(fig02.claims(fig02_table())) == []
    assert failing(fig02.claims(fig02_table({1: 40.0, 8: 20.0, 20: 10.0}))) == [3]
    assert failing(fig02.claims(fig02_table(window=50.0))) == [1]


def test_fig02_shows_the_effect_of_the_bound_where_that_was_run() -> None:
    last = fig02.claims(fig02_table(readings=(*fig02.READINGS, fig02.UNBOUND)))[3]
    assert "wait for RTOs: 40 ms with 1, least with 8: 20 ms, 200 ms with 20" in last.note
    assert "window_" not in fig02.claims(fig02_table())[3].note


def test_causes_are_shown_where_they_were_run() -> None:
    rows = workload_table()
    marked = rows.filter(scheme="opn").with_columns(scheme=pl.lit("opn-dcm"), fct_ms=pl.lit(1.0))
    assert "With DCTCP's cuts Data Mining: OPN 200 us with DCM 1 ms" in fig13.claims(pl.concat([rows, marked]))[0].note
    assert "With DCTCP's cuts" not in fig13.claims(rows)[0].note
    rows = fig16_table()
    marked = rows.filter(scheme="opn").with_columns(scheme=pl.lit(fig16.MARKED), fct_ms=pl.col("fct_ms") / 4)
    assert "OPN is 90 to 90 % below" in fig16.claims(pl.concat([rows, marked]))[0].note


def test_only_the_policy_makes_opn_another_mptcp() -> None:
    mptcp, opn = (settings.transport(name) for name in ("mptcp", "opn"))
    assert {key for key in opn if opn[key] != mptcp[key]} == {"paths"}


def test_flows_between_racks_are_spread_over_senders() -> None:
    flows = two_racks.between_racks([200] * 1000, seed=3)
    assert [sender for sender, _, _ in flows[:51]] == [*range(50), 0]
    assert {receiver // 50 for _, receiver, _ in flows} == {1}
    assert flows == two_racks.between_racks([200] * 1000, seed=3)
