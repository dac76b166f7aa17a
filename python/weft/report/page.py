"""Assembles the page: text and tables for the template `pages/report.html`, charts and rows for `pages/report.js`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft import _weft
from weft.page import render
from weft.plots import charts, drawn
from weft.report import comparison_figures, distribution_figures, fabric, run_figures
from weft.report.absent import absent
from weft.report.comparison import ABSENT, CONFIDENCE, compare
from weft.report.figures import Figures
from weft.report.run_figures import label

if TYPE_CHECKING:
    from collections.abc import Callable

    from weft.report.study import Study

MOST_ROWS = 60_000
"""Rows in all timelines of a page, of some 20 bytes each."""
MOST_DETAILS = 8
"""Runs of which fabric and timeline are shown."""
MOST_LISTED = 100
"""Runs in the list of runs."""


def write(study: Study, on_progress: Callable[[float, str], None] | None = None) -> str:
    """The text of the page.

    Args:
        study: The runs.
        on_progress: Called with the fraction that is done, 0 to 1, and the current step.
    """
    tell = on_progress or (lambda _fraction, _step: None)
    figures = Figures()
    several = len(study.runs) > 1
    tell(0.05, "statistics")
    comparison = compare(study.groups)
    figures.missing += comparison.absent
    if several:
        comparison_figures.add(figures, study, comparison)
    tell(0.4, "distributions")
    distribution_figures.add(figures, study)
    detailed = [group.runs[0] for group in study.groups[:MOST_DETAILS]]
    details = []
    for number, run in enumerate(detailed):
        tell(0.6 + 0.4 * number / len(detailed), "timelines")
        details.append(run_figures.detail(study.groups[number], run, MOST_ROWS // len(detailed)))
    run_figures.add(figures, details)
    first = study.groups[0].manifest
    drawings = {
        "charts": figures.charts,
        "runs": [detail["drawn"] for detail in details],
        "heats": fabric.HEATS,
        "seen": charts.SEEN,
    }
    return render(
        "report.html",
        title=_title(study),
        study=study,
        several=several,
        version=_weft.__version__,
        confidence=f"{CONFIDENCE:.0%}",
        figures=figures.by_name,
        comparison=comparison_figures.table(study, comparison),
        metrics=[metric.title for metric in comparison.metrics] if several else [],
        listed=_listed(study),
        unlisted=max(0, len(study.runs) - MOST_LISTED),
        warnings=list(dict.fromkeys(line for run in study.runs for line in run.manifest["warnings"])),
        absent=[*figures.missing, *absent(study.runs), *study.absent[:MOST_LISTED]],
        unmentioned=max(0, len(study.absent) - MOST_LISTED),
        partial=[label(group, run) for group in study.groups for run in group.runs if run.manifest["partial"]],
        details=details,
        undetailed=max(0, len(study.groups) - MOST_DETAILS),
        level=first["level"],
        script=_library(),
        drawings=drawings,
    )


def _title(study: Study) -> str:
    names = list(dict.fromkeys(str(group.manifest["name"] or "unnamed experiment") for group in study.groups))
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _library() -> str:
    """Vega, Vega-Lite and vega-embed, as the package of Altair's own exporter carries them."""
    import vl_convert

    # The end of a script's element must not stand in a script.
    bundle: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]  # its types lack the default
    return bundle.replace("</script", "<\\/script")


def _listed(study: Study) -> list[dict[str, str]]:
    listed = []
    of_groups = [(group, run) for group in study.groups for run in group.runs]
    for group, run in of_groups[:MOST_LISTED]:
        it = run.manifest
        rows, counters = it["rows"], it["counters"]
        ended = rows.get("flows", 0) - it["unfinished"].get("flows", 0)
        listed.append(
            {
                "run": group.name,
                "seed": str(it["seed"]),
                "level": it["level"],
                "simulated": drawn.seconds_name(it["end_s"]) + (" (partial)" if it["partial"] else ""),
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
