"""The command `weft`.

Standard output carries results, standard error everything else. Exit codes: 0 done, 2 bad input, 70 a bug in
Weft, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from weft import _weft, terminal
from weft.errors import StoppedError
from weft.guard import run_guarded

app = typer.Typer(
    name="weft",
    help="A laboratory for multipath transport in data-centre fabrics.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def whole(text: str | int) -> int:
    """A whole number from 0 on."""
    return _number(text, least=0)


def positive(text: str | int) -> int:
    """A whole number from 1 on."""
    return _number(text, least=1)


def _number(given: str | int, least: int) -> int:
    # Typer hands in defaults too. int() also takes blanks, underscores and digits of other scripts.
    text = str(given)
    if not (text.isascii() and text.isdigit()) or int(text) < least:
        raise typer.BadParameter(f"{text!r}; allowed: a whole number, {least} or more")
    return int(text)


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Out = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="A new folder for the results.")]
Threads = Annotated[
    int, typer.Option("--threads", parser=positive, metavar="N", help="Worker threads; results do not depend on it.")
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
    threads: Threads = 1,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Run an experiment and leave its tables as Parquet in a new folder."""
    from weft import api
    from weft.output import choose_folder

    chosen = [*(overrides or []), *([] if seed is None else [f"seed={seed}"])]
    experiment = api.load(spec, chosen)
    folder = choose_folder(out, f"weft-{experiment.name or spec.stem}")
    with terminal.ProgressBar(experiment.name or spec.stem) as bar:
        result = api.run(experiment, threads=threads, progress=lambda now: bar.show(now.fraction))
    result.write(folder)
    if as_json:
        terminal.print_json(
            {
                "out": str(folder),
                "partial": result.partial,
                "tables": {name: str(folder / f"{name}.parquet") for name in result.tables},
                "manifest": result.manifest,
            }
        )
    else:
        rows = [(name, len(table), str(folder / f"{name}.parquet")) for name, table in result.tables.items()]
        terminal.print_table("", ("table", "rows", "file"), rows)
    if result.partial:
        raise StoppedError(f"stopped; the tables so far are in {folder}, marked partial")


@app.command("list")
def list_(as_json: Json = False) -> None:
    """List algorithms, schedulers, profiles, topologies, traffic and probes."""
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
    figure: Annotated[str | None, typer.Argument(metavar="PAPER/FIGURE", help="Such as amp/fig02.")] = None,
    list_figures: Annotated[bool, typer.Option("--list", help="List the figures.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Run less, as the output says.")] = False,
    seeds: Annotated[
        int | None,
        typer.Option("--seeds", parser=positive, metavar="N", help="Runs of everything; 3 unless quick, then 1."),
    ] = None,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Run a figure of a paper and judge the paper's claims by it."""
    from weft.errors import UsageError
    from weft.output import choose_folder, new_folder
    from weft.papers import FIGURES
    from weft.papers.figure import Scale
    from weft.papers.reproduce import find_figure
    from weft.papers.reproduce import reproduce as run_figure

    if list_figures:
        if as_json:
            terminal.print_json([{"figure": it.name, "title": it.title} for it in FIGURES])
        else:
            terminal.print_table("", ("figure", "title"), [(it.name, it.title) for it in FIGURES])
        return
    if figure is None:
        raise UsageError("no figure given; allowed: a name that `weft reproduce --list` shows")
    chosen = find_figure(figure)
    folder = choose_folder(out, f"weft-{chosen.name.replace('/', '-')}")
    scale = Scale(seeds=seeds or (1 if quick else Scale.seeds), quick=quick)
    with terminal.ProgressBar(chosen.name) as bar:
        reproduction = run_figure(chosen, scale, bar.show)
    with new_folder(folder) as unfinished:
        reproduction.write(unfinished)
    if as_json:
        terminal.print_json(reproduction.document(folder))
        return
    terminal.print_line(f"{chosen.name}: {chosen.title}\n{reproduction.scale}\n")
    for it in reproduction.claims:
        rows = {"": it.claim, "paper": it.paper, "measured": it.measured, "note": it.note}
        terminal.print_paragraph("holds" if it.holds else "DOES NOT HOLD", rows)
    terminal.print_line(f"Plot, table and claims are in {folder}")


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
    threads: Threads = 1,
    repeat: Annotated[
        int, typer.Option("--repeat", parser=positive, metavar="N", help="Runs of each; the median counts.")
    ] = 1,
    as_json: Json = False,
) -> None:
    """Measure the simulator's speed in packet-hops a second (one packet over one link)."""
    from weft import bench as benchmark

    chosen = benchmark.find_scenarios(scenarios or [])
    rows = [benchmark.measure(scenario, threads, repeat) for scenario in chosen]
    if as_json:
        terminal.print_json(rows)
    else:
        terminal.print_table("", tuple(rows[0]), [tuple(row.values()) for row in rows])


def main() -> None:
    """Runs the command and ends the process."""
    sys.exit(run_guarded(lambda: app(standalone_mode=False)))
