"""`weft.tune`: searches for values of fields that make an objective smallest or largest."""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft import api
from weft.errors import ResultWarning, UsageError
from weft.search.command import TABLE, Outcome, run_tuning
from weft.sweeps.store import SPEC, write_document

if TYPE_CHECKING:
    import optuna
    import polars as pl

    from weft.search.study import Direction, Trial
    from weft.spec import Experiment


class Study:
    """The result of `weft.tune`: its trials, the best one, and a check of it at seeds that did not select it."""

    def __init__(self, outcome: Outcome, temporary: tempfile.TemporaryDirectory[str] | None) -> None:
        """Creates the result of a tuning that has ended."""
        self.outcome = outcome
        self.folder: Path = outcome.folder
        """The folder of the tuning."""
        self._temporary = temporary

    def __repr__(self) -> str:
        values = ", ".join(f"{field} = {value}" for field, value in self.best.values.items())
        return f"<Study, {len(self.outcome.trials)} trials; best: {values}; objective {self.best.objective:.4g}>"

    @property
    def best(self) -> Trial:
        """The best trial: its `values` by field, its `objective`, and the objective `by_seed`."""
        return self.outcome.best

    @property
    def best_spec(self) -> Experiment:
        """The experiment of the best trial."""
        return api.load(self.folder / "best.json")

    @property
    def trials(self) -> pl.DataFrame:
        """One row per trial: its number, the values, the objective and its value at each seed."""
        import polars as pl

        return pl.read_parquet(self.folder / TABLE)

    @property
    def study(self) -> optuna.Study:
        """Optuna's study, for its own plots and importances."""
        from weft.search.study import JOURNAL, open_study

        return open_study(self.folder / JOURNAL, self.outcome.tuning.objective.direction)

    def finding(self) -> str | None:
        """Returns a sentence if unused seeds do not show an improvement; else None."""
        return self.outcome.finding()


def tune(
    experiment: Experiment | Mapping[str, Any] | str | PathLike[str],
    over: Mapping[str, Any],
    objective: str | Callable[[api.Result], float | None],
    *,
    direction: Direction = "minimize",
    trials: int = 50,
    seeds: int = 5,
    batch_size: int = 8,
    overrides: Iterable[str] = (),
    workers: int | None = None,
    cluster: str | None = None,
    out: str | PathLike[str] | None = None,
    force: bool = False,
    progress: Callable[[float, str], None] | None = None,
) -> Study:
    """Searches with Optuna for values of fields that minimise or maximise an objective.

    The best trial is compared with the unchanged experiment at as many seeds that did not select it.

    >>> spec = {"name": "incast", "duration": "5ms", "queues": {"limit": "100 packets", "mark": "10 packets"}}
    >>> spec["topology"] = {"kind": "many-to-one", "senders": 4, "rate": "10Gbps", "delay": "5us"}
    >>> spec["transports"] = {"t": {"cc": "dctcp"}}
    >>> spec["traffic"] = [{"kind": "incast", "transport": "t", "flows": 4, "size": "64KB"}]
    >>> study = weft.tune(spec, {"traffic[0].flows": [2, 4]}, "mean fct", trials=2, seeds=1, workers=1)
    >>> study.best.values
    {'traffic[0].flows': '2'}

    Args:
        experiment: An experiment, the path of a spec, or a spec as a dictionary.
        over: For each field what to try: a list of values, a range as text such as "1:16", "0.001:1:log" or
            "5 packets:60 packets", or None for the range of the registry.
        objective: A measure such as "p99 slowdown" (see `weft.measures.parse`). It may also be a function of a `Result`
            that returns a number or None, or SQL over a run's tables, as for the command.
        direction: Optuna's name of the direction.
        trials: Number of trials; there are at most as many as combinations of values.
        seeds: Number of runs per trial, and of the check.
        batch_size: Number of trials that are proposed at a time.
        overrides: Changes in all runs, such as `"traffic[0].size=256KB"`.
        workers: Number of concurrent runs, by default one per core.
        cluster: The address of a Dask scheduler, or "slurm" with options, as for `weft sweep --cluster`.
        out: A new folder, or that of an equal tuning, which continues. None: a temporary folder, which is removed with
            the returned object.
        force: Run experiments that need more memory than a machine has free.
        progress: Called with the part of the work that is done, 0 to 1, and the number of trials in words.

    Raises:
        SpecError: The experiment, or all values of a field, are wrong.
        UsageError: An argument is wrong.
        RunError: No trial has a result.
        RequirementError: Optuna is not installed.

    Warns:
        ResultWarning: The results of runs need care.
    """
    from weft.extras import require
    from weft.search.command import Tuning
    from weft.search.objective import Objective
    from weft.search.space import parse
    from weft.sweeps.executor import Executor

    require("weft.tune", "tune")
    for name, number in (("trials", trials), ("seeds", seeds), ("batch_size", batch_size)):
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            raise UsageError(f"{name}: {number!r}; allowed: a whole number of at least 1")
    if not isinstance(over, Mapping) or not over:
        raise UsageError(f"over: {over!r:.100}; allowed: a dictionary of fields and ranges")
    chosen = Objective.of_function(objective, direction)
    temporary = tempfile.TemporaryDirectory(prefix="weft-tune-") if out is None else None
    folder = Path(temporary.name if temporary is not None else out or "")
    changes = list(overrides)
    if isinstance(experiment, str | PathLike):
        spec = Path(experiment)
    else:
        document = json.loads(api.check_experiment(experiment, [], force=force).spec())
        folder.mkdir(parents=True, exist_ok=True)
        write_document(folder, document, SPEC)
        spec = folder / SPEC
    resolved = api.load(spec, changes, force=force).model_dump(by_alias=True)
    parameters = parse([_range(field, values) for field, values in over.items()], resolved)
    tuning = Tuning(spec, tuple(changes), tuple(parameters), chosen, seeds, batch_size, force)
    executor = Executor.parse(cluster, workers)
    outcome = run_tuning(tuning, folder, trials, executor=executor, show=progress or (lambda _done, _note: None))
    for line in outcome.warnings:
        warnings.warn(line, ResultWarning, stacklevel=2)
    return Study(outcome, temporary)


def _range(field: str, values: object) -> str:
    """Returns what to try of a field in the form of `--over`."""
    from weft.sweeps.axes import Axis

    if values is None:
        return field
    if isinstance(values, str):
        return f"{field}={values}"
    return f"{field}={','.join(Axis.of(field, values).values)}"
