"""The command `weft`.

Standard output carries results, standard error everything else. Exit codes: 0 done, 2 bad input, 3 this
machine lacks something, 70 a bug in Weft, 130 stopped by Ctrl-C, SIGTERM or SIGHUP.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from weft import terminal
from weft.api import MAX_THREADS
from weft.errors import StoppedError
from weft.exit_codes import MISSING, run_command

if TYPE_CHECKING:
    from collections.abc import Mapping

    from weft.search.command import Outcome as Tuned
    from weft.sweeps.command import Outcome
    from weft_papers.figure import Figure, Scale
    from weft_papers.paper import PaperResult

app = typer.Typer(
    name="weft",
    help="A simulator and Linux testbed for multipath transport in data-centre fabrics.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


MAX_RUNS = 1000
"""Maximum number of runs with one spec.

More runs hardly change a mean or a spread, and all rows are kept until the end.
"""

MAX_TRIALS = 10_000
"""Maximum number of trials: for each new trial Optuna reads all earlier ones."""

SHOWN = 10
"""Number of trials that are printed."""


def whole(text: str | int) -> int:
    """Parses a whole number of at least 0."""
    return _number(text, 0, 2**63 - 1)


def runs(text: str | int) -> int:
    """Parses a number of runs."""
    return _number(text, 1, MAX_RUNS)


def trials(text: str | int) -> int:
    """Parses a number of trials."""
    return _number(text, 1, MAX_TRIALS)


def threads(text: str | int) -> int:
    """Parses a number of threads."""
    return _number(text, 1, MAX_THREADS)


def threads_or_auto(text: str | int) -> int:
    """Parses a number of threads, 0 for `auto`."""
    return 0 if text in (0, "auto") else _number(text, 1, MAX_THREADS, " or auto")


def _number(given: str | int, least: int, most: int, otherwise: str = "") -> int:
    # Typer also passes defaults. int() also accepts blanks, underscores and digits of other
    # scripts.
    text = str(given)
    if not (text.isascii() and text.isdigit() and len(text) <= 19) or not least <= int(text) <= most:
        raise typer.BadParameter(f"{text!r:.50}; allowed: a whole number, {least} to {most}{otherwise}")
    return int(text)


def figure_names() -> list[str]:
    """Returns the papers and figures for shell completion."""
    from weft_papers import FIGURES

    return sorted({name for figure in FIGURES for name in (figure.paper, figure.name)})


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Write the results to this folder, which must not exist. [default: weft-NAME, or weft-NAME-2 and so on "
        "if it exists]",
    ),
]
Threads = Annotated[
    int,
    typer.Option(
        "--threads",
        parser=threads_or_auto,
        metavar="N|auto",
        help="Use up to this many worker threads; the results do not change. auto is the number of cores.",
        show_default="auto",
    ),
]

Seed = Annotated[
    int | None, typer.Option("--seed", parser=whole, metavar="N", help="Use this seed instead of the spec's.")
]
Changes = Annotated[list[str] | None, typer.Option("--set", metavar="a.b=c", help="Change a field in all runs.")]
Force = Annotated[bool, typer.Option("--force", help="Run even if more memory is needed than is free.")]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="tcp://HOST:PORT|slurm",
        help="Run on a Dask scheduler or in jobs of Slurm, such as slurm:queue=long,cores=8. [default: this machine]",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        parser=threads,
        metavar="N",
        help="Run this many runs at a time, here or on Slurm. [default: one per core]",
    ),
]


@app.callback(invoke_without_command=True)
def weft(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
) -> None:
    """Simulate multipath transport in data-centre fabrics, or run it on this Linux kernel."""
    if version:
        from weft.version import __version__

        terminal.print_line(f"weft {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        terminal.print_line(context.get_help())
        raise typer.Exit


@app.command()
def run(
    spec: Annotated[Path, typer.Argument(metavar="SPEC.toml", help="The experiment.")],
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="a.b=c", help="Change a field before the run, such as 'traffic[0].flows=40'."),
    ] = None,
    seed: Seed = None,
    threads: Threads = 0,
    force: Force = False,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Run an experiment and write its tables as Parquet files to a new folder."""
    from weft import api, summary
    from weft.output import choose_folder

    chosen = [*(overrides or []), *([] if seed is None else [f"seed={seed}"])]
    checked = api.check_experiment(spec, chosen, force=force)
    name = json.loads(checked.spec())["name"] or spec.stem
    folder = choose_folder(out, f"weft-{name}")
    with terminal.ProgressBar(name) as bar:
        result = api.run_checked(
            checked, threads=threads or None, progress=lambda now: bar.show(now.fraction), out=folder
        )
    for warning in result.manifest["warnings"]:
        terminal.warn(warning)
    rows = result.manifest["rows"]
    if as_json:
        terminal.print_json(
            {
                "results": summary.as_json(result),
                "out": str(folder),
                "partial": result.partial,
                "tables": {name: str(folder / f"{name}.parquet") for name in api.TABLES if name in rows},
                "manifest": result.manifest,
            }
        )
    else:
        flows = summary.flows_of(result)
        terminal.print_table("", *summary.table(flows))
        terminal.print_line(f"  {summary.totals_line(result.manifest)}")
        if drops := summary.drops_by_reason(result):
            reasons = summary.reasons_in_words(drops)
            terminal.print_line(f"  Packets dropped or lost by reason: {reasons}; see docs/how-to/packets.md")
        lacking = summary.lacking(result.manifest, flows)
        if lacking:
            terminal.print_line(f"  Not modelled at level {result.manifest['level']}: {', '.join(lacking)}")
        files = [(name, rows[name], str(folder / f"{name}.parquet")) for name in api.TABLES if rows.get(name)]
        terminal.print_table("", ("table", "rows", "file"), files)
        for line in _unfinished(result.manifest):
            terminal.print_line(line)
        terminal.print_line(f"Results: {folder}")
    if result.partial:
        raise StoppedError(f"stopped; the tables so far are in {folder}, marked partial")


def _unfinished(manifest: Mapping[str, Any]) -> list[str]:
    """Returns one line per kind of unfinished rows, such as flows and jobs."""
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
        typer.Option(
            "--over", metavar="a.b=x,y|FIRST:LAST:STEP", help="Vary a field; repeat the option to combine fields."
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds",
            parser=runs,
            metavar="N",
            help="Run this many consecutive seeds, from the spec's seed on. [default: 1]",
        ),
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option(
            "--precision",
            metavar="SHARE",
            help="Add seeds until half the 95 % interval of each median is at most this share of it, such as 5%.",
        ),
    ] = None,
    of: Annotated[
        list[str] | None,
        typer.Option(
            "--of",
            metavar="MEASURE",
            help="Print this measure, such as 'p99 slowdown' or 'min goodput'; the first one decides --precision. "
            "Repeat the option for several. [default: FCT and slowdown, or goodput]",
        ),
    ] = None,
    max_seeds: Annotated[
        int,
        typer.Option("--max-seeds", parser=runs, metavar="N", help="Add seeds with --precision up to this number."),
    ] = 100,
    overrides: Changes = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Write to this folder: a new one, or that of a sweep, whose results are reused.",
        ),
    ] = None,
    cluster: Cluster = None,
    workers: Workers = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Run an experiment for all combinations of values and seeds. The same command continues a sweep that stopped.

    The table [sweep] of the spec provides defaults for --over and --seeds.
    """
    from dataclasses import replace

    from weft.errors import UsageError
    from weft.measures import parse
    from weft.output import file_name
    from weft.sweeps.axes import Axis
    from weft.sweeps.command import run_sweep
    from weft.sweeps.executor import Executor
    from weft.sweeps.plan import plan
    from weft.sweeps.precision import Precision, parse_share

    for text in of or []:
        parse(text)
    if precision is not None and not of:
        raise UsageError("--precision: no measure; add --of, such as --of 'p99 slowdown'")
    wanted = None if precision is None else Precision((of or [""])[0], parse_share(precision), max_seeds)
    executor = Executor.parse(cluster, workers)
    axes = None if over is None else [Axis.parse(text) for text in over]
    planned = replace(plan(spec, overrides or [], axes, seeds, precision=wanted, force=force), of=of[0] if of else None)
    folder = Path(f"weft-sweep-{file_name(planned.name or spec.stem)}") if out is None else out
    with terminal.ProgressBar(planned.name or spec.stem, lines=True) as bar:
        outcome = run_sweep(planned, folder, executor=executor, force=force, show=bar.show)
    if as_json:
        terminal.print_json(outcome.document() | {"summary": _summaries(outcome, of)})
    else:
        _print_outcome(outcome, of)
    raise typer.Exit(outcome.exit_code)


def _summaries(outcome: Outcome, of: list[str] | None) -> dict[str, list[dict[str, Any]]]:
    if not outcome.tables:
        return {}
    from weft.sweeps import summary
    from weft.sweeps.results import Sweep

    found = Sweep(outcome.folder)
    return {text: found.summary(text).to_dicts() for text in of or summary.default_measures(found)}


def _print_outcome(outcome: Outcome, of: list[str] | None) -> None:
    for failed in outcome.failed():
        terminal.print_line(f"failed: {failed['run']}\n  {failed['reason']}\n  {failed['command']}\n")
    count, bad = len(outcome.sweep.runs), len(outcome.failures)
    counts = f"{count} runs" + (f", {outcome.reused} of them reused" if outcome.reused else "")
    terminal.print_line(counts + (f", {bad} failed; the same command retries these" if bad else ""))
    for line in outcome.unfinished_lines():
        terminal.print_line(line)
    if (others := outcome.others_line()) is not None:
        terminal.warn(others)
    for line in outcome.warning_lines():
        terminal.warn(line)
    if not outcome.tables:
        return
    from weft.sweeps import summary
    from weft.sweeps.results import Sweep

    found = Sweep(outcome.folder)
    columns, rows = summary.table(found, of or summary.default_measures(found))
    terminal.print_table("", columns, rows[: summary.MAX_ROWS])
    if len(rows) > summary.MAX_ROWS:
        terminal.print_line(f"{len(rows) - summary.MAX_ROWS:,} rows more: with --json, or in Python with weft.Sweep")
    terminal.print_line(f"Tables: {outcome.folder}/tables/TABLE/*.parquet, such as {outcome.tables['flows']}")


@app.command()
def tune(
    spec: Annotated[Path, typer.Argument(metavar="SPEC.toml", help="The experiment.")],
    over: Annotated[
        list[str] | None,
        typer.Option(
            "--over",
            metavar="a.b=LOW:HIGH|x,y",
            help="Tune a field; repeat the option for several. transports.NAME.cc tunes all its parameters.",
        ),
    ] = None,
    minimize: Annotated[
        str | None,
        typer.Option(
            "--minimize",
            metavar="SQL",
            help="Minimise one number, for example 'quantile_cont(fct_s, 0.99) FROM flows'.",
        ),
    ] = None,
    maximize: Annotated[
        str | None,
        typer.Option(
            "--maximize", metavar="SQL", help="Maximise one number, for example 'sum(goodput_bps) FROM flows'."
        ),
    ] = None,
    trials: Annotated[
        int, typer.Option("--trials", parser=trials, metavar="N", help="Try this many combinations.")
    ] = 50,
    seeds: Annotated[
        int,
        typer.Option(
            "--seeds", parser=runs, metavar="N", help="Run each trial with this many seeds, from the spec's seed on."
        ),
    ] = 5,
    batch: Annotated[
        int,
        typer.Option("--batch-size", parser=threads, metavar="N", help="Propose this many trials at a time."),
    ] = 8,
    overrides: Changes = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Write to this folder: a new one, or that of this tuning, which continues."
        ),
    ] = None,
    cluster: Cluster = None,
    workers: Workers = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Search with Optuna for parameters that minimise or maximise a number. The same command continues."""
    from weft import api
    from weft.extras import require
    from weft.output import file_name
    from weft.search.command import Tuning, run_tuning
    from weft.search.objective import Objective
    from weft.search.space import parse
    from weft.sweeps.executor import Executor

    require("weft tune", "tune")
    executor = Executor.parse(cluster, workers)
    objective = Objective.parse(minimize, maximize)
    experiment = api.load(spec, overrides or [], force=force).model_dump(by_alias=True)
    parameters = parse(over or [], experiment)
    tuning = Tuning(spec, tuple(overrides or []), tuple(parameters), objective, seeds, batch, force)
    name = experiment["name"] or spec.stem
    folder = Path(f"weft-tune-{file_name(name)}") if out is None else out
    with terminal.ProgressBar(name, lines=True) as bar:
        outcome = run_tuning(tuning, folder, trials, executor=executor, show=bar.show)
    if as_json:
        terminal.print_json(outcome.document())
    else:
        _print_tuning(outcome)


def _print_tuning(outcome: Tuned) -> None:
    from weft.search.space import combinations

    tuning = outcome.tuning
    fields = [parameter.field for parameter in tuning.parameters]
    rows: list[tuple[Any, ...]] = [
        (trial.number, *(trial.values[field] for field in fields), trial.objective)
        for trial in outcome.ranked()[:SHOWN]
    ]
    own = "no result" if outcome.own_objective is None else outcome.own_objective
    rows.append(("as given", *(outcome.own_values[field] for field in fields), own))
    for line in outcome.warnings:
        terminal.warn(line)
    count, bad = len(outcome.trials), len(outcome.failed())
    whole = ", all combinations" if count == combinations(tuning.parameters) else ""
    title = f"The best of {count} trials{whole}" + (f"; {bad} failed" if bad else "")
    terminal.print_table(title, ("trial", *fields, "objective"), rows)
    terminal.print_line(f"Objective to {tuning.objective.direction}: {tuning.objective.query}\n")
    first, seeds = outcome.first_checked, tuning.seeds
    terminal.print_line(f"Check with {seeds} unused seeds ({first} to {first + seeds - 1}):")
    for name, checked in (("best", outcome.checked), ("as given", outcome.given), ("difference", outcome.difference)):
        terminal.print_line(f"  {name:10}  {checked}")
    finding = outcome.finding()
    if finding is not None:
        terminal.print_line(finding)
    if outcome.failed():
        terminal.print_line(f"\nFirst failure: trial {outcome.failed()[0].number}: {outcome.failed()[0].reason}")
    offer = "To run the best trial" if finding is None else "To run the best trial nevertheless"
    terminal.print_line(f"\n{offer}:\n  {outcome.command}\nAll trials: {outcome.folder}/trials.parquet")


@app.command()
def report(
    folders: Annotated[list[Path], typer.Argument(metavar="RUN_OR_SWEEP...", help="Folders of runs or sweeps.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE.html",
            help="Write to this file, which must not exist. [default: weft-report.html, or weft-report-2.html and so "
            "on if it exists]",
        ),
    ] = None,
    rows: Annotated[
        str | None, typer.Option("--rows", metavar="FIELD", help="Draw a row of plots per value of this field.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option("--columns", metavar="FIELD", help="Draw a column of plots per value of this field.")
    ] = None,
    colour: Annotated[
        str | None, typer.Option("--colour", metavar="FIELD", help="Use a colour per value of this field.")
    ] = None,
    line: Annotated[
        str | None, typer.Option("--line", metavar="FIELD", help="Use a kind of line per value of this field.")
    ] = None,
    x: Annotated[str | None, typer.Option("--x", metavar="FIELD", help="Draw this field along the x axis.")] = None,
    of: Annotated[
        str | None,
        typer.Option(
            "--of", metavar="MEASURE", help="Show this measure first, such as 'mean fct'. [default: the sweep's]"
        ),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where", metavar="FIELD=VALUE", help="Show one value of a field; repeat the option for several fields."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write one page about runs or sweeps, with plots, the fabric and a timeline; it needs no network.

    A FIELD is one that varies, such as load or cc. The page has controls for these choices.
    """
    from weft.extras import require
    from weft.output import choose_file, write_file

    require("weft report", "report")
    from weft.reports import inputs
    from weft.reports.factors import Wishes

    file = choose_file(out, "weft-report", ".html")
    with terminal.ProgressBar("report") as bar:
        bar.show(0)
        read = inputs.read(folders)
        from weft.reports import page

        given = {"x": x, "colour": colour, "line": line, "columns": columns, "rows": rows}
        wishes = Wishes({role: name for role, name in given.items() if name is not None}, where or [], of)
        text = page.write(read, bar.show, wishes=wishes)
    write_file(file, text)
    if as_json:
        facts = {"runs": len(read.runs), "groups": [group.name for group in read.groups], "absent": read.absent}
        terminal.print_json({"out": str(file), "bytes": len(text.encode()), **facts})
    else:
        terminal.print_line(f"Open {file} in a browser; it needs no network.")


@app.command()
def trace(
    source: Annotated[Path, typer.Argument(metavar="SPEC.toml|RUN", help="An experiment, or the folder of a run.")],
    at: Annotated[
        list[str] | None,
        typer.Option("--at", metavar="NODE|FROM->TO", help="Record the packets of this host, switch, link or layer."),
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="a.b=c", help="Change a field of the experiment before the run."),
    ] = None,
    seed: Seed = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Write the packets to this file, which must not exist. [default: NAME.pcapng, or NAME-2.pcapng and so "
            "on if it exists]",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write packets as pcapng, with the headers of TCP and MPTCP, for Wireshark and tshark."""
    from weft import trace as tracing
    from weft.errors import UsageError
    from weft.output import choose_file, file_name
    from weft.trace.command import record

    if source.is_dir() and (at or overrides or seed is not None):
        raise UsageError(
            f"{source}: a run folder, whose packets are recorded; use --at, --set and --seed with a spec only"
        )
    file = choose_file(out, file_name(source.stem) or "weft", ".pcapng")
    if source.is_dir():
        written = tracing.write(source, file)
    else:
        chosen = [*(overrides or []), *([] if seed is None else [f"seed={seed}"])]
        with terminal.ProgressBar(source.stem) as bar:
            result = record(source, chosen, at or [], lambda now: bar.show(now.fraction))
        written = tracing.write(result, file)
    if as_json:
        terminal.print_json({"out": str(written.file), "packets": written.packets})
    else:
        terminal.print_table("", ("capture point", "packets"), list(written.packets.items()))
        terminal.print_line(f"Open {written.file} in Wireshark, or read it with tshark -r {written.file}")


@app.command("ls")
def list_folders(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="Where to look, with its subfolders.")] = Path(),
    as_json: Json = False,
) -> None:
    """List runs, sweeps and tunings in a folder, the newest first."""
    from weft.inspection import find

    found = find(folder)
    if as_json:
        terminal.print_json(
            [vars(one) | {"folder": str(one.folder), "changed": one.changed.isoformat()} for one in found]
        )
        return
    rows = [
        (str(one.folder), one.kind, one.name, one.runs, one.version, one.changed.strftime("%Y-%m-%d %H:%M"))
        for one in found
    ]
    terminal.print_table("", ("folder", "kind", "name", "runs", "version", "written"), rows)


@app.command()
def show(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run, sweep or tuning.")],
    of: Annotated[
        list[str] | None,
        typer.Option("--of", metavar="MEASURE", help="Print this measure of a sweep, such as 'p99 slowdown'."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print what a folder holds: spec, seeds, version and main results."""
    from weft import summary
    from weft.api import Result
    from weft.inspection import facts
    from weft.sweeps import summary as sweep_summary
    from weft.sweeps.results import Sweep

    found = facts(folder)
    if as_json:
        terminal.print_json(found)
        return
    terminal.print_table("", ("", "value"), list(found.items()))
    if "run" in found:
        terminal.print_table("", *summary.table(summary.flows_of(Result.read(folder))))
    elif "sweep" in found:
        opened = Sweep(folder)
        columns, rows = sweep_summary.table(opened, of or sweep_summary.default_measures(opened))
        terminal.print_table("", columns, rows[: sweep_summary.MAX_ROWS])


@app.command()
def diff(
    first: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    second: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of another run.")],
    as_json: Json = False,
) -> None:
    """Compare two runs: fields of their specs, versions, tables and measures."""
    from dataclasses import asdict

    from weft.inspection import difference

    found = difference(first, second)
    if as_json:
        terminal.print_json(asdict(found))
        return
    if found.fields:
        terminal.print_table("", ("field", str(first), str(second)), found.fields)
    else:
        terminal.print_line("Specs, seeds and versions are equal.")
    terminal.print_table("", ("table", "compared"), found.tables)
    terminal.print_table(
        "",
        ("measure", str(first), str(second)),
        [(name, *("-" if value is None else value for value in values)) for name, *values in found.measures],
    )


@app.command()
def check(
    spec: Annotated[Path, typer.Argument(metavar="SPEC.toml", help="The experiment.")],
    overrides: Annotated[
        list[str] | None, typer.Option("--set", metavar="a.b=c", help="Change a field before the check.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Check a spec, and all runs of its table [sweep], without running anything.

    With --json, the field "spec" of the document is the spec with every default filled in.
    """
    from weft.sweeps.plan import Source, plan

    source = Source(spec)
    planned = plan(source, overrides or [], force=False)
    if as_json:
        resolved = source.resolved(overrides or [], force=False)
        document = {"name": planned.name, "levels": sorted(planned.level), "runs": len(planned.runs), "spec": resolved}
        terminal.print_json(document)
        return
    runs = "1 run" if len(planned.runs) == 1 else f"{len(planned.runs):,} runs of [sweep]"
    terminal.print_line(f"{spec}: correct; {planned.name}, level {', '.join(sorted(planned.level))}, {runs}")


@app.command()
def new(
    kind: Annotated[
        Literal["incast", "permutation", "load"],
        typer.Argument(metavar="incast|permutation|load", help="The kind of traffic."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE.toml", help="Write to this file, which must not exist. [default: KIND.toml]"
        ),
    ] = None,
) -> None:
    """Write a commented spec to begin with."""
    from weft.inspection import new_spec
    from weft.output import choose_file, write_file

    file = choose_file(out, kind, ".toml")
    write_file(file, new_spec(kind, file.stem))
    terminal.print_line(f"Edit {file}; then: weft run {file}, or weft sweep {file}")


@app.command("list")
def list_(as_json: Json = False) -> None:
    """List transports, algorithms, paths, schedulers, profiles, queues, topologies, traffic, probes and levels."""
    from weft import api

    registry = api.registry()
    if as_json:
        terminal.print_json(registry)
        return
    for group, listings in registry.items():
        terminal.print_table(group, ("name", "about"), [(listing["name"], listing["about"]) for listing in listings])


@app.command()
def doctor(as_json: Json = False) -> None:
    """Check that Weft works on this machine, and list what is missing for each purpose."""
    from dataclasses import asdict

    from weft.doctor import examine

    findings = list(examine())
    if as_json:
        terminal.print_json([asdict(finding) for finding in findings])
    else:
        rows = [(finding.what, finding.state, finding.detail, finding.fix) for finding in findings]
        terminal.print_table("", ("", "state", "detail", "fix"), rows)
    if any(finding.state == "error" for finding in findings):
        raise typer.Exit(MISSING)


@app.command()
def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(metavar="bash|zsh|fish", help="The shell.")],
) -> None:
    """Print a script for shell completion, for example for `source <(weft completion bash)`."""
    text = io.StringIO()
    os.environ[COMPLETE] = f"source_{shell}"
    with contextlib.redirect_stdout(text), contextlib.suppress(SystemExit):
        command()(prog_name="weft")
    terminal.print_line(text.getvalue().rstrip("\n"))


@app.command()
def schema() -> None:
    """Print the JSON Schema of an experiment."""
    from weft import api

    terminal.print_json(api.schema())


@app.command()
def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="PAPER[/FIGURE]",
            help="A paper, such as amp, or a figure, such as amp/fig02.",
            autocompletion=figure_names,
        ),
    ] = None,
    list_figures: Annotated[bool, typer.Option("--list", help="List the figures and how long they take.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Run a smaller version; the output lists what it leaves out.")
    ] = False,
    seeds: Annotated[
        int | None,
        typer.Option("--seeds", parser=runs, metavar="N", help="Run this many seeds. [default: 5, or 1 with --quick]"),
    ] = None,
    scenarios: Annotated[
        Path | None,
        typer.Option("--scenarios", metavar="FILE.csv", help="Compare the scenarios of this file. Only for uet."),
    ] = None,
    headlines: Annotated[
        bool, typer.Option("--headlines", help="List what the papers conclude and what Weft found; runs nothing.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print every claim with its note, cause and tables.")
    ] = False,
    export_to: Annotated[
        Path | None,
        typer.Option(
            "--export", metavar="DIR", help="Write a figure's specs and a short script to this folder instead."
        ),
    ] = None,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Run the figures of a paper, or one figure, and compare the results with the paper's claims."""
    from weft.errors import UsageError
    from weft.extras import require
    from weft.output import choose_folder, new_folder
    from weft_papers.figure import Scale
    from weft_papers.paper import find_figures, reproduce_all

    if list_figures:
        _list_figures(as_json=as_json)
        return
    if headlines:
        _print_headlines(name, as_json=as_json, verbose=verbose)
        return
    if name is None:
        raise UsageError("no figure given; pass a paper or a figure from `weft reproduce --list`")
    figures = find_figures(name)
    if scenarios is not None and not all(figure.scenarios for figure in figures):
        raise UsageError(f"--scenarios: {name} does not compare scenarios; remove the option")
    require("weft reproduce", "reproduce")
    if export_to is not None:
        _export(figures, Scale(seeds=seeds or (1 if quick else Scale.seeds), quick=quick), export_to, as_json=as_json)
        return
    folder = choose_folder(out, f"weft-{name}")
    scale = Scale(seeds=seeds or (1 if quick else Scale.seeds), quick=quick, scenarios=scenarios)
    with new_folder(folder) as unfinished:
        with terminal.ProgressBar(name) as bar:
            result = reproduce_all(name, scale, unfinished, bar.show, terminal.print_error)
        if result.done:
            result.write(unfinished)
        elif not result.kept:
            if result.left_out:
                raise KeyboardInterrupt
            raise typer.Exit(result.exit_code or MISSING)
    if result.kept:
        tables = ", ".join(str(folder / table) for table in result.kept)
        terminal.print_error(f"the measurements of these runs are in {tables}")
    if not result.done:
        raise typer.Exit(result.exit_code or MISSING)
    if as_json:
        terminal.print_json(result.document(folder))
    else:
        _print_result(result, folder, verbose=verbose)
    if result.left_out:
        raise StoppedError(f"stopped; the finished figures are in {folder}, marked partial")
    raise typer.Exit(result.exit_code)


def _export(figures: list[Figure], scale: Scale, folder: Path, *, as_json: bool) -> None:
    from weft.errors import UsageError
    from weft.output import choose_folder, new_folder
    from weft_papers.export import export

    if len(figures) > 1:
        allowed = ", ".join(figure.name for figure in figures)
        raise UsageError(f"--export: {len(figures)} figures; allowed: {allowed}")
    with new_folder(choose_folder(folder, "")) as unfinished:
        count = export(figures[0], scale, unfinished)
    if as_json:
        terminal.print_json({"out": str(folder), "runs": count})
    else:
        terminal.print_line(f"{count} runs in {folder}; run: python {folder / 'figure.py'}")


def _list_figures(*, as_json: bool) -> None:
    from weft.html_pages import duration
    from weft_papers import FIGURES
    from weft_papers.figure import CORES, Scale

    if as_json:
        facts = ("title", "level", "seconds", "quick_seconds")
        terminal.print_json(
            [
                {"figure": figure.name, "cores": CORES} | {fact: getattr(figure, fact) for fact in facts}
                for figure in FIGURES
            ]
        )
        return
    rows = [(figure.name, figure.title, *map(duration, (figure.seconds, figure.quick_seconds))) for figure in FIGURES]
    terminal.print_table("", ("figure", "title", "full size", "quick"), rows)
    terminal.print_line(f"Times on {CORES} cores; full size with {Scale.seeds} seeds, quick with one.")


def _print_headlines(paper: str | None, *, as_json: bool, verbose: bool) -> None:
    from weft_papers.conclusions import stored_headlines

    rows = stored_headlines(paper)
    if as_json:
        terminal.print_json(rows)
        return
    columns = ["paper", "conclusion", "paper's value", "Weft's value", "verdict"]
    cells = [
        [row["paper"], row["conclusion"], row["number"], row["measured"], f"{row['verdict']}{' *' * row['older']}"]
        for row in rows
    ]
    if verbose:
        columns += ["reason", "run"]
        cells = [[*cell, row["why"], row["run"]] for cell, row in zip(cells, rows, strict=True)]
    terminal.print_table("", columns, cells)
    if any(row["older"] for row in rows):
        terminal.print_line("* A run is older than today's models.")
    if not verbose:
        terminal.print_line("Reasons, and the day and commit of each run: with -v, and on the page of all figures.")


def _print_result(result: PaperResult, folder: Path, *, verbose: bool) -> None:
    from weft.html_pages import duration
    from weft_papers import summary

    one = len(result.figures) == 1
    if one:
        terminal.print_line(f"{result.done[0]['figure']}: {result.done[0]['title']}\n{result.done[0]['scale']}")
    if one and result.figures[0].scenarios:
        _print_scenarios(result.done[0]["claims"])
    else:
        terminal.print_table("", summary.COLUMNS, summary.rows(result.done))
        if left_out := summary.left_out(result.done) * (not verbose):
            terminal.print_line(f"{left_out} claims more, and notes, causes and tables: with -v, and on the page.")
        if any(map(summary.is_quick, result.done)):
            terminal.print_line("A quick version is indicative: only the full size decides a claim.")
    for figure in result.done if verbose and not result.figures[0].scenarios else []:
        verdicts = summary.QUICK if summary.is_quick(figure) else summary.FULL
        for claim in figure["claims"]:
            parts = {"": claim["claim"], "paper": claim["paper"], "measured": claim["measured"], "note": claim["note"]}
            if claim["cause"] is not None:
                parts["cause"] = f"{claim['cause']['kind']}: {claim['cause']['text']}"
            terminal.print_paragraph(verdicts[claim["holds"]], parts)
            if claim["table"] is not None:
                terminal.print_table("", claim["table"]["columns"], claim["table"]["rows"])
    columns = ("figure", "title", "claims", "hold", "time")
    rows = [
        (
            figure["figure"],
            figure["title"],
            sum(claim["holds"] is not None for claim in figure["claims"]),
            sum(claim["holds"] is True for claim in figure["claims"]),
            duration(figure["seconds"]),
        )
        for figure in result.done
    ]
    terminal.print_table("", columns, rows)
    for count in [] if any(map(summary.is_quick, result.done)) else result.counts:
        causes = ", ".join(f"{kind or 'without a cause'} {number}" for kind, number in count.causes.items())
        rest = f"; {count.fail} do not: {causes}" if count.fail else ""
        terminal.print_line(f"Statements of origin {count.origin}: {count.hold} of {count.judged} hold{rest}")
    terminal.print_line(f"Open {folder / 'index.html'} in a browser; plots, tables and claims are in the same folder.")


def _print_scenarios(claims: list[dict[str, Any]]) -> None:
    verdicts = {True: "agrees", False: "DIFFERS", None: ""}
    rows = [(claim["claim"], claim["measured"], claim["paper"], verdicts[claim["holds"]]) for claim in claims]
    terminal.print_table("", ("scenario", "measured", "expected", "verdict"), rows)


@app.command()
def demo(out: Out = None) -> None:
    """Compare multipath with one path in a permutation and under incast: plots, tables and a page for a browser."""
    from weft.extras import require
    from weft.output import choose_folder, new_folder

    require("weft demo", "report", "reproduce")
    folder = choose_folder(out, "weft-demo")
    with new_folder(folder) as unfinished:
        # Imported late, because the import takes a second.
        from weft_papers import demo as demonstration

        with terminal.ProgressBar("demo") as bar:
            shown = demonstration.run(bar.show)
        shown.write(unfinished)
    for part in shown.parts:
        terminal.print_line(f"{part.name.capitalize()}: {part.verdict}\n{part.title}")
        terminal.print_table("", part.columns, part.table().rows())
        if part.note:
            terminal.print_line(f"{part.note}\n")
    terminal.print_line(f"Open {folder / 'index.html'} in a browser; tables and plots are in the same folder.")
    terminal.print_line(f"{folder / 'report.html'} shows {demonstration.REPORTED_RUNS} in detail.")


@app.command()
def bench(
    scenarios: Annotated[
        list[str] | None, typer.Argument(metavar="[SCENARIO]...", help="A scenario. [default: all]")
    ] = None,
    threads: Annotated[
        int, typer.Option("--threads", parser=threads, metavar="N", help="Use this many worker threads.")
    ] = 1,
    repeat: Annotated[
        int,
        typer.Option("--repeat", parser=runs, metavar="N", help="Run each scenario this often and report the median."),
    ] = 1,
    as_json: Json = False,
) -> None:
    """Measure memory and speed: packet-hops per second (one packet over one link), or seconds at the flow level."""
    from weft import bench as benchmark

    chosen = benchmark.find_scenarios(scenarios or [])
    rows = [benchmark.measure(scenario, threads, repeat) for scenario in chosen]
    if as_json:
        terminal.print_json(rows)
    else:
        # Each level counts its work in its own units.
        columns = tuple(dict.fromkeys(name for row in rows for name in row))
        terminal.print_table("", columns, [tuple(row.get(name, "") for name in columns) for row in rows])


COMPLETE = "_WEFT_COMPLETE"
"""Name of the variable with which a shell requests completions."""


def command() -> Any:  # noqa: ANN401 - the class has no public name in Typer
    """Returns the command; `weft completion` takes the place of Typer's two options for completion."""
    found = typer.main.get_command(app)
    found.params = [option for option in found.params if option.name not in {"install_completion", "show_completion"}]
    return found


def main() -> None:
    """Runs the command and ends the process."""
    sys.exit(run_command(lambda: command()(standalone_mode=False)))
