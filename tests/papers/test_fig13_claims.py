"""The claims of figure 13 on tables made by hand."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl
import pytest

from weft_papers.amp import fig13
from weft_papers.figure import Scale

BODY_MS = dict.fromkeys((*fig13.ALGORITHMS, fig13.CONSTANT), 1.0)
"""FCT of nine short flows in ten."""
TAIL_MS = {"amp": 2.0, "xmp": 2.1, "dcm": 2.5, "dctcp": 3.0, fig13.CONSTANT: 2.0}
"""FCT of the others."""
GBPS = {"amp": 8.0, "xmp": 8.2, "dcm": 8.4, "dctcp": 5.0, fig13.CONSTANT: 7.5}
SCHEMA = {"what": pl.String, "stage": pl.String, "value": pl.Float64}
USED = {"amp": 0.48, "xmp": 0.49, "dcm": 0.5, "dctcp": 0.31, fig13.CONSTANT: 0.45}


def table(
    body_ms: dict[str, float], tail_ms: dict[str, float], gbps: dict[str, float], used: dict[str, float], *, quick: bool
) -> pl.DataFrame:
    if quick:
        runs: Iterable[tuple[int, float, int, int]] = [(2, fig13.QUICK_SECONDS, 256, 1)]
    else:
        others = [(2, fig13.PAPER_SECONDS, 256, 1), (5, fig13.SECONDS, 256, 1), (2, fig13.SECONDS, 64 * 256, 1)]
        runs = [(2, fig13.SECONDS, 256, seed) for seed in (1, 2, 3)] + others
    parts = []
    for delay_us, seconds, short_flows, seed in runs:
        for name, body in body_ms.items():
            values: list[tuple[str, str | None, float]] = [("fct_ms", None, body)] * 88
            values += [("fct_ms", None, tail_ms[name])] * 13
            values += [("goodput_gbps", None, gbps[name])]
            values += [("utilisation", stage, used[name]) for stage in fig13.STAGES for _ in ("up", "down")]
            part = pl.DataFrame(values, schema=SCHEMA, orient="row")
            labels = {
                "delay_us": delay_us,
                "seconds": seconds,
                "short_flows": short_flows,
                "algorithm": name,
                "short": "dctcp",
                "seed": seed,
            }
            parts.append(part.with_columns(pl.lit(value).alias(label) for label, value in labels.items()))
    return pl.concat(parts).with_columns(at_least=pl.lit(None, pl.Float64))


def swapped(fct_ms: float) -> pl.DataFrame:
    """The table of one seed, with short flows by the multipath protocols and long DCTCP flows."""
    rows = table(BODY_MS, TAIL_MS, GBPS, USED, quick=True)
    base = rows.filter(algorithm="dctcp", seed=1)
    value = pl.when(what="fct_ms").then(pl.col("value") * fct_ms).otherwise("value")
    return pl.concat(
        [rows, *(base.with_columns(value=value, short=pl.lit(name)) for name in fig13.MULTIPATH)], how="diagonal"
    )


def verdicts(**changes: dict[str, float]) -> list[bool | None]:
    values = {"body_ms": BODY_MS, "tail_ms": TAIL_MS, "gbps": GBPS, "used": USED}
    changed = {name: of | changes.get(name, {}) for name, of in values.items()}
    return [claim.holds for claim in fig13.claims(table(**changed, quick=False))]


@pytest.mark.parametrize("quick", [False, True])
def test_holds_for_the_papers_findings(quick: bool) -> None:  # noqa: FBT001
    claims = fig13.claims(table(BODY_MS, TAIL_MS, GBPS, USED, quick=quick))
    assert [claim.holds for claim in claims] == [True] * 7
    assert claims[2].measured == "12 %"
    assert ("with 10 s of one seed" in claims[0].note) != quick


@pytest.mark.parametrize(
    ("changes", "failing"),
    [
        ({"tail_ms": {"xmp": 2.6}}, {0}),
        ({"tail_ms": {"dcm": 3.1}}, {1}),
        ({"body_ms": {"dcm": 1.2, "dctcp": 1.3}}, {2}),
        ({"tail_ms": {"dcm": 2.15}}, {2}),
        ({"gbps": {"amp": 7.4}}, {3}),
        ({"gbps": {"xmp": 8.5}}, {4}),
        ({"gbps": {"dctcp": 8.1}}, {5}),
        ({"used": {"amp": 0.45}}, {6}),
    ],
)
def test_each_can_fail(changes: dict[str, dict[str, float]], failing: set[int]) -> None:
    assert {n for n, holds in enumerate(verdicts(**changes)) if not holds} == failing


@pytest.mark.parametrize(("fct_ms", "holds"), [(1.05, True), (1.2, False)])
def test_short_flows_by_a_multipath_protocol(fct_ms: float, holds: bool) -> None:  # noqa: FBT001
    assert fig13.claims(swapped(fct_ms))[-1].holds is holds


def test_permutation_has_every_host_send_and_receive_once() -> None:
    for case in fig13.cases(Scale(seeds=2, quick=True)):
        long, short = (entry["pairs"] for entry in case.experiment.model_dump(by_alias=True)["traffic"])
        pairs = [*long, *short]
        assert len(long) == len(short) == 64
        assert {pair[0] for pair in pairs} == {pair[1] for pair in pairs} == set(range(128))
        assert all(sender != receiver for sender, receiver in pairs)
    assert fig13._pairs(1) != fig13._pairs(2)  # noqa: SLF001


def test_plot_has_the_three_panels() -> None:
    plot = fig13.plot(table(BODY_MS, TAIL_MS, GBPS, USED, quick=True))
    assert [axes.get_title()[:3] for axes in plot.axes] == ["(a)", "(b)", "(c)"]
