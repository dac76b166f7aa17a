"""Plots of sweeps for papers and talks: `sweep.plot.compare("p99 slowdown")` and so on, each into given axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from weft import stats
from weft.errors import UsageError
from weft.measures import PLAIN, RATES, SECONDS, Units, parse, unit_of
from weft.plots import axes as talk_axes
from weft.plots.axes import digits, plain_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from weft.api import Result
    from weft.sweeps.results import Sweep

    Of = str | Callable[[Result], float | None]

MAX_ROWS = 40
"""Maximum number of groups in a plot."""
MAX_CELLS = 150
"""Maximum number of cells of a heat map with their values."""


class SweepPlots:
    """Plots of a sweep. Each takes `ax` and returns the figure; without `ax` the figure is a new one.

    Marks are medians over the seeds, and bars their 95 % confidence intervals (`weft.stats.median_ci`). Below five
    seeds there are no intervals, and faint marks are the seeds. `where` restricts fields to one value. `title` replaces
    the title, which otherwise states what the plot shows; "" is none.
    """

    def __init__(self, sweep: Sweep) -> None:
        """Creates the plots of a sweep."""
        self._sweep = sweep
        self._values = {sweep.title(name): values for name, values in sweep.axes.items()}
        """Values of each varied field, by its title."""

    def compare(
        self,
        of: Of = "p99 slowdown",
        *,
        by: str | Iterable[str] | None = None,
        where: Mapping[str, Any] | None = None,
        ax: Axes | None = None,
        title: str | None = None,
    ) -> Figure:
        """Draws a measure of each group as a row: a mark, its interval, its value, and the seeds as faint marks.

        Args:
            of: A measure (see `weft.Sweep.values`).
            by: Columns that distinguish groups, by default the varied fields without those in `where`.
            where: Values of fields.
            ax: The axes.
            title: The title.

        Raises:
            UsageError: There is no such measure, field or value, or there are too many groups.
        """
        groups = self._groups(by, where)
        values, summary = self._measured(of, groups, where)
        if summary.height > MAX_ROWS:
            raise UsageError(f"plot.compare: {summary.height} groups; allowed: at most {MAX_ROWS}, with by= or where=")
        size, label = self._axis(of, summary)
        names = [self._name(row, groups) for row in summary.select(groups).iter_rows(named=True)]
        own_ax = talk_axes.plain_axes(ax, size=(7.0, 1.4 + 0.42 * max(len(names), 2)), grid="x")
        first = groups[0] if groups else None
        kinds = summary[first].unique(maintain_order=True).to_list() if first else [None]
        drawn = []
        for n, row in enumerate(summary.iter_rows(named=True)):
            if row["median"] is None:
                continue
            own = self._rows_of(values, row, groups)["value"].drop_nulls() / size
            index = kinds.index(row[first]) if first else 0
            colour = talk_axes.colour(index if len(groups) > 1 else n)
            own_ax.plot(own, [n] * len(own), "|", color=colour, alpha=0.45, markersize=9)
            drawn += own.to_list()
            if row["low"] is not None:
                own_ax.plot([row["low"] / size, row["high"] / size], [n, n], color=colour, linewidth=2.5, alpha=0.9)
            own_ax.plot(row["median"] / size, n, "^" if row["at_least"] else "o", color=colour, markersize=8)
            bound = "\u2265 " if row["at_least"] else ""
            own_ax.annotate(
                f"{bound}{digits(row['median'] / size)}",
                (row["median"] / size, n),
                xytext=(0, 7),
                textcoords="offset points",
                ha="center",
                fontsize="small",
            )
        own_ax.set_yticks(range(len(names)), names)
        own_ax.set(ylim=(len(names) - 0.4, -0.7), xlabel=label)
        if talk_axes.wants_log(drawn):
            talk_axes.set_log(own_ax.xaxis, min(drawn), max(drawn))
        elif drawn and 0 <= min(drawn) < 0.5 * max(drawn):
            own_ax.set_xlim(left=0)
        return talk_axes.titled(own_ax, title, self._finding(of, summary, groups, where))

    def lines(
        self,
        of: Of = "p99 slowdown",
        *,
        x: str | None = None,
        colour: str | None = None,
        where: Mapping[str, Any] | None = None,
        ax: Axes | None = None,
        title: str | None = None,
    ) -> Figure:
        """Draws a measure over a field of numbers, one line per value of another field.

        Args:
            of: A measure (see `weft.Sweep.values`).
            x: The field along the axis, by default the field of numbers with most values.
            colour: The field of the lines, by default the other one.
            where: Values of all further fields.
            ax: The axes.
            title: The title.

        Raises:
            UsageError: There is no such measure, field or value, or fields have several values and no place.
        """
        groups = self._groups(None, where)
        across = self._across(x, groups)
        rest = [name for name in groups if name != across]
        by = self._sweep.title(self._sweep.column(colour)) if colour is not None else (rest[0] if rest else None)
        if by is not None and by not in groups:
            raise UsageError(f"colour: {colour!r}; allowed: {', '.join(rest)}")
        lost = [name for name in rest if name != by]
        if lost:
            raise UsageError(f"plot.lines: {', '.join(lost)}: several values and no place; choose one with where=")
        values, summary = self._measured(of, groups, where)
        size, label = self._axis(of, summary)
        own_ax = talk_axes.plain_axes(ax)
        places = self._places(own_ax, summary, across)
        lines, drawn = [], []
        split = self._split(summary.drop_nulls("median"), by)
        for n, (name, rows) in enumerate(split):
            # Lines stand a little apart, so that their intervals do not hide each other.
            style: dict[str, Any] = {
                "color": talk_axes.colour(n),
                "transform": talk_axes.shifted(own_ax, 4.0 * (n - (len(split) - 1) / 2)),
            }
            xs = [places[value] for value in rows[across]]
            middle = rows["median"] / size
            (line,) = own_ax.plot(xs, middle, marker=talk_axes.marker(n), linewidth=2, **style)
            known = rows.drop_nulls("low")
            for row in known.iter_rows(named=True):
                ends = [row["low"] / size, row["high"] / size]
                own_ax.plot([places[row[across]]] * 2, ends, linewidth=1.4, **style)
                drawn += ends
            bounds = rows.filter("at_least")
            own_ax.plot([places[at] for at in bounds[across]], bounds["median"] / size, "^", markersize=9, **style)
            drawn += middle.to_list()
            if known.height < rows.height:
                seeds = values if by is None else values.filter(pl.col(by).eq_missing(pl.lit(name)))
                dots = seeds.drop_nulls("value")
                own_ax.plot([places[at] for at in dots[across]], dots["value"] / size, ".", alpha=0.5, **style)
                drawn += (dots["value"] / size).to_list()
            lines.append((line, _shown(name)))
        # Artists with a transformation of their own do not set limits.
        own_ax.update_datalim([(place, value) for place in places.values() for value in (min(drawn), max(drawn))])
        own_ax.autoscale_view()
        own_ax.set(xlabel=across, ylabel=label)
        if talk_axes.wants_log(drawn):
            talk_axes.set_log(own_ax.yaxis, min(drawn), max(drawn))
        elif drawn and 0 <= min(drawn) < 0.6 * max(drawn):
            own_ax.set_ylim(bottom=0)
        talk_axes.end_labels(own_ax, lines, by or "")
        return talk_axes.titled(own_ax, title, self._trend(of, summary, across, by, where))

    def heatmap(
        self,
        of: Of = "p99 slowdown",
        *,
        x: str | None = None,
        y: str | None = None,
        where: Mapping[str, Any] | None = None,
        ax: Axes | None = None,
        title: str | None = None,
    ) -> Figure:
        """Draws the medians of a measure over two fields as colours, with their values.

        Args:
            of: A measure (see `weft.Sweep.values`).
            x: The field along the axis, by default the last one.
            y: The other field, by default the first one.
            where: Values of all further fields.
            ax: The axes.
            title: The title.

        Raises:
            UsageError: There is no such measure, field or value, or there are not two fields.
        """
        import numpy as np
        from matplotlib.colors import LogNorm

        groups = self._groups(None, where)
        chosen = [self._sweep.title(self._sweep.column(name)) for name in (y, x) if name is not None]
        unknown = next((name for name in chosen if name not in groups), None)
        if unknown is not None or len(groups) != 2:
            problem = f"{unknown!r} does not vary" if unknown else f"{len(groups)} fields vary"
            allowed = f"two of {', '.join(groups)}, and where= for the others" if groups else "a sweep over two fields"
            raise UsageError(f"plot.heatmap: {problem}; allowed: {allowed}")
        free = [name for name in groups if name not in chosen]
        # A field of numbers lies along the x axis, if the other one is not.
        free.sort(key=self._is_numeric)
        up = chosen[0] if y is not None else free[0]
        across = next(name for name in groups if name != up)
        _, summary = self._measured(of, groups, where)
        size, label = self._axis(of, summary)
        columns, rows = (summary[name].unique(maintain_order=True).to_list() for name in (across, up))
        cells = np.full((len(rows), len(columns)), np.nan)
        bounds: set[tuple[int, int]] = set()
        for row in summary.iter_rows(named=True):
            place = rows.index(row[up]), columns.index(row[across])
            cells[place] = np.nan if row["median"] is None else row["median"] / size
            bounds |= {place} if row["at_least"] else set()
        own_ax = talk_axes.axes_of(ax, size=(1.8 + 0.75 * max(len(columns), 4), 1.4 + 0.5 * max(len(rows), 3)))
        known = cells[np.isfinite(cells)].tolist()
        norm = LogNorm(min(known), max(known)) if talk_axes.wants_log(known) else None
        image = own_ax.imshow(cells, cmap="cividis", norm=norm, aspect="auto", origin="lower")
        scale: Any = image.norm
        if cells.size <= MAX_CELLS:
            for (n, m), value in np.ndenumerate(cells):
                if np.isfinite(value):
                    dark = scale(value) < 0.5
                    text = ("\u2265" if (n, m) in bounds else "") + digits(float(value))
                    own_ax.text(
                        m, n, text, ha="center", va="center", fontsize="small", color="white" if dark else "black"
                    )
        own_ax.set_xticks(range(len(columns)), [_shown(value) for value in columns])
        own_ax.set_yticks(range(len(rows)), [_shown(value) for value in rows])
        own_ax.set(xlabel=across, ylabel=up)
        bar = talk_axes.figure_of(own_ax).colorbar(image, ax=own_ax, label=label)
        if norm is not None:
            talk_axes.set_log(bar.ax.yaxis, min(known), max(known), room=0.0)
        return talk_axes.titled(own_ax, title, self._extremes(of, summary, groups, size))

    def fct(
        self,
        *,
        by: str | None = None,
        percent: float = 99,
        where: Mapping[str, Any] | None = None,
        ax: Axes | None = None,
        title: str | None = None,
    ) -> Figure:
        """Draws a percentile of the slowdown by size of flow, one line per group, with intervals over the seeds.

        Args:
            by: The column of the groups, by default the first varied field.
            percent: The percentile.
            where: Values of fields.
            ax: The axes.
            title: The title.

        Raises:
            UsageError: There is no such field or value, or no flow has a slowdown.
        """
        groups = self._groups(by, where)[:1]
        flows = self._flows(
            groups, where, ["size_bytes", "slowdown", "slowdown_at_least", "fct_s", "unfinished_s", "ideal_s"]
        )
        renamed = {name: f" {name}" for name in groups}
        per_seed = stats.by_size(flows.rename(renamed), [percent], by=[*renamed.values(), "seed"])
        column = f"p{percent:g}"
        keys = [*renamed.values(), "below_bytes", "size"]
        rows = stats.median_ci(per_seed.drop_nulls(column), column, by=keys)
        doubt = per_seed.group_by(keys).agg(at_least=pl.col(f"{column}_is_lower_bound").any())
        rows = rows.join(doubt, on=keys, nulls_equal=True, maintain_order="left")
        if rows.is_empty():
            raise UsageError("plot.fct: no flow has a slowdown; use flows with sizes and a level other than linux")
        sizes = rows.select("below_bytes", "size").unique().sort("below_bytes", nulls_last=True)["size"].to_list()
        own_ax = talk_axes.plain_axes(ax)
        lines, drawn = [], []
        order = self._order(groups[0] if groups else None, rows, renamed)
        for n, name in enumerate(order):
            part = rows if not groups else rows.filter(pl.col(renamed[groups[0]]).eq_missing(name))
            part = part.sort("below_bytes", nulls_last=True)
            xs = [sizes.index(size) for size in part["size"]]
            (line,) = own_ax.plot(
                xs, part["median"], marker=talk_axes.marker(n), color=talk_axes.colour(n), linewidth=2
            )
            for x, row in zip(xs, part.iter_rows(named=True), strict=True):
                if row["low"] is not None:
                    own_ax.plot([x, x], [row["low"], row["high"]], color=line.get_color(), linewidth=1.4)
                    drawn += [row["low"], row["high"]]
                if row["at_least"]:
                    own_ax.plot(x, row["median"], "^", color=line.get_color(), markersize=9)
            drawn += part["median"].to_list()
            lines.append((line, _shown(name)))
        own_ax.set_xticks(range(len(sizes)), sizes)
        own_ax.set(xlabel="size of flow", ylabel=f"p{percent:g} slowdown")
        if talk_axes.wants_log(drawn):
            talk_axes.set_log(own_ax.yaxis, min(drawn), max(drawn))
        talk_axes.end_labels(own_ax, lines, groups[0] if groups else "")
        bounds = "; triangles may be higher" if rows["at_least"].any() else ""
        return talk_axes.titled(own_ax, title, f"p{percent:g} slowdown by size of flow{bounds}")

    def cdf(
        self,
        column: str = "fct_s",
        *,
        by: str | None = None,
        where: Mapping[str, Any] | None = None,
        ax: Axes | None = None,
        title: str | None = None,
    ) -> Figure:
        """Draws the distribution of a column of `flows`, of all seeds together, one line per group.

        Flows that the end of a run cut off are in the total, so that their lines end below 1.

        Args:
            column: A column of numbers, such as `fct_s`, `slowdown` or `goodput_bps`.
            by: The column of the groups, by default the first varied field.
            where: Values of fields.
            ax: The axes.
            title: The title.

        Raises:
            UsageError: There is no such column, field or value, or no flow has a value.
        """
        groups = self._groups(by, where)[:1]
        bound = {"fct_s": "unfinished_s", "slowdown": "slowdown_at_least"}.get(column)
        flows = self._flows(groups, where, [column, *([bound] if bound else [])])
        at_least = bound if bound in flows.columns else None
        steps = stats.cdf(flows, column, by=groups, at_least=at_least)
        if steps.is_empty():
            raise UsageError(f"plot.cdf: no flow has a value of {column}; use a longer run")
        units: Units = {"fct_s": SECONDS, "goodput_bps": RATES}.get(column, PLAIN)
        size, unit = unit_of(steps["value"].to_list(), units)
        name = {"fct_s": "flow completion time", "goodput_bps": "goodput"}.get(column, column.replace("_", " "))
        own_ax = talk_axes.plain_axes(ax)
        low, high = (float(value) / size for value in (steps["value"].min(), steps["value"].max()))  # type: ignore[arg-type]
        lines = []
        for n, value in enumerate(self._order(groups[0] if groups else None, steps, {})):
            part = steps if not groups else steps.filter(pl.col(groups[0]).eq_missing(value))
            xs, ys = (part["value"] / size).to_list(), part["fraction"].to_list()
            (line,) = own_ax.step(
                [xs[0], *xs, high], [0, *ys, ys[-1]], where="post", color=talk_axes.colour(n), linewidth=2
            )
            lines.append((line, _shown(value)))
        own_ax.set(ylim=(0, 1.02), ylabel="share of flows", xlabel=f"{name} ({unit})" if unit else name)
        if low > 0 and high > 3 * low:
            talk_axes.set_log(own_ax.xaxis, low, high, room=0.02)
        if len(lines) > 1:
            own_ax.legend([line for line, _ in lines], [name for _, name in lines], title=groups[0], frameon=False)
        ended = (
            ""
            if at_least is None or flows[at_least].count() == 0
            else f"; {flows[at_least].count():,} flows were cut off"
        )
        return talk_axes.titled(own_ax, title, f"{name.capitalize()} of {flows.height:,} flows{ended}")

    def utilisation(
        self,
        *,
        by: str | None = None,
        where: Mapping[str, Any] | None = None,
        ax: Axes | None = None,
        title: str | None = None,
    ) -> Figure:
        """Draws the part of each stage's capacity that was in use between the first start and the last end of a flow.

        Args:
            by: The field of the groups, by default the first varied one.
            where: Values of fields.
            ax: The axes.
            title: The title.

        Raises:
            UsageError: There is no such field or value.
        """
        from matplotlib.ticker import PercentFormatter

        from weft.plots.data import active_links, utilisation

        groups = self._groups(by, where)[:1]
        fields = [self._sweep.title(name) for name in self._sweep.axes]
        if not set(groups) <= set(fields):
            raise UsageError(f"by: {by!r}; allowed: {', '.join(fields)}")
        chosen = self._where(where)
        parts = []
        for labels, result in self._sweep.results():
            named = {self._sweep.title(name): value for name, value in labels.items()}
            if any(str(named[name]) != str(value) for name, value in chosen.items()):
                continue
            used = utilisation(active_links(result)).drop_nulls("mean")
            parts.append(used.select("stage", "mean", group=pl.lit(_shown(named[groups[0]]) if groups else "all")))
        rows = pl.concat(parts)
        stages = rows["stage"].unique(maintain_order=True).to_list()
        names = rows["group"].unique(maintain_order=True).to_list()
        medians = rows.group_by("stage", "group").agg(pl.col("mean").median())
        found = {(stage, group): value for stage, group, value in medians.iter_rows()}
        own_ax = talk_axes.plain_axes(ax, size=(7.0, 1.2 + 0.22 * len(stages) * (len(names) + 1)), grid="x")
        height = 0.8 / len(names)
        for n, name in enumerate(names):
            places = [m - 0.4 + (n + 0.5) * height for m in range(len(stages))]
            widths = [found.get((stage, name), 0.0) for stage in stages]
            own_ax.barh(places, widths, 0.9 * height, color=talk_axes.colour(n), label=name)
            for place, width in zip(places, widths, strict=True):
                own_ax.annotate(
                    f"{digits(100 * width)} %",
                    (width, place),
                    xytext=(3, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize="small",
                )
        own_ax.set_yticks(range(len(stages)), stages)
        own_ax.invert_yaxis()
        own_ax.xaxis.set_major_formatter(PercentFormatter(1))
        own_ax.set_xlim(0, max(1.15 * max(found.values(), default=1.0), 0.01))
        own_ax.set_xlabel("utilisation while flows were open")
        if len(names) > 1:
            own_ax.legend(title=groups[0], frameon=False)
        busiest = max(found, key=found.__getitem__)
        finding = f"Busiest stage: {busiest[0]}, {digits(100 * found[busiest])} % of its capacity"
        return talk_axes.titled(own_ax, title, finding + (f" ({groups[0]} = {busiest[1]})" if len(names) > 1 else ""))

    # Fields

    def _where(self, where: Mapping[str, Any] | None) -> dict[str, Any]:
        found = {}
        for name, value in (where or {}).items():
            column = self._sweep.column(name)
            known = self._sweep.axes.get(column)
            if known is None:
                raise UsageError(
                    f"where: {name!r} does not vary; allowed: {', '.join(map(self._sweep.title, self._sweep.axes))}"
                )
            if str(value) not in map(str, known):
                raise UsageError(f"where: {name} = {value!r}; allowed: {', '.join(map(str, known))}")
            found[self._sweep.title(column)] = value
        return found

    def _groups(self, by: str | Iterable[str] | None, where: Mapping[str, Any] | None) -> list[str]:
        chosen = self._where(where)
        if by is not None:
            names = [by] if isinstance(by, str) else list(by)
            return [self._sweep.title(self._sweep.column(name)) for name in names]
        several = [name for name, values in self._sweep.axes.items() if len(values) > 1] or list(self._sweep.axes)
        return [title for name in several if (title := self._sweep.title(name)) not in chosen]

    def _across(self, x: str | None, groups: Sequence[str]) -> str:
        if x is not None:
            name = self._sweep.title(self._sweep.column(x))
            if name not in groups:
                raise UsageError(f"x: {x!r}; allowed: {', '.join(groups)}")
            return name
        if not groups:
            raise UsageError("plot.lines: no field varies; run a sweep over one")
        numeric = [name for name in groups if self._is_numeric(name)]
        return max(numeric or groups, key=lambda name: len(self._values[name]))

    def _is_numeric(self, title: str) -> bool:
        return all(isinstance(value, int | float) for value in self._values.get(title, [""]))

    def _measured(
        self, of: Of, groups: Sequence[str], where: Mapping[str, Any] | None
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Returns the values of the runs and their summary, restricted to values of fields."""
        chosen = self._where(where)
        columns = [*groups, *(name for name in chosen if name not in groups)]
        values, summary = self._sweep.values(of, by=columns), self._sweep.summary(of, by=columns)
        return _restricted(values, chosen), _restricted(summary, chosen)

    def _flows(self, groups: Sequence[str], where: Mapping[str, Any] | None, columns: Sequence[str]) -> pl.DataFrame:
        chosen = self._where(where)
        scanned = self._sweep.scan("flows")
        there = scanned.collect_schema().names()
        for name in columns[:1]:
            if name not in there:
                raise UsageError(f"column: {name!r}; allowed: columns of flows: {', '.join(there)}")
        titles = {name: self._sweep.title(name) for name in self._sweep.axes}
        own = [pl.col(name).alias(title) for name, title in titles.items()]
        extra = [name for name in dict.fromkeys([*columns, *groups]) if name in there and name not in titles.values()]
        frame = scanned.select(*own, "seed", *extra).collect()
        unknown = next((name for name in groups if name not in frame.columns), None)
        if unknown is not None:
            raise UsageError(f"by: {unknown!r}; allowed: {', '.join(dict.fromkeys([*titles.values(), *there]))}")
        return _restricted(frame, chosen)

    def _order(self, group: str | None, rows: pl.DataFrame, renamed: Mapping[str, str]) -> list[Any]:
        """Returns the values of a group in the order in which the sweep has them."""
        if group is None:
            return ["all"]
        there = rows[renamed.get(group, group)].unique(maintain_order=True).to_list()
        return [value for value in self._values.get(group, there) if value in there]

    def _split(self, rows: pl.DataFrame, by: str | None) -> list[tuple[Any, pl.DataFrame]]:
        if by is None:
            return [("all", rows)]
        return [(name, rows.filter(pl.col(by).eq_missing(name))) for name in rows[by].unique(maintain_order=True)]

    @staticmethod
    def _rows_of(values: pl.DataFrame, row: Mapping[str, Any], groups: Sequence[str]) -> pl.DataFrame:
        return values.filter([pl.col(name).eq_missing(pl.lit(row[name])) for name in groups]) if groups else values

    def _places(self, ax: Axes, summary: pl.DataFrame, across: str) -> dict[Any, float]:
        """Sets the ticks of the x axis: at each value, at its place if the values are numbers."""
        values = summary[across].unique(maintain_order=True).to_list()
        numeric = all(isinstance(value, int | float) for value in values)
        if not numeric:
            ax.set_xticks(range(len(values)), [_shown(value) for value in values])
            return {value: float(n) for n, value in enumerate(values)}
        if min(values) > 0 and max(values) >= 8 * min(values):
            talk_axes.set_log(ax.xaxis, min(values), max(values), room=0.03)
        if len(values) <= 8:
            from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

            ax.xaxis.set_major_locator(FixedLocator(values))
            ax.xaxis.set_minor_locator(NullLocator())
            ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: plain_number(value)))
        return {value: float(value) for value in values}

    # Words

    @staticmethod
    def _axis(of: Of, summary: pl.DataFrame) -> tuple[float, str]:
        """Returns the size of the unit of a measure, and the label of its axis."""
        if callable(of):
            return 1.0, getattr(of, "__name__", "value").strip("<>").replace("_", " ")
        measure = parse(of)
        size, unit = unit_of(summary["median"].drop_nulls().to_list(), measure.units)
        return size, f"{measure.title} ({unit})" if unit else measure.title

    @staticmethod
    def _name(row: Mapping[str, Any], groups: Sequence[str]) -> str:
        if len(groups) == 1:
            return _shown(row[groups[0]])
        return ", ".join(f"{name} = {_shown(row[name])}" for name in groups) or "all runs"

    def _finding(self, of: Of, summary: pl.DataFrame, groups: Sequence[str], where: Mapping[str, Any] | None) -> str:
        """Returns a sentence: the best group, and whether it differs from the next one; or nothing."""
        if callable(of) or len(groups) != 1 or summary.height < 2 or summary["median"].null_count():
            return ""
        return self._verdict(of, summary, groups[0], self._where(where))

    def _trend(
        self, of: Of, summary: pl.DataFrame, across: str, by: str | None, where: Mapping[str, Any] | None
    ) -> str:
        """Returns a sentence on the ends of the only line, or on the best line at the last value."""
        known = summary.drop_nulls("median")
        if callable(of) or known.is_empty():
            return ""
        measure = parse(of)
        if by is None:
            first, last = (known.row(n, named=True) for n in (0, -1))
            way = "rises" if last["median"] > first["median"] else "falls"
            size, unit = unit_of([first["median"], last["median"]], measure.units)
            values = f"{digits(first['median'] / size)} to {digits(last['median'] / size)} {unit}".rstrip()
            return f"{measure.title} {way} from {values} over {across}"
        end = known[across].unique(maintain_order=True).to_list()[-1]
        rows = known.filter(pl.col(across).eq_missing(pl.lit(end)))
        verdict = self._verdict(of, rows, by, {**self._where(where), across: end})
        return f"At {across} = {_shown(end)}, {verdict}" if verdict else measure.title

    def _verdict(self, of: str, rows: pl.DataFrame, field: str, at: Mapping[str, Any]) -> str:
        """Returns whether the best value of a field differs from the next one, at values of all other fields."""
        measure = parse(of)
        if not measure.best or rows.height < 2:
            return ""
        ranked = rows.sort("median", descending=measure.best == "highest")
        best, following = ranked[field].to_list()[:2]
        if field not in self._values or {field, *at} != set(self._values):
            return f"{_shown(best)} has the {measure.best} {measure.title}"
        pairs = self._sweep.compare(best, following, of, field=field)
        row = _restricted(pairs, at).row(0, named=True)
        neutral = 1.0 if "ratio" in row else 0.0
        if row["low"] is None:
            return f"{_shown(best)} has the {measure.best} {measure.title} ({row['n']} seeds)"
        if row["low"] <= neutral <= row["high"]:
            return f"{_shown(best)} and {_shown(following)} are not separable by {measure.title} (95 %)"
        if "ratio" not in row:
            return f"{_shown(best)} has the {measure.best} {measure.title}"
        factor = row["ratio"] if measure.best == "highest" else 1 / row["ratio"]
        way = "higher" if measure.best == "highest" else "lower"
        return f"{_shown(best)} has a {digits(factor)} times {way} {measure.title} than {_shown(following)}"

    def _extremes(self, of: Of, summary: pl.DataFrame, groups: Sequence[str], size: float) -> str:
        known = summary.drop_nulls("median").sort("median")
        if callable(of) or known.is_empty():
            return ""
        measure = parse(of)
        row = known.row(-1 if measure.best == "highest" else 0, named=True)
        name = ", ".join(f"{name} = {_shown(row[name])}" for name in groups)
        return f"{(measure.best or 'lowest').capitalize()} {measure.title}: {digits(row['median'] / size)} at {name}"


def _restricted(frame: pl.DataFrame, where: Mapping[str, Any]) -> pl.DataFrame:
    """Returns the rows with these values of fields."""
    for name, value in where.items():
        frame = frame.filter(pl.col(name).cast(pl.String) == str(value))
    return frame


def _shown(value: object) -> str:
    return plain_number(value) if isinstance(value, float) else str(value)
