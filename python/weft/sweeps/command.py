"""The work of `weft sweep`: plans, executes the missing runs, and assembles the tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from weft import api
from weft.errors import StoppedError, UsageError
from weft.measures import parse
from weft.sweeps import store
from weft.sweeps.plan import SweepPlan, build
from weft.sweeps.runner import Runner, make_runner
from weft.sweeps.store import SPEC, RunWarning, Unfinished
from weft.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from weft.sweeps.executor import Executor
    from weft.sweeps.worker import Failure


COMPLETION = {"flows": "fct_s", "jobs": "jct_s"}
"""The column with the completion time of each table that has one."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a sweep."""

    sweep: SweepPlan
    folder: Path
    tables: dict[str, Path]
    reused: int
    """Number of runs whose results existed before."""
    failures: tuple[Failure, ...]
    unfinished: dict[str, Unfinished]
    """The unfinished rows of each table."""
    warnings: tuple[RunWarning, ...]
    """The warnings of all runs."""
    force: bool
    others: int = 0
    """Number of runs in the folder that are not part of the sweep, such as those of an earlier spec."""

    @property
    def exit_code(self) -> int:
        """The highest exit code of the failed runs; 0 if none failed."""
        return max((failure.code for failure in self.failures), default=0)

    def failed(self) -> list[dict[str, str]]:
        """Lists the failed runs: the varied fields, the reason, and the command that repeats the run."""
        return [
            {
                "run": " ".join([*self.sweep.changes(failure.run), f"seed={failure.run.seed}"]),
                "reason": failure.line,
                "command": self.sweep.command(failure.run, force=self.force),
            }
            for failure in self.failures
        ]

    def unfinished_lines(self) -> list[str]:
        """Returns one line per table with unfinished rows."""
        return [
            f"{found.count:,} of {found.rows:,} {table} had not ended, in {found.runs:,} of {len(self.sweep.runs):,} "
            f"runs: their {COMPLETION[table]} is null"
            for table, found in self.unfinished.items()
            if found.count
        ]

    def others_line(self) -> str | None:
        """Returns a line about runs that are not part of the sweep; None if there are none."""
        if not self.others:
            return None
        runs = "1 run of an earlier sweep is" if self.others == 1 else f"{self.others:,} runs of earlier sweeps are"
        return (
            f"{runs} in {self.folder}/runs and not part of this one, because the spec, the changes or the seeds "
            "differ; use a new folder for each spec, or remove the folder and rerun the command"
        )

    def cells(self, warning: RunWarning) -> list[str]:
        """Returns the values of the varied fields in the runs of a warning, for fields that have others as well."""
        found = []
        for n, axis in enumerate(self.sweep.axes):
            values = sorted({run.point[n] for run in warning.runs})
            if len(values) < len(axis.values):
                found.append(f"{axis.field}={','.join(axis.values[value] for value in values)}")
        return found

    def warning_lines(self) -> list[str]:
        """Returns one line per warning, with the number of runs and the values of the varied fields concerned."""
        lines = []
        for warning in self.warnings:
            cells = "".join(f", {cell}" for cell in self.cells(warning))
            numbers = "; numbers are those of the first" if warning.lines > 1 else ""
            of = f"{len(warning.runs):,} of {len(self.sweep.runs):,} runs"
            lines.append(f"{warning.line} ({of}{cells}{numbers})")
        return lines

    def document(self) -> dict[str, Any]:
        """Returns the outcome as a document for JSON."""
        return {
            "out": str(self.folder),
            "runs": len(self.sweep.runs),
            "reused": self.reused,
            "others": self.others,
            "failed": self.failed(),
            "unfinished": {table: found.count for table, found in self.unfinished.items()},
            "warnings": [
                {"line": warning.line, "runs": len(warning.runs), "cells": self.cells(warning)}
                for warning in self.warnings
            ],
            "tables": {name: f"{folder}/*.parquet" for name, folder in self.tables.items()},
        }


def run_sweep(
    sweep: SweepPlan,
    folder: Path,
    *,
    executor: Executor,
    force: bool,
    show: Callable[[float, str], None],
) -> Outcome:
    """Executes every run that has no results in the folder yet, and writes the tables of all results.

    Args:
        sweep: The sweep.
        folder: A new folder, or that of an earlier sweep.
        executor: The machines.
        force: Run experiments that need more memory than a machine has free.
        show: Called with the part of the work that is done, 0 to 1, and with the number of runs in words.

    Raises:
        StoppedError: Ctrl-C.
        WeftError: The sweep cannot continue.
    """
    if check_exclusive(sweep, executor):
        executor = replace(executor, workers=1)
    failures: list[Failure] = []
    with store.opened(folder):
        sweep = _with_file(sweep, folder)
        store.write_document(folder, document_of(sweep))
        there = sum(store.is_complete(store.results_of(folder, key)) for key in {run.key for run in sweep.runs})
        most = len(sweep.runs) if sweep.precision is None else len(sweep.runs) * 100
        try:
            with make_runner(folder, executor, most=most, force=force, own=sweep.source.own()) as runner:
                _execute(sweep, folder, runner, failures, show)
                if sweep.precision is not None:
                    sweep = _extend(sweep, folder, runner, failures, show, force=force)
                    store.write_document(folder, document_of(sweep))
        except KeyboardInterrupt:
            # This may exceed the number that was reported: some runs ended while others were being stopped.
            keys = {run.key for run in sweep.runs}
            kept = sum(store.is_complete(store.results_of(folder, key)) for key in keys)
            line = f"stopped; {kept} of {len(keys)} runs are in {folder}; the same command runs the others"
            raise StoppedError(line) from None
        distinct = {run.key: run for run in sweep.runs}
        failed = {failure.run.key for failure in failures}
        complete = [run for run in sweep.runs if run.key not in failed]
        manifests = store.read_manifests(folder, complete)
        tables = store.write_tables(folder, sweep, complete, manifests)
        unfinished = store.count_unfinished(manifests)
        others = store.count_others(folder, distinct)
        warnings = tuple(store.collect_warnings(manifests))
    order = list(distinct)
    failures.sort(key=lambda failure: order.index(failure.run.key))
    return Outcome(sweep, folder, tables, there, tuple(failures), unfinished, warnings, force, others)


def _with_file(sweep: SweepPlan, folder: Path) -> SweepPlan:
    """Returns the plan with a file of its experiment, which is written to the folder if there is none."""
    if sweep.source.path is not None:
        return sweep
    document = sweep.source.resolved((), force=True)
    store.write_document(folder, document, SPEC)
    return replace(sweep, spec=folder / SPEC)


def _execute(
    sweep: SweepPlan, folder: Path, runner: Runner, failures: list[Failure], show: Callable[[float, str], None]
) -> None:
    """Executes the runs that have no results and have not failed, and collects the failures."""
    distinct = {run.key: run for run in sweep.runs}
    failed = {failure.run.key for failure in failures}
    missing = {
        key: run
        for key, run in distinct.items()
        if key not in failed and not store.is_complete(store.results_of(folder, key))
    }
    there = done = len(distinct) - len(missing)

    def on_done(_: object, failure: Failure | None) -> None:
        nonlocal done
        done += 1
        failures.extend([] if failure is None else [failure])
        bad = f", {len(failures)} failed" if failures else ""
        show(done / len(distinct), f"{done} of {len(distinct)} runs{bad}")

    if missing:
        show(there / len(distinct), f"{there} of {len(distinct)} runs")
        runner.run_all(list(missing.values()), on_done)


def _extend(
    sweep: SweepPlan,
    folder: Path,
    runner: Runner,
    failures: list[Failure],
    show: Callable[[float, str], None],
    *,
    force: bool,
) -> SweepPlan:
    """Adds seeds to each combination of values until its interval is narrow enough."""
    precision = sweep.precision
    assert precision is not None  # noqa: S101 - the caller has looked
    measure = parse(precision.of)
    values: dict[str, float | None] = {}
    looks = dict.fromkeys(dict.fromkeys(run.point for run in sweep.runs), 0)
    undecided = list(looks)
    for look, size in enumerate(precision.sizes(sweep.seeds), start=1):
        for point in undecided:
            if sum(run.point == point for run in sweep.runs) < size:
                sweep = sweep.extended(point, size, force=force)
        _execute(sweep, folder, runner, failures, show)
        failed = {failure.run.key for failure in failures}
        still = []
        for point in undecided:
            looks[point] = look
            runs = [run for run in sweep.runs if run.point == point]
            if any(run.key in failed for run in runs):
                continue
            for run in runs:
                if run.key not in values:
                    table = api.Result.read(store.results_of(folder, run.key)).table(measure.quantity.table)
                    values[run.key] = measure.values(table, []).item(0, "value")
            known = [value for run in runs if (value := values[run.key]) is not None]
            if len(known) == len(runs) and not precision.is_reached(known, look):
                still.append(point)
        undecided = still
        if not undecided:
            break
    return replace(sweep, looks=tuple(looks.items()))


def check_exclusive(sweep: SweepPlan, executor: Executor) -> bool:
    """Returns whether one of these runs needs a machine to itself.

    Raises:
        UsageError: It does, and the sweep uses other machines.
    """
    exclusive = {level["name"] for level in api.registry()["levels"] if level["exclusive"]} & sweep.level
    if exclusive and (executor.address is not None or executor.slurm is not None):
        # Runs in real time need a quiet machine.
        raise UsageError(f"--cluster: level {min(exclusive)!r} runs on this machine only; remove --cluster")
    return bool(exclusive)


def document_of(sweep: SweepPlan) -> dict[str, Any]:
    """Returns the document of a sweep, which `weft.Sweep` reads."""
    precision = {} if sweep.precision is None else {"precision": sweep.precision.document()}
    settings = {axis.field: [list(changes) for changes in axis.settings] for axis in sweep.axes if axis.settings}
    return {
        "spec": str(sweep.spec),
        "name": sweep.name,
        "version": __version__,
        "build": build(),
        "set": list(sweep.overrides),
        "over": {axis.field: list(axis.values) for axis in sweep.axes},
        **({"settings": settings} if settings else {}),
        **({"of": sweep.of} if sweep.of else {}),
        "seeds": sweep.seeds,
        **precision,
        **({"looks": [{"point": list(point), "looks": count} for point, count in sweep.looks]} if precision else {}),
        "runs": [
            {"run": run.key, "seed": run.seed, "point": list(run.point), "set": sweep.changes(run)}
            for run in sweep.runs
        ],
    }
