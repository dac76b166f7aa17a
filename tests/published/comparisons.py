"""Published results and the numbers of both levels. `python -m tests.published.comparisons` prints the table."""

from __future__ import annotations

import sys

from tests.published import data_centre, mmptcp, multipath, random_losses, scenarios, single_path, unresponsive
from tests.published.comparison import Measure

COMPARISONS = [
    *multipath.COMPARISONS,
    *scenarios.COMPARISONS,
    *single_path.COMPARISONS,
    *random_losses.COMPARISONS,
    *unresponsive.COMPARISONS,
    *data_centre.COMPARISONS,
    *mmptcp.COMPARISONS,
]


def column(measure: Measure | None, published: float) -> tuple[str, bool]:
    """A cell of the table, and whether the number is where the comparison says that it is."""
    if measure is None:
        return "", True
    apart = measure.found() / published - 1
    within = abs(apart) <= measure.band
    outside = "" if within else ": outside"
    return f"{apart:+.1%} ({measure.band:.0%}{outside})", within == measure.agrees


def main() -> int:
    """Prints a row for each comparison, then causes. Returns 1 if a number is not where its comparison says."""
    wrong, agree = 0, 0
    sys.stdout.write("| source | quantity | published | flow level | packet level |\n|---|---|---|---|---|\n")
    for comparison in COMPARISONS:
        published = comparison.published()
        cells = [column(measure, published) for measure in (comparison.flow, comparison.packet)]
        wrong += sum(not expected for _, expected in cells)
        agree += comparison.packet is not None and comparison.packet.agrees
        row = f"| {comparison.source} | {comparison.quantity} | {published:.4g} | {cells[0][0]} | {cells[1][0]} |\n"
        sys.stdout.write(row)
        sys.stdout.flush()
    causes = [f"\n{c.name}: {c.cause}.\n" for c in COMPARISONS if c.cause]
    sys.stdout.write("".join(causes))
    packets = sum(comparison.packet is not None for comparison in COMPARISONS)
    sources = len({comparison.source.partition(",")[0] for comparison in COMPARISONS})
    sys.stdout.write(
        f"\n{len(COMPARISONS)} comparisons, {sources} sources; packet level: {agree} of {packets} agree.\n"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
