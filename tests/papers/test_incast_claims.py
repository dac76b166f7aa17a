"""The claims of figures 2 and 8 on tables made by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from weft_papers.amp import fig02, fig08
from weft_papers.amp.incast import FLOWS, extent, mean_ratios, plot_fct, summary
from weft_papers.amp.incast import table as ratio_table
from weft_papers.figure import Claim, Table

Cell = tuple[list[float], list[int]]
"""FCTs in ms and timeouts of a cell's flows."""

FIG02 = (*fig02.ALGORITHMS, *fig02.SHORT_RTO, *fig02.STALLED)
FIG08 = (*fig08.ALGORITHMS, fig08.WITHOUT, *fig08.EARLIER, *fig08.STALLED, *fig08.LINUX)

QUICK: Cell = ([1.9, 2.1], [0, 0])
WAITING: Cell = ([2.0, 800.0, 1500.0, 2500.0], [0, 7, 7, 16])


def table(
    algorithms: tuple[str, ...], sizes_kb: tuple[int, ...], cell: Callable[[str, int, int], Cell]
) -> pl.DataFrame:
    return pl.concat(
        pl.DataFrame(
            {
                "delay_us": delay_us,
                "size_kb": size_kb,
                "algorithm": algorithm,
                "k": k,
                "seed": seed,
                "round": 0,
                "fct_ms": cell(algorithm, size_kb, k)[0],
                "unfinished_ms": None,
                "timeouts": cell(algorithm, size_kb, k)[1],
                "suppressions": 0,
            }
        )
        for delay_us in (2, 5)
        for size_kb in sizes_kb
        for algorithm in algorithms
        for k in FLOWS
        for seed in (1, 2)
    )


def as_in_the_paper(algorithm: str, size_kb: int, k: int) -> Cell:
    if algorithm in ("xmp", "dcm") and size_kb > 64 and k >= 20:
        return WAITING
    if (algorithm, size_kb, k) == ("amp", 128, 30):
        return [1.0, 3.0], [0, 0]
    fcts, timeouts = QUICK
    return ([1.5 * fct for fct in fcts] if algorithm == "amp" and k == 40 and size_kb > 64 else fcts), timeouts


def upside_down(algorithm: str, size_kb: int, k: int) -> Cell:
    del size_kb, k
    return WAITING if algorithm in ("amp", "dctcp", fig08.DELAYED) else QUICK


def failing(claims: list[Claim]) -> list[str]:
    return [claim.claim for claim in claims if claim.holds is False]


def test_fig02_holds_for_the_papers_numbers() -> None:
    assert failing(fig02.claims(table(FIG02, (128,), as_in_the_paper))) == []


def test_fig02_fails_upside_down() -> None:
    claims = fig02.claims(table(FIG02, (128,), upside_down))
    assert failing(claims) == [claim.claim for claim in claims if claim.holds is not None]


def test_fig02_needs_timeouts_behind_slow_flows() -> None:
    rows = table(FIG02, (128,), as_in_the_paper).with_columns(timeouts=pl.lit(0))
    assert failing(fig02.claims(rows)) == [
        "Retransmission timeouts are what makes some flows of DCM and XMP much slower"
    ]


def test_fig08_holds_for_the_papers_numbers() -> None:
    assert failing(fig08.claims(table(FIG08, fig08.SIZES_KB, as_in_the_paper))) == []


def test_fig08_fails_upside_down() -> None:
    rows = table(FIG08, fig08.SIZES_KB, upside_down).with_columns(suppressions=pl.lit(1))
    claims = fig08.claims(rows)
    # Upside down AMP is as slow as DCTCP.
    as_good = "AMP is as good as DCTCP up to 30 flows"
    assert failing(claims) == [claim.claim for claim in claims if claim.holds is not None and claim.claim != as_good]


def test_fig08_quick_lacks_large_flows() -> None:
    rows = table(FIG08, fig08.SIZES_KB[:3], as_in_the_paper).filter(delay_us=5)
    assert failing(fig08.claims(rows)) == []
    assert not any(claim.claim.startswith("1 MB") for claim in fig08.claims(rows))


def test_ratio_is_of_means_seed_by_seed() -> None:
    rows = pl.DataFrame(
        {
            "size_kb": 128,
            "k": 10,
            "algorithm": ["dctcp", "dctcp", "xmp", "xmp", "dctcp", "xmp"],
            "seed": [1, 1, 1, 1, 2, 2],
            "fct_ms": [1.0, 3.0, 10.0, None, 4.0, 8.0],
            # It counts with what it had taken when the run ended.
            "unfinished_ms": [None, None, None, 30.0, None, None],
        }
    )
    ratios = mean_ratios(rows, ["xmp"], to="dctcp")
    assert ratios["ratio"].to_list() == [(20 / 2 + 8 / 4) / 2]
    assert extent(ratios) == "XMP 6 to 6"
    assert ratio_table(ratios) == Table(("size", "algorithm", "k = 10"), (("128 KB", "XMP", "6"),))


def test_plot_shows_measured_points_at_their_places() -> None:
    """Bars end at percentiles of the flows, and bars stand at the numbers of flows of their algorithm."""
    rows = table(("amp", "xmp"), (128,), as_in_the_paper)
    panel = plot_fct(rows, ("amp", "xmp"), "Incast").axes[0]
    assert [tick.get_text() for tick in panel.get_xticklabels()] == [str(k) for k in FLOWS]
    figure = panel.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    ticks = [tick.get_text() for tick in panel.get_yticklabels()]
    assert len(ticks) >= 3
    assert all(float(tick.replace(",", "")) > 0 for tick in ticks)  # plain numbers of milliseconds
    points = summary(rows.filter(algorithm="xmp")).sort("k")
    xmp = panel.get_lines()[1]
    assert np.asarray(xmp.get_ydata()).tolist() == points["mean_fct_ms"].to_list()
    assert np.asarray(xmp.get_xdata()).round().tolist() == list(range(len(FLOWS)))
    # Of each algorithm the outer percentiles, then the inner ones.
    bars = [
        [segment[:, 1].tolist() for segment in lines.get_segments()]
        for lines in panel.collections
        if hasattr(lines, "get_segments")
    ]
    assert bars[2] == [list(pair) for pair in zip(points["p5_fct_ms"], points["p95_fct_ms"], strict=True)]


def test_unfinished_flows_are_counted() -> None:
    rows = table(("amp",), (128,), as_in_the_paper).with_columns(fct_ms=pl.lit(None, pl.Float64))
    assert summary(rows)["unfinished"].to_list() == summary(rows)["flows"].to_list()


def test_title_fits_above_a_single_panel() -> None:
    plot = plot_fct(table(("amp", "xmp"), (128,), as_in_the_paper), ("amp", "xmp"), "Figure 2: incast of 128 KB flows")
    plot.draw_without_rendering()
    (title,) = (text for text in plot.texts if text.get_text().startswith("Figure 2"))
    box = title.get_window_extent()
    assert 0 <= box.x0 < box.x1 <= plot.bbox.width
