"""The second part of the demo: incast, as in figure 8 of AMP's paper."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from weft import Experiment
from weft.stats import digits
from weft.sweeps.cases import Case
from weft_papers.amp.incast import FLOWS, GAP_US, INTERVAL_S, ROUNDS, SILENCE_S, summary
from weft_papers.amp.settings import LIMIT, PROFILE, SHOWN, SUBFLOWS, K, many_to_one, transport

REPORTED = 30
"""The number of flows k of the runs in the report."""
REPORTED_SEEDS = 5
"""The fewest that have an interval, so that the report can say how sure a difference is."""
REPORTED_ROUNDS = 5
REPORTED_S = 10
"""The duration of a reported run: a flow of the last round can wait for some timeouts."""
SIZE_KB = 128
DELAY_US = 2
SINGLE = "dctcp"
HOLDS = 1.25
"""The largest ratio of AMP's mean FCT to DCTCP's at which AMP holds, as for the claims of figure 8."""
COLUMNS = (
    "k",
    "algorithm",
    "mean FCT (ms)",
    "median (ms)",
    "p95 (ms)",
    "p99 (ms)",
    "flows with a timeout (%)",
    "most timeouts",
)
SEED = 1
"""The seed of the runs of the table."""
TITLE = (
    f"{ROUNDS} rounds, with seed {SEED}, of k flows of {SIZE_KB * 1000:,} bytes to one receiver over 10 Gbps; "
    f"profile {PROFILE}"
)
SETTINGS = (
    f"The switch holds {LIMIT} per link and marks from {K} packets on. AMP, XMP and DCM have {SUBFLOWS} subflows per "
    f"connection, DCTCP has one path, and the flows of a round begin {GAP_US} µs apart."
)


def cases(algorithms: Sequence[str]) -> list[Case]:
    """Returns the runs: every algorithm and number of flows with one seed, and the runs of the report."""
    duration_s = (ROUNDS - 1) * INTERVAL_S + SILENCE_S
    plain = [
        _case(algorithm, k, SEED, _experiment(algorithm, k, ROUNDS, duration_s), probed=False)
        for algorithm in algorithms
        for k in FLOWS
    ]
    probes: list[dict[str, Any]] = [
        {"kind": "flow", "flows": [0, REPORTED // 2, REPORTED - 1]},
        {"kind": "queue", "at": ["s0->r0"], "interval": "100us"},
    ]
    reported = [
        _case(
            algorithm,
            REPORTED,
            seed,
            _experiment(algorithm, REPORTED, REPORTED_ROUNDS, REPORTED_S, probes),
            probed=True,
        )
        for algorithm in algorithms
        for seed in range(1, REPORTED_SEEDS + 1)
    ]
    return [*plain, *reported]


def _case(algorithm: str, k: int, seed: int, experiment: Experiment, *, probed: bool) -> Case:
    labels: dict[str, str | int | float] = {
        "delay_us": DELAY_US,
        "size_kb": SIZE_KB,
        "algorithm": algorithm,
        "k": k,
        "probed": probed,
    }
    return Case(labels, experiment, seed)


def _experiment(
    algorithm: str, k: int, rounds: int, duration_s: int, probes: Sequence[dict[str, Any]] = ()
) -> Experiment:
    return many_to_one(
        f"incast-{algorithm}-{k}x{SIZE_KB}KB-{rounds}-rounds",
        senders=k,
        delay_us=DELAY_US,
        duration=f"{duration_s}s",
        transports={algorithm: transport(algorithm)},
        probes=probes,
        traffic=[
            {
                "kind": "incast",
                "transport": algorithm,
                "flows": k,
                "size": f"{SIZE_KB}KB",
                "gap": f"{GAP_US}us",
                "rounds": rounds,
                "interval": f"{INTERVAL_S}s",
            }
        ],
    )


def table(flows: pl.DataFrame) -> pl.DataFrame:
    """Returns one row for each number of flows and algorithm."""
    return (
        summary(flows)
        .sort("k", maintain_order=True)
        .select(
            "k",
            "algorithm",
            "mean_fct_ms",
            "p50_fct_ms",
            "p95_fct_ms",
            "p99_fct_ms",
            "flows_with_timeout_percent",
            "most_timeouts",
        )
    )


def verdict(cells: pl.DataFrame) -> str:
    """Returns at which k multipath loses to one path, and up to which k AMP holds."""
    lost, held = _lost(cells), _held(cells)
    if lost == _ks(cells):
        multipath = "multipath loses"
    else:
        multipath = f"multipath loses at {_listed(lost)}" if lost else "multipath does not lose"
    amp = f"AMP holds up to k = {held}" if held else "AMP does not hold"
    return f"{multipath}; {amp}"


def caption(cells: pl.DataFrame) -> str:
    """Returns what the plot shows: how much longer flows of the slowest algorithm take than those over one path."""
    k = max(_ks(cells))
    means = {name: _mean(cells, name, k) for name in cells["algorithm"].unique(maintain_order=True)}
    slowest = max(means, key=means.__getitem__)
    if slowest == SINGLE:
        return f"Incast of {k} flows: multipath is faster"
    ratio = digits(means[slowest] / means[SINGLE])
    return f"Incast of {k} flows: {SHOWN[slowest].label} takes {ratio} times as long as one path"


def waits(tcp: Mapping[str, Any]) -> str:
    """Returns a sentence about flows that waited for a timeout.

    Args:
        tcp: The table `tcp` of a resolved transport.
    """
    least, initial = (re.sub("(?<=[0-9])(?=[a-z])", " ", tcp[name]) for name in ("min_rto", "initial_rto"))
    return (
        f"An FCT of about {least} is that of a flow that waited for the minimum RTO, and one of about {initial} that "
        "of a flow that waited for the initial RTO."
    )


def sentences(cells: pl.DataFrame) -> list[str]:
    """Returns the table in words."""
    lost, held = _lost(cells), _held(cells)
    texts = [f"DCTCP over one path has the lowest mean FCT at {_listed(lost)}."] if lost else []
    if held:
        ratios = [_mean(cells, "amp", k) / _mean(cells, SINGLE, k) for k in _ks(cells) if k <= held]
        texts.append(
            f"Up to k = {held}, AMP has {digits(min(ratios))} to {digits(max(ratios))} times the mean FCT of DCTCP."
        )
        others = [name for name in cells["algorithm"].unique(maintain_order=True) if name not in ("amp", SINGLE)]
        texts += [
            f"At k = {held}, {SHOWN[name].label} has {digits(_mean(cells, name, held) / _mean(cells, SINGLE, held))} "
            "times DCTCP's."
            for name in others
        ]
    for name in cells["algorithm"].unique(maintain_order=True):
        late = cells.filter(pl.col("algorithm") == name, pl.col("flows_with_timeout_percent") > 0)
        shares = [
            f"{digits(share)} % at k = {k}" for k, share in late.select("k", "flows_with_timeout_percent").iter_rows()
        ]
        flows = f"Flows of {SHOWN[name].label} with a timeout:"
        texts.append(f"{flows} {', '.join(shares)}." if shares else f"{flows} none.")
    return texts


def _ks(cells: pl.DataFrame) -> list[int]:
    return sorted(cells["k"].unique())


def _mean(cells: pl.DataFrame, algorithm: str, k: int) -> float:
    return float(cells.filter(algorithm=algorithm, k=k)["mean_fct_ms"].item())


def _lost(cells: pl.DataFrame) -> list[int]:
    """Returns the numbers of flows at which the single path has the lowest mean FCT."""
    lowest = cells.sort("mean_fct_ms").group_by("k", maintain_order=True).first()
    return sorted(lowest.filter(algorithm=SINGLE)["k"])


def _held(cells: pl.DataFrame) -> int | None:
    """Returns the largest number of flows up to which AMP holds."""
    held = None
    for k in _ks(cells):
        if _mean(cells, "amp", k) > HOLDS * _mean(cells, SINGLE, k):
            break
        held = k
    return held


def _listed(ks: Sequence[int]) -> str:
    names = [str(k) for k in ks]
    return f"k = {' and '.join([', '.join(names[:-1]), names[-1]] if len(names) > 1 else names)}"
