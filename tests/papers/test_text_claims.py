"""The claims about statements of AMP's text on tables made by hand."""

from __future__ import annotations

import polars as pl
import pytest

from weft_papers.amp import incast, text
from weft_papers.amp.settings import DELAY_US, STATED_DELAY_US
from weft_papers.amp.text import CELLS, CROWD, ECN_SCHEMES, INCAST_SCHEMES, SIZES_KB, WITH_ECN, WITHOUT_ECN, WITHOUT_SSR
from weft_papers.figure import Claim, Scale

INCAST, BETTER, SYNDROME, FAIRER, SHOWN, DELAY, CROWDED, STATED, INCREASE, TWO = range(10)


def row(setting: str, delay_us: int, cell: tuple[int, int, int], algorithm: str, **values: object) -> pl.DataFrame:
    size_kb, k, dctcp_flows = cell
    empty = dict.fromkeys(("fct_ms", "unfinished_ms", "goodput_gbps", "queue", "low"))
    labels = {"setting": setting, "delay_us": delay_us, "size_kb": size_kb, "k": k, "dctcp_flows": dctcp_flows}
    fields = {**labels, "algorithm": algorithm, "of": algorithm, "timeouts": 0, **empty, **values}
    types = dict.fromkeys(empty, pl.Float64)
    return pl.concat(pl.DataFrame([fields | {"seed": seed}], schema_overrides=types) for seed in (1, 2))


def table(
    *,
    plain_ms: float = 500.0,
    amp_ms: float = 2.0,
    plain_gbps: float = 4.0,
    amp_gbps: float = 1.2,
    queue: float = 20.0,
    low: float = 20.0,
    agnostic: tuple[float, float] = (5.0, 1.0),
    two_gbps: float = 4.5,
) -> pl.DataFrame:
    """Two seeds of the paper's numbers, one flow for each transport of a run."""
    fct = {"dctcp": 2.0, "amp": amp_ms, **dict.fromkeys(WITHOUT_ECN, plain_ms), **dict.fromkeys(WITH_ECN, 40.0)}
    gbps = {"amp": amp_gbps, **dict.fromkeys(WITHOUT_ECN, plain_gbps), **dict.fromkeys(WITH_ECN, 3.0)}
    increases = {WITHOUT_SSR: agnostic, "mptcp": (5.0, 1.0), "xmp": (5.0, 1.0), "amp": (5.0, 1.0)}
    near, far = STATED_DELAY_US, DELAY_US
    return pl.concat(
        [
            *(
                row(text.INCAST, near, (size, k, 0), name, fct_ms=fct[name])
                for size in SIZES_KB
                for k in incast.FLOWS
                for name in INCAST_SCHEMES
            ),
            *(
                row(text.RACKS, near, (0, m, n), name, of=of, goodput_gbps=gbps[name] if of == name else 1.0)
                for m, n in CELLS
                for name in gbps
                for of in (name, "dctcp")
            ),
            *(
                row(text.SYNDROME, delay_us, (0, m, n), name, queue=10.0 if name == "dctcp" else queue, low=5.0)
                for delay_us in (near, far)
                for m, n in CELLS
                for name in ("dctcp", *ECN_SCHEMES)
            ),
            *(
                row(text.SYNDROME, delay_us, (0, 0, CROWD), "dctcp", queue=20.0, low=low, goodput_gbps=0.5)
                for delay_us in (near, far)
            ),
            *(
                row(text.FABRIC, near, (0, 4, 0), name, of=of, **{column: values[at]})
                for name, values in increases.items()
                for at, (of, column) in enumerate((("long", "goodput_gbps"), ("short", "fct_ms")))
            ),
            *(row(text.FULL, near, (0, r, 0), "xmp", goodput_gbps={2: two_gbps, 4: 5.0}[r]) for r in (2, 4)),
        ]
    )


def failing(claims: list[Claim]) -> list[int]:
    return [index for index, claim in enumerate(claims) if claim.holds is False]


def test_holds_for_the_papers_numbers() -> None:
    claims = text.claims(table())
    assert failing(claims) == []
    assert [index for index, claim in enumerate(claims) if claim.holds is None] == [SHOWN, STATED]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (table(plain_ms=10.0), [INCAST]),
        (table(amp_ms=600.0), [BETTER]),
        (table(plain_gbps=1.5), [SYNDROME]),
        (table(amp_gbps=5.0), [FAIRER]),
        (table(queue=10.5), [DELAY]),
        (table(low=9.0), [CROWDED]),
        (table(agnostic=(4.6, 1.0)), [INCREASE]),
        (table(agnostic=(5.0, 1.1)), [INCREASE]),
        (table(two_gbps=4.0), [TWO]),
    ],
)
def test_each_can_fail(rows: pl.DataFrame, expected: list[int]) -> None:
    assert failing(text.claims(rows)) == expected


def test_long_flows_of_half_of_the_hosts_form_a_cycle() -> None:
    (case,) = (
        case
        for case in text.cases(Scale(seeds=1))
        if (case.labels["setting"], case.labels["algorithm"]) == (text.FABRIC, "amp")
    )
    pairs = case.experiment.traffic[0].model_dump()["pairs"]
    senders, receivers = zip(*pairs, strict=True)
    assert len(set(senders)) == len(pairs) == 64
    assert set(senders) == set(receivers)


def test_plot_has_both_panels() -> None:
    assert len(text.plot(table()).axes) == 2
