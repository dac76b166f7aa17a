"""The statements of the claims of `amp` on Linux: Weft's own experiments at 200 Mbit/s."""

from __future__ import annotations

from datetime import date

from weft_papers.statement import Contradiction, Differs, NotStated, Open, Origin, Statement

FIXED = date(2026, 11, 21)
FIXED_AGAIN = date(2026, 11, 24)
"""The day on which the readings of `linux-shift` were fixed, whose times are two-sided since then."""

REGIME = Differs(
    "a kernel's transport at 200 Mbit/s: the BDP is 3.4 packets, so that nearly all cells are in the minimum window "
    "syndrome, and initial windows of ten packets fill the queue",
    "the packet level at 10 Gbps with the transport of the authors' simulator, where the statement holds (amp/fig06, "
    "amp/fig08 and amp/fig09)",
)
SHIFT = Open(
    "the time to shift depends on the regime: the BDP is 3.4 packets, nearly all windows are at their floor, and "
    "Linux's "
    "LIA halves at marks. 50 Mbit/s with links four times as long does not help. Why XMP does not shift at all with "
    "some seeds was not found"
)
OWN = Statement(origin=Origin.WEFT, fixed=FIXED)


def _said(
    sentence: str, cause: Contradiction | Differs | NotStated | Open | None = None, fixed: date = FIXED
) -> Statement:
    return Statement(sentence=sentence, origin=Origin.LINUX, fixed=fixed, cause=cause)


STATEMENTS: dict[str, dict[str, Statement]] = {
    "amp/linux-fairness": {
        "8 DCTCP flows and 1 XMP flow of 4 subflows: XMP takes several times a DCTCP flow's goodput": _said(
            "the XMP flow obtains 2.3x higher goodput than DCTCP flows"
        ),
        "8 DCTCP flows and 1 AMP flow: AMP takes its fair share": _said(
            "in almost all cases AMP outperforms the other two schemes"
        ),
        "AMP's fairness is the best nearly everywhere": _said(
            "in almost all cases AMP outperforms the other two schemes"
        ),
        "2 and 4 DCTCP flows and 1 AMP flow: AMP takes its fair share": _said(
            "AMP ... improves network fairness between multipath and single-path flows significantly", REGIME
        ),
        "With dctcp_cut AMP takes its fair share with 2, 4 and 8 DCTCP flows (not the paper's algorithm)": OWN,
        "The packet level says the same as the kernel (not the paper's claim)": OWN,
    },
    "amp/linux-incast": {
        "Delayed joins: incast costs AMP no more than DCTCP (not the paper's claim)": OWN,
        "Delayed joins: incast costs AMP, alpha cut no more than DCTCP (not the paper's claim)": OWN,
        "Delayed joins: incast costs XMP and DCM no more than DCTCP (not the paper's claim)": OWN,
        (
            "Delayed joins, flows 50 us apart: incast costs AMP and XMP and DCM no more than DCTCP (not the paper's "
            "claim)"
        ): OWN,
        "Joins at once: AMP is as good as DCTCP up to 30 flows": _said(
            "AMP is as good as DCTCP apart from a case of 40 flows", REGIME
        ),
        "Joins at once: in most cases the mean FCT of AMP is 1 to 2 orders shorter than that of XMP and DCM": _said(
            "in most cases the average FCT of AMP is almost 1-2 orders of magnitude shorter", REGIME
        ),
        "The packet level says the same as the kernel of DCTCP (not the paper's claim)": OWN,
    },
    "amp/linux-shift": {
        **{
            f"{name} finishes its traffic shifting after about {ms} ms at 10 Gbps": _said(
                f"{name}: about {ms}ms", SHIFT, FIXED_AGAIN
            )
            for name, ms in (("AMP", 3), ("XMP", 3), ("DCM", 7), ("MPTCP", 3))
        },
        "The packet level says the same as the kernel (not the paper's claim)": OWN,
        "A constant cut shifts traffic faster than DCM's cut by alpha": _said(
            "a fixed amount of congestion window reduction to ECN signals is suitable", SHIFT
        ),
        "AMP and XMP achieve similar traffic shifting times": _said(
            "both AMP and XMP achieve similar traffic shifting time", SHIFT
        ),
    },
}
