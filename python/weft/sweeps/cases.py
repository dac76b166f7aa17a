"""Many runs in parallel, each on one thread of a pool.

A run is measured and dropped from memory as soon as it ends.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING

from weft import api
from weft.errors import ResultWarning, RunError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl

    from weft._weft import Progress
    from weft.spec import Experiment


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
    stop = threading.Event()
    done = [0.0] * len(cases)
    given: list[list[str]] = [[] for _ in cases]

    def run(index: int) -> pl.DataFrame:
        case = cases[index]

        def watch(progress: Progress) -> bool:
            done[index] = progress.fraction
            return not stop.is_set()

        if stop.is_set():
            raise KeyboardInterrupt
        result = api.run_silently(case.experiment, seed=case.seed, threads=1, progress=watch)
        if result.partial:
            raise KeyboardInterrupt
        done[index] = 1.0
        given[index] = result.manifest["warnings"]
        measured = measure(result)
        if not isinstance(measured, pl.DataFrame):
            kind = type(measured).__name__
            raise UsageError(f"run_cases: measure returned a value of type {kind}; allowed: a Polars DataFrame")
        for name in (*labels, "seed"):
            if name in measured.columns:
                raise UsageError(f"run_cases: measured column {name!r}: also the name of a label; rename it")
        before = [pl.lit(column[index], column.dtype).alias(name) for name, column in labels.items()]
        return measured.select(*before, pl.lit(int(case.seed), pl.Int64).alias("seed"), pl.all())

    # Runs in real time need a quiet machine: they run one after the other, after all others.
    exclusive = {level["name"] for level in api.registry()["levels"] if level["exclusive"]}
    indices: tuple[list[int], list[int]] = ([], [])
    for index, case in enumerate(cases):
        indices[case.experiment.level in exclusive].append(index)
    rows: dict[int, pl.DataFrame] = {}
    for chosen, width in zip(indices, (workers or os.cpu_count(), 1), strict=True):
        with ThreadPoolExecutor(width) as pool:
            futures: dict[int, Future[pl.DataFrame]] = {}
            try:
                # Ctrl-C may come while threads start: runs that began before it must stop, too.
                for index in chosen:
                    futures[index] = pool.submit(run, index)
                pending = set(futures.values())
                while pending:
                    finished, pending = wait(pending, timeout=0.2, return_when=FIRST_COMPLETED)
                    if on_progress is not None:
                        on_progress(sum(done) / len(done))
                    for future in finished:
                        future.result()
            except BaseException:
                stop.set()
                pool.shutdown(cancel_futures=True)
                raise
        rows |= {index: future.result() for index, future in futures.items()}
    for case, lines in zip(cases, given, strict=True):
        name = ", ".join(f"{label} = {value}" for label, value in {**case.labels, "seed": case.seed}.items())
        for line in lines:
            warnings.warn(f"{name}: {line}", ResultWarning, stacklevel=2)
    return pl.concat([rows[index] for index in range(len(cases))])


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
