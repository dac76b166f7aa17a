"""The command `weft`.

Standard output carries results, standard error everything else. Exit codes: 0 done, 2 bad input, 3 this
machine lacks something, 70 a bug in Weft, 130 stopped by Ctrl-C, SIGTERM or SIGHUP.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft import _weft, terminal
from weft.api import MOST_THREADS
from weft.errors import StoppedError
from weft.guard import MISSING, run_guarded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from weft.grid.command import Outcome
    from weft.papers.paper import Report

app = typer.Typer(
    name="weft",
    help="A laboratory for multipath transport in data-centre fabrics.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


MOST_RUNS = 1000
"""More runs of the same say no more about a mean or a spread, and their rows are all kept until the end."""


def whole(text: str | int) -> int:
    """A whole number from 0 on."""
    return _number(text, 0, 2**63 - 1)


def runs(text: str | int) -> int:
    """How often something is run."""
    return _number(text, 1, MOST_RUNS)


def threads(text: str | int) -> int:
    """A number of threads."""
    return _number(text, 1, MOST_THREADS)


def threads_or_auto(text: str | int) -> int:
    """A number of threads, 0 for `auto`."""
    return 0 if text in (0, "auto") else _number(text, 1, MOST_THREADS, " or auto")


def _number(given: str | int, least: int, most: int, otherwise: str = "") -> int:
    # Typer hands in defaults too. int() also takes blanks, underscores and digits of other scripts.
    text = str(given)
    if not (text.isascii() and text.isdigit() and len(text) <= 19) or not least <= int(text) <= most:
        raise typer.BadParameter(f"{text!r:.50}; allowed: a whole number, {least} to {most}{otherwise}")
    return int(text)


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Out = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="A new folder for the results.")]
Threads = Annotated[
    int,
    typer.Option(
        "--threads",
        parser=threads_or_auto,
        metavar="N|auto",
        help="Worker threads; results do not depend on it. auto takes several where that is faster.",
        show_default="auto",
    ),
]


@app.callback(invoke_without_command=True)
def weft(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
) -> None:
    """A laboratory for multipath transport in data-centre fabrics."""
    if version:
        terminal.print_line(f"weft {_weft.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        terminal.print_line(context.get_help())
        raise typer.Exit


@app.command()
def run(
    spec: Annotated[Path, typer.Argument(metavar="SPEC.toml", help="The experiment.")],
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="a.b=c", help="Change a field first, such as topology.senders=40."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", parser=whole, metavar="N", help="Use this seed instead of the spec's.")
    ] = None,
    threads: Threads = 0,
    force: Annotated[
        bool, typer.Option("--force", help="Run it even if it needs more memory than the machine has free.")
    ] = False,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Run an experiment and leave its tables as Parquet in a new folder."""
    from weft import api
    from weft.output import choose_folder

    chosen = [*(overrides or []), *([] if seed is None else [f"seed={seed}"])]
    experiment = api.load(spec, chosen, force=force)
    folder = choose_folder(out, f"weft-{experiment.name or spec.stem}")
    with terminal.ProgressBar(experiment.name or spec.stem) as bar:
        result = api.run(
            experiment, threads=threads or None, progress=lambda now: bar.show(now.fraction), out=folder, force=force
        )
    for warning in result.manifest["warnings"]:
        terminal.warn(warning)
    rows = result.manifest["rows"]
    if as_json:
        terminal.print_json(
            {
                "out": str(folder),
                "partial": result.partial,
                "tables": {name: str(folder / f"{name}.parquet") for name in api.TABLES if name in rows},
                "manifest": result.manifest,
            }
        )
    else:
        files = [(name, rows[name], str(folder / f"{name}.parquet")) for name in api.TABLES if name in rows]
        terminal.print_table("", ("table", "rows", "file"), files)
        for line in _unfinished(result.manifest):
            terminal.print_line(line)
    if result.partial:
        raise StoppedError(f"stopped; the tables so far are in {folder}, marked partial")


def _unfinished(manifest: Mapping[str, Any]) -> list[str]:
    """What the run's end cut off, in a line each."""
    counts, rows, end = manifest["unfinished"], manifest["rows"], f"{manifest['end_s']:g} s"
    return [
        f"{counts[what]:,} of {rows[what]:,} {what} had not ended at {end}: their {time} is null"
        for what, time in (("flows", "fct_s"), ("jobs", "jct_s"))
        if counts[what]
    ]


@app.command()
def sweep(
    spec: Annotated[Path, typer.Argument(metavar="SPEC.toml", help="The experiment.")],
    over: Annotated[
        list[str] | None,
        typer.Option("--over", metavar="a.b=x,y|FIRST:LAST:STEP", help="Vary a field; several make all combinations."),
    ] = None,
    seeds: Annotated[
        int, typer.Option("--seeds", parser=runs, metavar="N", help="Runs of everything, from the spec's seed on.")
    ] = 1,
    overrides: Annotated[
        list[str] | None, typer.Option("--set", metavar="a.b=c", help="Change a field in all runs.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="A new folder, or a sweep's, whose results are used again."),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", metavar="tcp://HOST:PORT", help="A Dask scheduler, instead of this machine alone."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option("--workers", parser=threads, metavar="N", help="Runs at a time on this machine; all cores."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Run it even if it needs more memory than a machine has free.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run an experiment for all combinations of values and seeds. The same command goes on where one was stopped."""
    from weft.errors import UsageError
    from weft.grid.axes import Axis
    from weft.grid.command import run_sweep
    from weft.grid.plan import plan
    from weft.output import file_name

    if cluster is not None and workers is not None:
        raise UsageError("--workers: given with --cluster; allowed: one of the two")
    axes = [Axis.parse(text) for text in over or []]
    planned = plan(spec, overrides or [], axes, seeds, force=force)
    folder = Path(f"weft-sweep-{file_name(planned.name or spec.stem)}") if out is None else out
    with terminal.ProgressBar(planned.name or spec.stem) as bar:
        outcome = run_sweep(planned, folder, address=cluster, workers=workers, force=force, show=bar.show)
    if as_json:
        terminal.print_json(outcome.document())
    else:
        _print_outcome(outcome)
    raise typer.Exit(outcome.exit_code)


def _print_outcome(outcome: Outcome) -> None:
    for failed in outcome.failed():
        terminal.print_line(f"failed: {failed['run']}\n  {failed['reason']}\n  {failed['command']}\n")
    count, bad = len(outcome.sweep.runs), len(outcome.failures)
    counts = f"{count} runs" + (f", {outcome.reused} of them were there" if outcome.reused else "")
    terminal.print_line(counts + (f", {bad} failed; the same command tries these again" if bad else ""))
    terminal.print_line(f"Tables: {outcome.folder}/tables/TABLE/*.parquet, such as {outcome.tables['flows']}")


@app.command("list")
def list_(as_json: Json = False) -> None:
    """List algorithms, path policies, schedulers, profiles, topologies, traffic, probes and levels."""
    from weft import api

    registry = api.registry()
    if as_json:
        terminal.print_json(registry)
        return
    for group, listings in registry.items():
        terminal.print_table(group, ("name", "about"), [(it["name"], it["about"]) for it in listings])


@app.command()
def schema() -> None:
    """Print the JSON Schema of an experiment."""
    from weft import api

    terminal.print_json(api.schema())


@app.command()
def reproduce(
    name: Annotated[
        str | None, typer.Argument(metavar="PAPER[/FIGURE]", help="Such as amp, a whole paper, or amp/fig02.")
    ] = None,
    list_figures: Annotated[bool, typer.Option("--list", help="List the figures and how long they take.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Run less, as the output says.")] = False,
    seeds: Annotated[
        int | None,
        typer.Option("--seeds", parser=runs, metavar="N", help="Runs of everything; 5 unless quick, then 1."),
    ] = None,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Run the figures of a paper, or one of them, and judge the paper's claims by them."""
    from weft.errors import UsageError
    from weft.output import choose_folder, new_folder
    from weft.papers.figure import Scale
    from weft.papers.paper import find_figures, reproduce_all

    if list_figures:
        _list_figures(as_json=as_json)
        return
    if name is None:
        raise UsageError("no figure given; allowed: a paper or a figure that `weft reproduce --list` shows")
    find_figures(name)
    folder = choose_folder(out, f"weft-{name}")
    scale = Scale(seeds=seeds or (1 if quick else Scale.seeds), quick=quick)
    with new_folder(folder) as unfinished:
        with terminal.ProgressBar(name) as bar:
            report = reproduce_all(name, scale, unfinished, bar.show, terminal.complain)
        if not report.done:
            if report.left_out:
                raise KeyboardInterrupt
            raise typer.Exit(report.exit_code or MISSING)
        report.write(unfinished)
    if as_json:
        terminal.print_json(report.document(folder))
    else:
        _print_report(report, folder)
    if report.left_out:
        raise StoppedError(f"stopped; the figures that have ended are in {folder}, marked partial")
    raise typer.Exit(report.exit_code)


def _list_figures(*, as_json: bool) -> None:
    from weft.page import duration
    from weft.papers import FIGURES
    from weft.papers.figure import CORES, Scale

    if as_json:
        facts = ("title", "level", "seconds", "quick_seconds")
        terminal.print_json(
            [{"figure": it.name, "cores": CORES} | {fact: getattr(it, fact) for fact in facts} for it in FIGURES]
        )
        return
    rows = [(it.name, it.title, *map(duration, (it.seconds, it.quick_seconds))) for it in FIGURES]
    terminal.print_table("", ("figure", "title", "full size", "quick"), rows)
    terminal.print_line(f"Times on {CORES} cores; full size with {Scale.seeds} seeds, quick with one.")


def _print_report(report: Report, folder: Path) -> None:
    from weft.page import duration

    for figure in report.done if len(report.figures) == 1 else []:
        terminal.print_line(f"{figure['figure']}: {figure['title']}\n{figure['scale']}\n")
        for it in figure["claims"]:
            parts = {"": it["claim"], "paper": it["paper"], "measured": it["measured"], "note": it["note"]}
            terminal.print_paragraph("holds" if it["holds"] else "DOES NOT HOLD", parts)
            if it["table"] is not None:
                terminal.print_table("", it["table"]["columns"], it["table"]["rows"])
    columns = ("figure", "title", "claims", "hold", "time")
    rows = [
        (
            figure["figure"],
            figure["title"],
            len(figure["claims"]),
            sum(claim["holds"] for claim in figure["claims"]),
            duration(figure["seconds"]),
        )
        for figure in report.done
    ]
    terminal.print_table("", columns, rows)
    terminal.print_line(f"Open {folder / 'index.html'} in a browser; plots, tables and claims are beside it.")


@app.command()
def demo(out: Out = None) -> None:
    """Run AMP against XMP, DCM and DCTCP under incast: a picture, tables and a page to open in a browser."""
    from weft import demo as demonstration
    from weft.output import choose_folder, new_folder

    folder = choose_folder(out, "weft-demo")
    with terminal.ProgressBar("incast") as bar:
        shown = demonstration.run(bar.show)
    with new_folder(folder) as unfinished:
        shown.write(unfinished)
    terminal.print_table(demonstration.TITLE, demonstration.COLUMNS, shown.summary.rows())
    terminal.print_line(f"Open {folder / 'index.html'} in a browser; tables and picture are beside it.")


@app.command()
def bench(
    scenarios: Annotated[list[str] | None, typer.Argument(metavar="[SCENARIO]...", help="All unless given.")] = None,
    threads: Annotated[int, typer.Option("--threads", parser=threads, metavar="N", help="Worker threads.")] = 1,
    repeat: Annotated[
        int, typer.Option("--repeat", parser=runs, metavar="N", help="Runs of each; the median counts.")
    ] = 1,
    as_json: Json = False,
) -> None:
    """Measure speed: packet-hops a second (one packet over one link), or seconds of the flow level; and memory."""
    from weft import bench as benchmark

    chosen = benchmark.find_scenarios(scenarios or [])
    rows = [benchmark.measure(scenario, threads, repeat) for scenario in chosen]
    if as_json:
        terminal.print_json(rows)
    else:
        # Levels count their work in different things.
        columns = tuple(dict.fromkeys(name for row in rows for name in row))
        terminal.print_table("", columns, [tuple(row.get(name, "") for name in columns) for row in rows])


def main() -> None:
    """Runs the command and ends the process."""
    sys.exit(run_guarded(lambda: app(standalone_mode=False)))
