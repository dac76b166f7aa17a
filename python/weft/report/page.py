"""Assembles the page: text and tables for the template `pages/report.html`, charts and rows for `pages/report.js`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft import _weft
from weft.html_pages import render
from weft.plots import altair_plots, data
from weft.report import comparison_figures, distribution_figures, fabric, run_figures
from weft.report.comparison import ABSENT, CONFIDENCE, compare
from weft.report.figures import Figures
from weft.report.run_figures import label
from weft.report.unrecorded import unrecorded

if TYPE_CHECKING:
    from collections.abc import Callable

    from weft.report.inputs import ReportInputs

MAX_ROWS = 60_000
"""Rows in all timelines of a page, of some 20 bytes each."""
MAX_DETAILS = 8
"""Runs of which fabric and timeline are shown."""
MAX_LISTED = 100
"""Runs in the list of runs."""


def write(inputs: ReportInputs, on_progress: Callable[[float, str], None] | None = None) -> str:
    """The text of the page.

    Args:
        inputs: The runs.
        on_progress: Called with the fraction that is done, 0 to 1, and the current step.
    """
    tell = on_progress or (lambda _fraction, _step: None)
    figures = Figures()
    several = len(inputs.runs) > 1
    tell(0.05, "statistics")
    comparison = compare(inputs.groups)
    figures.missing += comparison.absent
    if several:
        comparison_figures.add(figures, inputs, comparison)
    tell(0.4, "distributions")
    distribution_figures.add(figures, inputs)
    detailed = [group.runs[0] for group in inputs.groups[:MAX_DETAILS]]
    details = []
    for number, run in enumerate(detailed):
        tell(0.6 + 0.4 * number / len(detailed), "timelines")
        details.append(run_figures.detail(inputs.groups[number], run, MAX_ROWS // len(detailed)))
    run_figures.add(figures, details)
    first = inputs.groups[0].manifest
    drawings = {
        "charts": figures.charts,
        "runs": [detail["drawn"] for detail in details],
        "heats": fabric.HEATS,
        "seen": altair_plots.SEEN,
    }
    return render(
        "report.html",
        title=_title(inputs),
        inputs=inputs,
        several=several,
        version=_weft.__version__,
        confidence=f"{CONFIDENCE:.0%}",
        figures=figures.by_name,
        comparison=comparison_figures.table(inputs, comparison),
        metrics=[metric.title for metric in comparison.metrics] if several else [],
        listed=_listed(inputs),
        unlisted=max(0, len(inputs.runs) - MAX_LISTED),
        warnings=list(dict.fromkeys(line for run in inputs.runs for line in run.manifest["warnings"])),
        absent=[*figures.missing, *unrecorded(inputs.runs), *inputs.absent[:MAX_LISTED]],
        unmentioned=max(0, len(inputs.absent) - MAX_LISTED),
        partial=[label(group, run) for group in inputs.groups for run in group.runs if run.manifest["partial"]],
        details=details,
        undetailed=max(0, len(inputs.groups) - MAX_DETAILS),
        level=first["level"],
        script=_library(),
        drawings=drawings,
    )


def _title(inputs: ReportInputs) -> str:
    names = list(dict.fromkeys(str(group.manifest["name"] or "unnamed experiment") for group in inputs.groups))
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _library() -> str:
    """Vega, Vega-Lite and vega-embed, as the package of Altair's own exporter carries them."""
    import vl_convert

    # The end of a script's element must not stand in a script.
    bundle: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]  # its types lack the default
    return bundle.replace("</script", "<\\/script")


def _listed(inputs: ReportInputs) -> list[dict[str, str]]:
    listed = []
    of_groups = [(group, run) for group in inputs.groups for run in group.runs]
    for group, run in of_groups[:MAX_LISTED]:
        it = run.manifest
        rows, counters = it["rows"], it["counters"]
        ended = rows.get("flows", 0) - it["unfinished"].get("flows", 0)
        listed.append(
            {
                "run": group.name,
                "seed": str(it["seed"]),
                "level": it["level"],
                "simulated": data.seconds_name(it["end_s"]) + (" (partial)" if it["partial"] else ""),
                "flows": f"{rows.get('flows', 0):,}",
                "not cut off": f"{ended:,}",
                **{
                    name: f"{counters[name]:,}" if name in counters else ABSENT
                    for name in ("marks", "drops", "timeouts")
                },
                "weft": it["version"],
            }
        )
    return listed
