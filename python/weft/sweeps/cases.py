"""Many runs of different experiments, each measured and dropped as soon as it ends: the figures of papers.

The runs are executed by the processes of `weft.sweep`. `weft.sweep` suits runs that differ in fields of one experiment.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft import api
from weft.congestion_control import is_own, own_algorithms
from weft.errors import ResultWarning, RunError, UsageError
from weft.exit_codes import error_of
from weft.sweeps.executor import Executor
from weft.sweeps.plan import Planned
from weft.sweeps.runner import make_runner
from weft.sweeps.store import results_of

if TYPE_CHECKING:
    import polars as pl

    from weft.spec import Experiment
    from weft.sweeps.worker import Failure


@dataclass(frozen=True)
class Case:
    """An experiment with a seed and its labels."""

    labels: Mapping[str, str | int | float]
    """Values that distinguish this run; they become columns of the table, next to `seed`."""
    experiment: Experiment
    seed: int


def run_cases(
    cases: Sequence[Case],
    measure: Callable[[api.Result], pl.DataFrame],
    *,
    workers: int | None = None,
    on_progress: Callable[[float], None] | None = None,
) -> pl.DataFrame:
    """Runs all cases and stacks the rows that are measured of each.

    Args:
        cases: The runs, at least one. Rows are in this order, not in that of the runs' ends.
        measure: Returns the rows to keep of a finished run.
        workers: Number of concurrent runs, by default the number of cores. Runs at an exclusive level have the
            machine to themselves.
        on_progress: Called with the part of the sweep that is done, 0 to 1.

    Raises:
        KeyboardInterrupt: Ctrl-C; running experiments are stopped first.
        RunError: There are no cases.
        UsageError: Labels cannot be columns together, a measured column has a label's name, or `workers` is below 1.
        WeftError: The first error that a run raised.

    Warns:
        ResultWarning: The results of a run need care; the line begins with the labels and the seed of its case.
    """
    if not cases:
        raise RunError("run_cases: no cases; pass at least one")
    if workers is not None and not (isinstance(workers, int) and workers >= 1):
        raise UsageError(f"run_cases: workers is {workers!r}; allowed: at least 1, or None")
    _check_cases(cases)
    import polars as pl

    labels = _labels(cases)
    planned, of_key = _planned(cases)
    rows: dict[int, pl.DataFrame] = {}
    given: dict[int, list[str]] = {}
    done = 0

    with tempfile.TemporaryDirectory(prefix="weft-cases-") as name:
        folder = Path(name)

        def on_done(run: Planned, failure: Failure | None) -> None:
            nonlocal done
            if failure is not None:
                raise error_of(failure.line, failure.code)
            results = results_of(folder, run.key)
            for index in of_key[run.key]:
                result = api.Result.read(results)
                given[index] = result.manifest["warnings"]
                rows[index] = _row(measure(result), labels, index, cases[index].seed)
            # A run is dropped as soon as it is measured.
            shutil.rmtree(results, ignore_errors=True)
            done += len(of_key[run.key])
            if on_progress is not None:
                on_progress(done / len(cases))

        # Runs in real time need a quiet machine: they run one after the other, after all others.
        exclusive = {level["name"] for level in api.registry()["levels"] if level["exclusive"]}
        own = own_algorithms(
            case.experiment.transports[name].cc for case in cases for name in case.experiment.transports
        )
        parts: tuple[list[Planned], list[Planned]] = ([], [])
        for run in planned:
            parts[cases[of_key[run.key][0]].experiment.level in exclusive].append(run)
        for chosen, width in zip(parts, (workers, 1), strict=True):
            if not chosen:
                continue
            executor = Executor(workers=width)
            with make_runner(folder, executor, most=len(chosen), force=False, own=own) as runner:
                runner.run_all(chosen, on_done)
    for index, case in enumerate(cases):
        words = ", ".join(f"{label} = {value}" for label, value in {**case.labels, "seed": case.seed}.items())
        for line in given[index]:
            warnings.warn(f"{words}: {line}", ResultWarning, stacklevel=2)
    return pl.concat([rows[index] for index in range(len(cases))])


def _planned(cases: Sequence[Case]) -> tuple[list[Planned], dict[str, list[int]]]:
    """Returns the runs of cases, and by key of a run the indices of the cases that it is."""
    planned: dict[str, Planned] = {}
    of_key: dict[str, list[int]] = {}
    checked: dict[int, dict[str, Any]] = {}
    for index, case in enumerate(cases):
        if id(case.experiment) not in checked:
            resolved = api.check_experiment(case.experiment, [], force=False)
            checked[id(case.experiment)] = json.loads(resolved.spec())
            checked[id(case.experiment)].pop("sweep", None)
        spec = json.dumps(checked[id(case.experiment)] | {"seed": int(case.seed)}, sort_keys=True)
        # Two classes may have one name, so that equal specs are one run only if all are of one experiment.
        own = sorted(str(id(transport.cc)) for transport in case.experiment.transports.values() if is_own(transport.cc))
        key = hashlib.sha256("\n".join([spec, *own]).encode()).hexdigest()[:32]
        planned.setdefault(key, Planned((), int(case.seed), spec, key))
        of_key.setdefault(key, []).append(index)
    return list(planned.values()), of_key


def _row(measured: object, labels: Mapping[str, pl.Series], index: int, seed: int) -> pl.DataFrame:
    """Returns what was measured of a run, with its labels and seed as first columns.

    Raises:
        UsageError: It is not a frame, or a column has the name of a label.
    """
    import polars as pl

    if not isinstance(measured, pl.DataFrame):
        kind = type(measured).__name__
        raise UsageError(f"run_cases: measure returned a value of type {kind}; allowed: a Polars DataFrame")
    for name in (*labels, "seed"):
        if name in measured.columns:
            raise UsageError(f"run_cases: measured column {name!r}: also the name of a label; rename it")
    before = [pl.lit(column[index], column.dtype).alias(name) for name, column in labels.items()]
    return measured.select(*before, pl.lit(int(seed), pl.Int64).alias("seed"), pl.all())


def _check_cases(cases: Sequence[Case]) -> None:
    """Checks what a type checker would check, and that no case is given twice.

    Raises:
        UsageError: A case is wrong.
    """
    from weft.spec import Experiment

    before: dict[tuple[object, ...], list[Case]] = {}
    for n, case in enumerate(cases):
        where = f"run_cases: case {n}"
        if not isinstance(case, Case):
            raise UsageError(f"{where}: of type {type(case).__name__}; allowed: a Case")
        if not isinstance(case.labels, Mapping):
            raise UsageError(f"{where}: labels of type {type(case.labels).__name__}; allowed: a dictionary")
        if not isinstance(case.experiment, Experiment):
            kind = type(case.experiment).__name__
            raise UsageError(f"{where}: experiment of type {kind}; allowed: an Experiment, which weft.load returns")
        if not isinstance(case.seed, Integral) or isinstance(case.seed, bool):
            raise UsageError(f"{where}: seed {case.seed!r}; allowed: a whole number")
        equal = before.setdefault((case.seed, *sorted(map(repr, case.labels.items()))), [])
        if any(other.experiment == case.experiment for other in equal):
            raise UsageError(f"{where}: given twice; remove one of the two")
        equal.append(case)


def _labels(cases: Sequence[Case]) -> dict[str, pl.Series]:
    """Returns the column of each label, with one type for all cases."""
    import polars as pl

    from weft.model import python_numbers

    names = list(cases[0].labels)
    other = next((list(case.labels) for case in cases if set(case.labels) != set(names)), None)
    if other is not None:
        raise UsageError(f"run_cases: labels {names} and {other}; use one set of labels in all cases")
    if "seed" in names:
        raise UsageError("run_cases: label 'seed': also the name of a column; rename it")
    found = {}
    for name in names:
        values = python_numbers([case.labels[name] for case in cases])
        try:
            found[name] = pl.Series(
                name, values, pl.Float64 if any(isinstance(value, float) for value in values) else None
            )
        except (TypeError, OverflowError) as error:
            reason = str(error).splitlines()[0]
            raise UsageError(
                f"run_cases: label {name!r}: {reason}; allowed: text in all cases, or numbers in all cases"
            ) from None
    return found
