"""Assembles the page: text and tables for `templates/report.html`, charts and rows for `templates/report.js`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from weft.html_pages import render
from weft.plots import data
from weft.reports import comparison_figures, distribution_figures, fabric, run_figures
from weft.reports.comparison import CONFIDENCE, Comparison, compare
from weft.reports.factors import ABSENT, Wishes
from weft.reports.figures import Figures
from weft.reports.inputs import ReportInputs
from weft.reports.run_figures import label
from weft.reports.unrecorded import unrecorded
from weft.summary import COUNTERS, RARE_COUNTERS
from weft.version import __version__

MAX_ROWS = 60_000
"""Rows in all timelines of a page, of some 20 bytes each."""
MAX_DETAILS = 60
"""Maximum number of runs with fabric and timeline."""
MAX_LINKS = 12_000
"""Lines in the fabrics of a page, of some 150 bytes each; then no other run gets a fabric."""
MIN_DETAILS = 8
"""Number of runs with a fabric, however large it is."""
MAX_LISTED = 1000
"""Runs in the list of runs."""
DISTRIBUTIONS = ("fct", "slowdown", "utilisation", "jain")
"""Figures of the part on distributions, which a page of several groups does not have."""


def write(
    inputs: ReportInputs,
    on_progress: Callable[[float, str], None] | None = None,
    *,
    wishes: Wishes | None = None,
) -> str:
    """Returns the text of the page.

    Args:
        inputs: The runs.
        on_progress: Called with the fraction that is done, 0 to 1, and the current step.
        wishes: The roles of fields in figures, as the user asks for them.

    Raises:
        UsageError: The layout does not exist.
    """
    tell = on_progress or (lambda _fraction, _step: None)
    figures = Figures()
    several = len(inputs.runs) > 1
    tell(0.05, "statistics")
    wishes = wishes or Wishes()
    comparison = compare(inputs.groups, wishes.of or inputs.of)
    figures.missing += comparison.absent
    compared = len(comparison.labels) > 1
    drawn = comparison_figures.drawings(comparison, wishes)
    tell(0.4, "distributions")
    if len(inputs.groups) == 1:
        distribution_figures.add(figures, inputs.groups[0])
        drawn |= {"sizes": None, "cdf": None}
    else:
        # The first run of a group stands for the others.
        reasons = {distribution_figures.why_no_slowdown(group.runs[0].result()) for group in inputs.groups}
        figures.missing += sorted(reasons - {""})
    names = _names(inputs, comparison)
    details: list[dict[str, Any]] = []
    links = 0
    for group, name in zip(inputs.groups[:MAX_DETAILS], names, strict=False):
        if len(details) >= MIN_DETAILS and links > MAX_LINKS:
            break
        tell(0.6 + 0.4 * len(details) / len(names), "timelines")
        details.append(run_figures.detail(group, name, group.runs[0], MAX_ROWS // min(len(names), MAX_DETAILS)))
        details[-1]["number"] = len(details) - 1
        links += len(details[-1]["drawn"]["fabric"]["links"])
    run_figures.add(figures, details)
    first = inputs.groups[0].manifest
    drawings = {
        "charts": figures.charts,
        "runs": [detail["drawn"] for detail in details],
        "heats": fabric.HEATS,
        "full": fabric.FULL,
        "comparison": drawn if compared else None,
    }
    return render(
        "report.html",
        title=_title(inputs),
        inputs=inputs,
        several=several,
        version=__version__,
        confidence=f"{100 * CONFIDENCE:.0f} %",
        figures=figures.by_name,
        distributions=[name for name in DISTRIBUTIONS if name in figures.by_name],
        comparison=comparison_figures.table(inputs, comparison),
        controls=comparison_figures.controls(comparison, wishes),
        compared=compared,
        looked=any(group.looks for group in inputs.groups),
        sizes=drawn["sizes"] is not None,
        cdf=drawn["cdf"] is not None,
        listed=listed(inputs, names),
        unlisted=max(0, len(inputs.runs) - MAX_LISTED),
        warnings=list(dict.fromkeys(line for run in inputs.runs for line in run.manifest["warnings"])),
        absent=[*figures.missing, *unrecorded(inputs.runs), *inputs.absent[:MAX_LISTED]],
        unmentioned=max(0, len(inputs.absent) - MAX_LISTED),
        partial=[
            label(name, run)
            for name, group in zip(names, inputs.groups, strict=True)
            for run in group.runs
            if run.manifest["partial"]
        ],
        details=details,
        undetailed=len(inputs.groups) - len(details),
        level=first["level"],
        script=_library(),
        drawings=drawings,
    )


def _title(inputs: ReportInputs) -> str:
    names = list(dict.fromkeys(str(group.manifest["name"] or "unnamed experiment") for group in inputs.groups))
    if len(names) == 1:
        return names[0]
    # Names that a program made may differ in one part, such as the transport.
    parts = [name.split("-") for name in names]
    common = [part[0] for part in zip(*parts, strict=False) if len(set(part)) == 1]
    alike = len({len(part) for part in parts}) == 1 and len(common) == len(parts[0]) - 1 > 0
    return "-".join(common) if alike else f"{names[0]} and {len(names) - 1} more"


def _library() -> str:
    """Vega, Vega-Lite and vega-embed, as the package of Altair's own exporter carries them."""
    import vl_convert

    # The end of a script's element must not stand in a script.
    bundle: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]  # its types lack the default
    return bundle.replace("</script", "<\\/script")


def _names(inputs: ReportInputs, comparison: Comparison) -> list[str]:
    """Returns the names of the groups, with values in short."""
    found = []
    for index, group in enumerate(inputs.groups):
        labels = next(labels_of for (group_of, _), labels_of in comparison.labels.items() if group_of == index)
        short = {
            field.name: field.labels[field.values.index(labels.get(field.name, ABSENT))]
            for field in comparison.factors
            if field.name in group.labels
        }
        name = ", ".join(f"{field} = {value}" for field, value in short.items())
        found.append(name if list(short) != ["run"] and name else group.name)
    return found


def listed(inputs: ReportInputs, names: Sequence[str]) -> list[dict[str, str]]:
    """Returns one row for each run of the page. Losses of links, trims and pauses are listed if a run has some."""
    listing = []
    named = [(name, run) for name, group in zip(names, inputs.groups, strict=True) for run in group.runs][:MAX_LISTED]
    occurred = {name for _, run in named for name, count in run.manifest["counters"].items() if count}
    counted = [name for name in COUNTERS if name not in RARE_COUNTERS or name in occurred]
    for name, run in named:
        manifest = run.manifest
        rows, counters = manifest["rows"], manifest["counters"]
        ended = rows.get("flows", 0) - manifest["unfinished"].get("flows", 0)
        listing.append(
            {
                "run": name,
                "seed": str(manifest["seed"]),
                "level": manifest["level"],
                "simulated": data.seconds_name(manifest["end_s"]) + (" (partial)" if manifest["partial"] else ""),
                "flows": f"{rows.get('flows', 0):,}",
                "not cut off": f"{ended:,}",
                **{name: f"{counters[name]:,}" if name in counters else ABSENT for name in counted},
                "weft": manifest["version"],
            }
        )
    return listing
