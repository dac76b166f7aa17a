"""The comparison of all schemes, on tables made by hand."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from weft_papers.beyond import all_schemes
from weft_papers.beyond.all_schemes import BURST, LOADS, OURS, SCHEMES, THEIRS
from weft_papers.figure import Claim, Scale


def table(slowdown: dict[str, float] | None = None, mbps: dict[str, float] | None = None) -> pl.DataFrame:
    """Two seeds of two flows of each kind; the first one of a scheme not named is worse than all before it."""
    rows = []
    for load, about in LOADS.items():
        for rank, scheme in enumerate(SCHEMES):
            late, rate = (slowdown or {}).get(scheme, 2.0 + rank), (mbps or {}).get(scheme, 500.0 - rank)
            flow: dict[str, Any] = {"load": load, "scheme": scheme, "timeouts": 0, "sent": 100, "again": 5}
            flow |= {"slowdown": late, "at_least": None, "mbps": rate}
            if about.percent:
                kinds = [(OURS, size) for size in (50_000, 500_000, 5_000_000)]
                kinds += [(BURST, 64_000)] if about.incast else []
                found = [flow | {"entry": entry, "bytes": size} for entry, size in kinds]
            else:
                found = [flow | {"entry": OURS, "bytes": None, "slowdown": None}]
                found += [found[0] | {"entry": THEIRS, "mbps": 400.0}] if about.beside else []
            rows += [
                row | {"seed": seed, "mbps": row["mbps"] * seed} for row in found for seed in (1, 2) for _ in range(2)
            ]
    return pl.DataFrame(rows, schema_overrides={"at_least": pl.Float64, "bytes": pl.Int64})


def only(rows: pl.DataFrame) -> Claim:
    (claim,) = all_schemes.claims(rows)
    return claim


def test_nothing_is_claimed() -> None:
    assert only(table()).holds is None


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (table(), "web search, 30 %: short flows DCTCP, ECMP, slowdown 2"),
        (table({"opn": 1.5}), "web search, 30 %: short flows OPN, 200 us, slowdown 1.5"),
        (table({"amp": 1.5}), "incast of 64 on web search, 50 %: p99 of its flows AMP, slowdown 1.5"),
        (table(mbps={"xmp": 600.0}), "web search, 70 %: long flows XMP, 900 Mbps (600 to 1200)"),
        (table(mbps={"dcm": 600.0}), "permutation: all DCM, 900 Mbps (600 to 1200)"),
        (table(mbps={"lia": 404.0}), "permutation, half of it Reno: fairest LIA, 1.01 of a single path's goodput"),
    ],
)
def test_the_best_is_named(rows: pl.DataFrame, expected: str) -> None:
    assert expected in only(rows).measured.split("; ")


def test_the_one_table_has_all() -> None:
    shown = only(table()).table
    assert shown is not None
    bursts = sum(bool(load.incast) for load in LOADS.values())
    assert len(shown.rows) == len(SCHEMES) * (len(LOADS) + bursts)
    assert {len(row) for row in shown.rows} == {len(shown.columns)}
    of = {(row[0], row[1]): row for row in shown.rows}
    assert of["web search, 30 %", "DCTCP, RPS"][2] == "3; 3"
    assert of["permutation, half of it DCTCP", "DCTCP, ECMP"][6] == "1.25"


def test_flows_that_did_not_end_count() -> None:
    cut = (pl.col("load") == "slow") & (pl.col("scheme") == "ecmp") & (pl.col("bytes") == 50_000)
    rows = table().with_columns(
        slowdown=pl.when(~cut).then("slowdown"), at_least=pl.when(cut).then(pl.lit(90.0)).otherwise("at_least")
    )
    shown = only(rows).table
    assert shown is not None
    line = next(row for row in shown.rows if row[:2] == (LOADS["slow"].label, "DCTCP, ECMP"))
    assert (line[2], line[-1]) == ("at least 90; at least 90", "2")


def test_every_scheme_meets_every_load() -> None:
    found = {(case.labels["load"], case.labels["scheme"]) for case in all_schemes.cases(Scale(seeds=1))}
    assert found == {(load, scheme) for load in LOADS for scheme in SCHEMES}


def test_the_fabric_is_two_to_one() -> None:
    hosts = all_schemes.LEAVES * all_schemes.HOSTS_PER_LEAF
    assert (hosts, all_schemes.HOSTS_PER_LEAF / all_schemes.SPINES) == (320, 2)


def test_half_of_a_permutation_is_single_paths() -> None:
    cases = {
        str(case.labels["load"]): case for case in all_schemes.cases(Scale(seeds=1)) if case.labels["scheme"] == "amp"
    }
    of = [entry.model_dump()["pairs"] for entry in cases["beside-reno"].experiment.traffic]
    assert [len(pairs) for pairs in of] == [160, 160]
    ends = [end for pairs in of for pair in pairs for end in pair]
    assert len(set(ends)) == 320
    assert all(ends.count(end) == 2 for end in set(ends))


def test_plot_shows_every_load() -> None:
    above, below = all_schemes.plot(table()).axes
    assert len(above.get_xticklabels()) == sum(bool(load.percent) for load in LOADS.values())
    assert len(below.get_xticklabels()) == len(LOADS)
    assert len(above.get_yticklabels()) == len(SCHEMES)
