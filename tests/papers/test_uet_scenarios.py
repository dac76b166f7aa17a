"""The scenarios of the UEC's simulator: their files, the bars of agreement, and the command."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.command import weft
from weft_papers.figure import Scale
from weft_papers.uet import scenarios
from weft_papers.uet.agreement import ONE_PATH_SEEDS, Comparison, is_in_order
from weft_papers.uet.scenario import QUANTITIES, Kind
from weft_papers.uet.scenario_files import PUBLISHED, load

EXPECTED: dict[str, float | None] = {
    "fct_min_us": 90.0,
    "fct_max_us": 100.0,
    "new": 50.0,
    "rtx": 20.0,
    "rts": 3.0,
    "acks": 40.0,
    "nacks": 20.0,
    "pulls": 0.0,
}


def compare(kind: Kind, *seeds: dict[str, float | None], expected: dict[str, float | None] | None = None) -> Comparison:
    """Compares rows with the expected values; each row has the changes of a seed."""
    rows = [{"flows": 2, "complete": 2} | EXPECTED | changes for changes in (seeds or ({},))]
    return Comparison(kind, EXPECTED | (expected or {}), pl.DataFrame(rows))


def test_published_files() -> None:
    published = load(PUBLISHED)
    assert len({(row.plan, row.number) for row in published}) == len(published) == 95
    assert {len(row.scenario.flows) for row in published} == {1, 2, 3, 15, 16, 21, 127, 1023, 1024}
    assert {row.scenario.network.hosts for row in published} == {2, 16, 128, 1024}
    assert {row.scenario.network.packets for row in published} == {43, 29}
    for row in published:
        assert row.expected["new"] == sum(flow.packets for flow in row.scenario.flows)
    permutations = [row for row in published if row.scenario.kind is Kind.PERMUTATION]
    assert all(len(row.scenario.flows) in (16, 1024) for row in permutations)
    assert sum(row.scenario.kind is Kind.SLOW_LINKS for row in published) == 24
    assert sum(row.scenario.kind is Kind.ONE_PATH for row in published) == 6


def test_slow_links_are_those_down_to_the_first_aggregation_switches() -> None:
    (row,) = (row for row in load(PUBLISHED) if (row.plan, row.number) == ("load_balancing_failed_snd", 1))
    links = row.scenario.spec()["links"]
    assert list(links) == [f"core0.{core}->agg0.0" for core in range(8)]
    assert {link["rate"] for link in links.values()} == {"25Gbps"}


@pytest.mark.parametrize(
    ("kind", "changes", "agrees"),
    [
        (Kind.FEW_FLOWS, {"fct_max_us": 100.00001}, True),
        (Kind.FEW_FLOWS, {"fct_max_us": 100.001}, False),
        (Kind.FEW_FLOWS, {"acks": 41.0}, False),
        (Kind.INCAST, {"fct_max_us": 100.9, "rtx": 21.9, "rts": 30.0, "acks": 80.0}, True),
        (Kind.INCAST, {"fct_max_us": 101.1}, False),
        (Kind.INCAST, {"rtx": 22.1}, False),
        (Kind.INCAST, {"rts": 40.0}, False),
        (Kind.PERMUTATION, {"fct_max_us": 98.1, "rtx": 0.0}, True),
        (Kind.PERMUTATION, {"fct_max_us": 97.9}, False),
        (Kind.PERMUTATION, {"new": 51.0}, False),
        (Kind.PERMUTATION, {"complete": 1.0}, False),
        (Kind.SLOW_LINKS, {"fct_max_us": 104.9}, True),
        (Kind.SLOW_LINKS, {"fct_max_us": 105.1}, False),
    ],
)
def test_bars(kind: Kind, changes: dict[str, float | None], agrees: bool) -> None:  # noqa: FBT001
    assert compare(kind, changes).agrees is agrees
    assert compare(kind, changes, expected={"fct_max_us": None}).agrees is None


def test_few_flows_are_equal_with_each_seed() -> None:
    assert compare(Kind.FEW_FLOWS, {}, {"acks": 41.0}).agrees is False


def test_the_mean_over_the_seeds_decides() -> None:
    assert compare(Kind.PERMUTATION, {"fct_max_us": 97.0}, {"fct_max_us": 103.0}).agrees is True


@pytest.mark.parametrize(("low", "high", "agrees"), [(99.0, 108.0, True), (100.5, 109.5, False), (80.0, 89.0, False)])
def test_one_path_is_within_the_range_of_ten_seeds(low: float, high: float, agrees: bool) -> None:  # noqa: FBT001
    step = (high - low) / (ONE_PATH_SEEDS - 1)
    seeds: list[dict[str, float | None]] = [{"fct_max_us": low + step * seed} for seed in range(ONE_PATH_SEEDS)]
    assert compare(Kind.ONE_PATH, *seeds).agrees is agrees
    assert compare(Kind.ONE_PATH, *seeds[1:]).agrees is None


def test_order_of_load_balancers() -> None:
    def one(published: float, measured: float) -> Comparison:
        return compare(Kind.SLOW_LINKS, {"fct_max_us": measured}, expected={"fct_max_us": published})

    assert is_in_order(one(100, 102), [one(106, 103), one(94, 99)])
    assert not is_in_order(one(100, 102), [one(106, 101)])
    assert not is_in_order(one(100, 102), [one(94, 103)])
    assert is_in_order(one(100, 102), [one(104, 101)])


def test_one_path_has_ten_seeds() -> None:
    seeds: dict[tuple[Any, Any], int] = {}
    for case in scenarios.cases(Scale(seeds=2)):
        key = (case.labels["plan"], case.labels["number"])
        seeds[key] = seeds.get(key, 0) + 1
    assert sorted(seeds.values()) == [2] * 89 + [10] * 6


HEADER = ["plan", "number", "title", "cc", "matrix", "load_balancing", "paths", "options", *QUANTITIES]


def test_command_compares_a_file(tmp_path: Path) -> None:
    (tmp_path / "matrices").mkdir()
    (tmp_path / "matrices" / "own.csv").write_text("from,to,start_us,size_bytes\n0,1,0,4086\n")
    text = io.StringIO()
    ten, own = ("test_cr_1f1m10p", "mixed", 64, "end=1000"), ("own", "reps", 64, "end=1000")
    exact = (17.0107, 17.0107, 10, 0, 0, 4, 0, 0)
    csv.writer(text).writerows(
        [
            HEADER,
            ["a", 1, "ten", "sender", *ten, *exact],
            ["a", 2, "ten, wrong", "sender", *ten, *exact[:5], 5, 0, 0],
            ["a", 3, "", "both", *own, *[""] * 8],
        ]
    )
    (tmp_path / "mine.csv").write_text(text.getvalue())
    ended = weft("reproduce", "uet", "--scenarios", "mine.csv", "--json", "--seeds", "1", "--out", "out", cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    (figure,) = json.loads(ended.out)["figures"]
    assert [(claim["claim"], claim["holds"]) for claim in figure["claims"]] == [
        ("a 1: ten", True),
        ("a 2: ten, wrong", False),
        ("a 3", None),
    ]
    assert figure["claims"][2]["measured"].startswith("first 14.0227, last 14.0227, new 1, rtx 0, RTS 0, ACKs 1, ")
    assert figure["claims"][1]["paper"].endswith("ACKs 5, NACKs 0, pulls 0")
    rows = {row[0]: row[1:] for row in figure["claims"][1]["table"]["rows"]}
    assert rows["acknowledgements received"] == ["5", "4", "4", "4"]
    printed = weft("reproduce", "uet", "--scenarios", "mine.csv", "--seeds", "1", cwd=tmp_path)
    assert printed.code == 0
    assert [line.split()[-1] for line in printed.out.splitlines() if line.startswith("  a ")][:2] == [
        "agrees",
        "DIFFERS",
    ]
