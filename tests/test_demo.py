"""The sentences of the demo follow from its tables, also from other numbers."""

from __future__ import annotations

import polars as pl

from weft_papers import demo_incast, demo_permutation
from weft_papers.amp.settings import PROFILE
from weft_papers.demo_permutation import FAILED, WORKS


def permutation(dctcp: float, amp: float) -> pl.DataFrame:
    rows = [
        {"links": links, "algorithm": name, "mean_gbps": gbps, "slowest_gbps": gbps / 2}
        for links in (WORKS, FAILED)
        for name, gbps in (("amp", amp), ("xmp", 9.5), ("dctcp", dctcp))
    ]
    return pl.DataFrame(rows)


def incast(amp: tuple[float, float], xmp: tuple[float, float], late: float = 0.0) -> pl.DataFrame:
    rows = [
        {"k": k, "algorithm": name, "mean_fct_ms": ms, "flows_with_timeout_percent": late if name == "xmp" else 0.0}
        for index, k in enumerate((10, 20))
        for name, ms in (("amp", amp[index]), ("xmp", xmp[index]), ("dctcp", 1.0))
    ]
    return pl.DataFrame(rows)


def test_permutation_says_who_wins() -> None:
    assert demo_permutation.verdict(permutation(7, 9)) == "multipath wins"
    assert demo_permutation.verdict(permutation(9.2, 9)) == "multipath wins in part of the table"
    assert demo_permutation.verdict(permutation(10, 9)) == "multipath loses"
    assert demo_permutation.sentences(permutation(7, 9))[:2] == [
        "If all links work, AMP and XMP have a mean goodput of 9 to 9.5 Gbps, and DCTCP over one path has 7 Gbps.",
        "Their slowest flows have 4.5 to 4.75 Gbps, 1.29 to 1.36 times as much; DCTCP's has 3.5 Gbps.",
    ]


def test_incast_says_who_loses_and_how_far_amp_holds() -> None:
    assert demo_incast.verdict(incast((1.1, 1.2), (3, 4))) == "multipath loses; AMP holds up to k = 20"
    assert demo_incast.verdict(incast((1.1, 2), (3, 4))) == "multipath loses; AMP holds up to k = 10"
    assert demo_incast.verdict(incast((2, 1), (0.9, 0.8))) == "multipath does not lose; AMP does not hold"
    assert (
        demo_incast.caption(incast((1.1, 1.2), (3, 4))) == "Incast of 20 flows: XMP takes 4 times as long as one path"
    )
    assert demo_incast.caption(incast((0.8, 0.9), (0.8, 0.9))) == "Incast of 20 flows: multipath is faster"
    assert demo_incast.verdict(incast((1.1, 1.2), (0.9, 4))) == "multipath loses at k = 20; AMP holds up to k = 20"
    assert demo_incast.sentences(incast((1.1, 2), (3, 4), late=5.0)) == [
        "DCTCP over one path has the lowest mean FCT at k = 10 and 20.",
        "Up to k = 10, AMP has 1.1 to 1.1 times the mean FCT of DCTCP.",
        "At k = 10, XMP has 3 times DCTCP's.",
        "Flows of AMP with a timeout: none.",
        "Flows of XMP with a timeout: 5 % at k = 10, 5 % at k = 20.",
        "Flows of DCTCP with a timeout: none.",
    ]


def test_timeouts_are_those_of_the_profile() -> None:
    tcp = {"min_rto": "10ms", "initial_rto": "3s"}
    assert demo_incast.waits(tcp) == (
        "An FCT of about 10 ms is that of a flow that waited for the minimum RTO, and one of about 3 s that of a flow "
        "that waited for the initial RTO."
    )
    for case in demo_incast.cases(["amp"]):
        assert case.experiment.transports["amp"].profile == PROFILE
    for case in demo_permutation.cases(["amp"]):
        assert case.experiment.transports["amp"].profile == demo_permutation.PROFILE


def test_titles_state_rounds_seeds_sizes_and_profiles() -> None:
    plain = next(case for case in demo_incast.cases(["amp"]) if not case.labels["probed"])
    (traffic,) = plain.experiment.model_dump()["traffic"]
    for words in (f"{traffic['rounds']} rounds, with seed {plain.seed},", "128,000 bytes", "profile amp-2019"):
        assert words in demo_incast.TITLE
    assert "3 seeds; profile linux" in demo_permutation.TITLE
    reported = {case.experiment.name for case in demo_incast.cases(["amp"]) if case.labels["probed"]}
    assert reported == {"incast-amp-30x128KB-5-rounds"}
