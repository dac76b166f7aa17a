"""The claims of the figure on fabrics' sizes, from tables made by hand."""

from __future__ import annotations

import polars as pl
import pytest

from weft_papers.beyond import fabric_size
from weft_papers.figure import Scale
from weft_papers.paper import find_figures
from weft_papers.reproduce import judge

NEEDED, SLOWEST = range(2)


def table(needed: dict[tuple[int, int], int], tried: tuple[int, ...] = tuple(range(1, 11))) -> pl.DataFrame:
    """A table in which `needed` subflows reach the target, by hosts and percentage of failed links; two seeds."""
    rows = [
        {
            "hosts": hosts,
            "failed": failed,
            "subflows": n,
            "seed": seed,
            "mean": 0.95 * (0.92 if n >= least else 0.5),
            "slowest": (0.1 if n == 1 else 0.5) + 0.01 * seed,
            "jain": 0.9,
            "best": 0.95,
        }
        for (hosts, failed), least in needed.items()
        for n in tried
        for seed in (1, 2)
    ]
    return pl.DataFrame(rows)


ALL = {(1024, 0): 7, (1024, 1): 8, (1024, 5): 9, (8192, 0): 8, (8192, 1): 8, (8192, 5): 11}


def test_nothing_is_claimed_and_all_is_told() -> None:
    claims = fabric_size.claims(table(ALL))
    assert [claim.holds for claim in claims] == [None, None]
    assert claims[NEEDED].measured == "1,024 to 8,192 hosts, 0 % down: 7, 8; 1 % down: 8, 8; 5 % down: 9, more than 10"
    assert claims[SLOWEST].measured.startswith("0 % down: 11.5 % (11 to 12) and 51.5 % (51 to 52), 11.5 %")


def test_no_verdict_by_seed_where_there_is_none() -> None:
    [figure] = find_figures("beyond/fabric-size")
    assert [claim.by_seed for claim in judge(figure, table(ALL))] == [(), ()]


def test_gap_below_the_number_that_reaches_the_target_is_named() -> None:
    rows = table(ALL, tried=(1, 4, 8))
    assert fabric_size.claims(rows)[NEEDED].measured.startswith(
        "1,024 to 8,192 hosts, 0 % down: at most 8, at most 8; "
    )
    assert fabric_size.claims(rows)[NEEDED].measured.endswith("5 % down: more than 8, more than 8")


def test_target_is_a_share_of_the_remaining_capacity() -> None:
    rows = table(ALL)
    assert fabric_size.claims(rows.with_columns(best=1.0))[NEEDED].measured.startswith(
        "1,024 to 8,192 hosts, 0 % down: more than 10"
    )


def test_table_has_a_line_a_size_and_failure() -> None:
    shown = fabric_size.claims(table(ALL))[NEEDED].table
    assert shown is not None
    assert [row[:4] for row in shown.rows[:2]] == [("1,024", "0 %", "2", "7"), ("1,024", "1 %", "2", "8")]
    assert shown.rows[0][-4:] == ("92 %",) * 4


@pytest.mark.parametrize(("failed", "best"), [(0, 1.0), (50, 0.75)])
def test_best_throughput_is_traffic_between_pods_over_remaining_links(failed: int, best: float) -> None:
    """The hosts of three of four pods send to another one: half of the 16 cables carry 8 of these 12 flows."""

    class Made:
        flows = pl.DataFrame(
            {
                "from": [f"h{n}" for n in range(16)],
                "to": [f"h{(n + 4) % 16 if n < 12 else (n + 1) % 4 + 12}" for n in range(16)],
                "goodput_bps": [1e9] * 16,
            }
        )
        manifest = {  # noqa: RUF012 - as a result has it
            "spec": {"events": [{"fraction": failed / 100}] if failed else []},
            "flow": {"iterations": 1},
        }

    assert fabric_size.measure(Made())["best"].item() == best  # type: ignore[arg-type]


def test_links_die_between_aggregation_and_core() -> None:
    cases = fabric_size.cases(Scale(seeds=1))
    layers = {event.layer for case in cases for event in case.experiment.events or []}
    assert layers == {"agg-core"}
    fractions = {sum(event.fraction or 0 for event in case.experiment.events or []) for case in cases}
    assert fractions == {0, 0.01, 0.05}


def test_large_sizes_have_no_more_seeds_than_time_allows() -> None:
    cases = fabric_size.cases(Scale(seeds=5))
    seeds = {hosts: {case.seed for case in cases if case.labels["hosts"] == hosts} for hosts in (1024, 1_024_000)}
    assert seeds == {1024: {1, 2, 3, 4, 5}, 1_024_000: {1}}


def test_plot_has_a_panel_for_either() -> None:
    assert len(fabric_size.plot(table(ALL)).axes) == 2
