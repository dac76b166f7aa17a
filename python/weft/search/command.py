"""The work of `weft tune`.

It proposes trials, runs them, and checks the best one with seeds that did not select it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from weft.errors import OutputError, RunError, SpecError, StoppedError
from weft.search.space import Parameter, combinations
from weft.search.study import JOURNAL, Trial, Trials, has_trials
from weft.sweeps import store
from weft.sweeps.axes import Axis, label_names
from weft.sweeps.command import check_exclusive
from weft.sweeps.plan import Planned, SweepPlan, build, plan_points
from weft.sweeps.runner import Runner, make_runner
from weft.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from weft.search.objective import Objective
    from weft.sweeps.executor import Executor
    from weft.sweeps.worker import Failure

DOCUMENT = "tune.json"
TABLE = "trials.parquet"
BEST = "best.json"


@dataclass(frozen=True)
class Tuning:
    """The settings of a tuning."""

    spec: Path
    overrides: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    objective: Objective
    seeds: int
    """Number of runs per trial, with consecutive seeds from the spec's.

    As many other seeds check the best trial.
    """
    batch_size: int
    """Number of trials that are proposed before any of them has ended."""
    force: bool

    def plan(self, values: Mapping[str, Any], *, first: int = 0) -> SweepPlan:
        """Plans the runs of a trial or, without values, of the unchanged spec.

        `first` is added to their seeds.

        Raises:
            SpecError: A value is wrong.
        """
        axes = [
            Axis(parameter.field, (parameter.text(values[parameter.field]),)) for parameter in self.parameters if values
        ]
        point = (0,) * len(axes)
        return plan_points(self.spec, self.overrides, axes, [point], self.seeds, first=first, force=self.force)

    def document(self) -> dict[str, Any]:
        """Returns the settings on which the results depend."""
        return {
            "spec": str(self.spec),
            "version": __version__,
            "build": build(),
            "set": list(self.overrides),
            "experiment": self.plan({}).runs[0].key,
            "over": {parameter.field: parameter.document() for parameter in self.parameters},
            "objective": {self.objective.direction: self.objective.sql},
            "seeds": self.seeds,
            "batch_size": self.batch_size,
        }


@dataclass(frozen=True)
class Checked:
    """The objective at seeds that selected nothing: its median and the 95 % confidence interval of the median."""

    by_seed: tuple[float | None, ...]
    median: float | None
    low: float | None
    """Lower end of the interval; like `high`, None for fewer than five seeds."""
    high: float | None

    def __str__(self) -> str:
        if self.median is None:
            return "no result at any seed"
        within = "" if self.low is None else f", 95% within {self.low:.4g} to {self.high:.4g}"
        return f"{self.median:.4g}{within} ({sum(value is not None for value in self.by_seed)} seeds)"

    @classmethod
    def of(cls, values: Sequence[float | None]) -> Checked:
        """Computes the median and interval of the values of all seeds; a value is None if there is none."""
        import polars as pl

        from weft.stats import median_ci

        row = median_ci(pl.DataFrame({"value": values}, schema={"value": pl.Float64}), "value").row(0, named=True)
        return cls(tuple(values), row["median"], row["low"], row["high"])


@dataclass(frozen=True)
class Outcome:
    """The outcome of a tuning."""

    tuning: Tuning
    folder: Path
    trials: tuple[Trial, ...]
    best: Trial
    own_values: Mapping[str, Any]
    """The values of the unchanged spec by field."""
    own_objective: float | None
    """The objective of the unchanged spec at the seeds of the trials; None if it has no result."""
    command: str
    """The command that runs the best trial."""
    first_checked: int
    """The first seed of the check."""
    checked: Checked
    """The objective of the best trial."""
    given: Checked
    """The objective of the unchanged spec."""
    difference: Checked
    """The best trial minus the unchanged spec, seed by seed."""
    warnings: tuple[str, ...] = ()
    """The warnings of the runs of the best trial and of the unchanged spec, each with the number of runs."""

    def failed(self) -> list[Trial]:
        """Returns the trials without a result."""
        return [trial for trial in self.trials if trial.objective is None]

    def finding(self) -> str | None:
        """Returns a sentence if the check does not show that the best trial is better; else None."""
        difference = self.difference
        if difference.median is None:
            return "No improvement found: the best trial or the spec as given has no result at the unused seeds."
        if difference.low is None or difference.high is None:
            return "Fewer than five seeds give no interval; use --seeds 5 or more to tell improvement from chance."
        if difference.low <= 0 <= difference.high:
            return "No improvement found: the interval of the difference includes 0."
        if (difference.median > 0) == (self.tuning.objective.direction == "minimize"):
            return "No improvement found: at the unused seeds the best trial is worse than the spec as given."
        return None

    def ranked(self) -> list[Trial]:
        """Returns the trials with a result, the best first."""
        return _ranked(self.trials, self.tuning.objective)

    def document(self) -> dict[str, Any]:
        """Returns the outcome as a document for JSON."""
        return {
            "out": str(self.folder),
            "trials": len(self.trials),
            "failed": [
                {"trial": trial.number, "values": dict(trial.values), "reason": trial.reason} for trial in self.failed()
            ],
            "best": {
                "trial": self.best.number,
                "values": dict(self.best.values),
                "objective": self.best.objective,
                "by_seed": list(self.best.by_seed),
                "spec": str(self.folder / BEST),
                "command": self.command,
            },
            "given": {"values": dict(self.own_values), "objective": self.own_objective},
            "check": {
                "first_seed": self.first_checked,
                "best": vars(self.checked),
                "given": vars(self.given),
                "difference": vars(self.difference),
            },
            "table": str(self.folder / TABLE),
        }


def run_tuning(
    tuning: Tuning, folder: Path, trials: int, *, executor: Executor, show: Callable[[float, str], None]
) -> Outcome:
    """Runs all trials that have not ended yet, then the checks.

    Args:
        tuning: The settings.
        folder: A new folder, or that of an earlier tuning with equal settings.
        trials: Total number of trials; there are at most as many as combinations of values.
        executor: The machines.
        show: Called with the part of the work that is done, 0 to 1, and with the number of trials in words.

    Raises:
        StoppedError: Ctrl-C.
        RunError: No trial has a result.
        WeftError: The tuning cannot continue.
    """
    trials = min(trials, combinations(tuning.parameters) or trials)
    given = tuning.plan({}, first=tuning.seeds)
    if check_exclusive(given, executor):
        executor = replace(executor, workers=1)
    _check_ends(tuning)
    with store.opened(folder, "tune"):
        _check_config(folder, tuning)
        journal = Trials(folder, tuning.parameters, tuning.objective.direction)
        with make_runner(folder, executor, most=max(tuning.batch_size, 3) * tuning.seeds, force=tuning.force) as runner:
            measure = _Measure(tuning, folder, runner, trials, show)
            try:
                while len(journal.ended) < trials:
                    _run_batch(tuning, journal, trials, measure)
                    measure.ended(journal.ended)
                return _conclude(tuning, folder, journal.ended[:trials], given, measure)
            except KeyboardInterrupt:
                ended = f"{len(journal.ended)} of {trials} trials have ended in {folder}"
                raise StoppedError(f"stopped; {ended}; the same command continues") from None


class _Measure:
    """A runner that executes missing runs, and computes the objective of each run as soon as it ends."""

    def __init__(
        self, tuning: Tuning, folder: Path, runner: Runner, trials: int, show: Callable[[float, str], None]
    ) -> None:
        self._tuning = tuning
        self._folder = folder
        self._runner = runner
        self._trials = trials
        self._show = show
        self._ended: Sequence[Trial] = ()
        self.values: dict[str, float | None] = {}
        """Objective by key of a run; None if it is NULL."""
        self.failures: dict[str, Failure] = {}
        """Failure by key of a run that failed."""

    def ended(self, trials: Sequence[Trial]) -> None:
        """Shows the number of trials that have ended."""
        self._ended = trials
        self.run([])

    def run(self, runs: Iterable[Planned]) -> None:
        """Executes runs. Afterwards each run has a value or is a failure."""
        missing: dict[str, Planned] = {}
        for run in runs:
            if run.key in self.values or run.key in self.failures:
                continue
            if store.is_complete(store.results_of(self._folder, run.key)):
                self._evaluate(run)
            else:
                missing[run.key] = run
        done = 0

        def on_done(run: Planned, failure: Failure | None) -> None:
            nonlocal done
            done += 1
            if failure is None:
                self._evaluate(run)
            else:
                self.failures[run.key] = failure
            self._tell(done)

        self._tell(done)
        if missing:
            self._runner.run_all(list(missing.values()), on_done)

    def _evaluate(self, run: Planned) -> None:
        self.values[run.key] = self._tuning.objective.of(store.results_of(self._folder, run.key))

    def _tell(self, more: int) -> None:
        seeds, ended = self._tuning.seeds, len(self._ended)
        note = f"{min(ended, self._trials)} of {self._trials} trials"
        if ranked := _ranked(self._ended, self._tuning.objective):
            note += f", best {ranked[0].objective:.4g}"
        self._show(min((ended * seeds + more) / ((self._trials + 3) * seeds), 1.0), note)


def _run_batch(tuning: Tuning, journal: Trials, trials: int, measure: _Measure) -> None:
    """Runs the trials of a batch that have not ended, and records them in order."""
    ended = len(journal.ended)
    first = ended - ended % tuning.batch_size
    proposed = journal.propose(first, min(tuning.batch_size, trials - first))
    plans: dict[int, SweepPlan] = {}
    refused: dict[int, str] = {}
    for number, values in enumerate(proposed, start=first):
        if number >= ended:
            try:
                plans[number] = tuning.plan(values)
            except SpecError as error:
                refused[number] = str(error)
    measure.run([run for sweep in plans.values() for run in sweep.runs])
    for number, values in enumerate(proposed, start=first):
        if number in refused:
            journal.append(Trial(number, values, None, (), refused[number]))
        elif number in plans:
            journal.append(_trial(number, values, plans[number], measure))


def _trial(number: int, values: Mapping[str, Any], sweep: SweepPlan, measure: _Measure) -> Trial:
    failures = [measure.failures[run.key] for run in sweep.runs if run.key in measure.failures]
    if failures:
        command = sweep.command(failures[0].run, force=False)
        return Trial(number, values, None, (), f"{failures[0].line}: {command}")
    measured = [measure.values[run.key] for run in sweep.runs]
    found = tuple(value for value in measured if value is not None)
    if len(found) < len(measured):
        seed = sweep.runs[measured.index(None)].seed
        return Trial(number, values, None, found, f"the objective is NULL or not finite at seed {seed}")
    return Trial(number, values, sum(found) / len(found), found, "")


def _warnings(folder: Path, runs: Sequence[Planned]) -> tuple[str, ...]:
    distinct = {run.key: run for run in runs}
    complete = [run for key, run in distinct.items() if store.is_complete(store.results_of(folder, key))]
    return tuple(
        f"{warning.line} ({len(warning.runs):,} of {len(distinct):,} runs of the best trial and of the spec as given)"
        for warning in store.collect_warnings(store.read_manifests(folder, complete))
    )


def _conclude(tuning: Tuning, folder: Path, ended: Sequence[Trial], given: SweepPlan, measure: _Measure) -> Outcome:
    """Checks the best trial, and writes the table and the documents."""
    ranked = _ranked(ended, tuning.objective)
    if not ranked:
        raise RunError(f"{folder}: none of {len(ended)} trials has a result; the first: {ended[0].reason}")
    best = ranked[0]
    again = tuning.plan(best.values, first=tuning.seeds)
    as_given = tuning.plan({})
    measure.run([*again.runs, *given.runs, *as_given.runs])
    by_seed = [measure.values.get(run.key) for run in as_given.runs]
    found = [value for value in by_seed if value is not None]
    of_best = [measure.values.get(run.key) for run in again.runs]
    of_given = [measure.values.get(run.key) for run in given.runs]
    pairs = zip(of_best, of_given, strict=True)
    difference = [None if one is None or other is None else one - other for one, other in pairs]
    first = tuning.plan(best.values)
    outcome = Outcome(
        tuning,
        folder,
        tuple(ended),
        best,
        {p.field: p.of_spec(json.loads(as_given.runs[0].spec)) for p in tuning.parameters},
        sum(found) / len(found) if len(found) == len(by_seed) else None,
        first.command(first.runs[0], force=tuning.force),
        given.runs[0].seed,
        Checked.of(of_best),
        Checked.of(of_given),
        Checked.of(difference),
        _warnings(folder, [*first.runs, *again.runs, *as_given.runs, *given.runs]),
    )
    _table(tuning, ended).write_parquet(folder / TABLE)
    store.write_document(folder, json.loads(first.runs[0].spec), BEST)
    config = json.loads((folder / DOCUMENT).read_text(encoding="utf-8"))["config"]
    store.write_document(folder, {"config": config, "outcome": outcome.document()}, DOCUMENT)
    return outcome


def _table(tuning: Tuning, trials: Sequence[Trial]) -> pl.DataFrame:
    """Returns one row per trial.

    It has its number, the varied fields, the mean of the objective and its value at each seed.
    """
    import polars as pl

    fields = [parameter.field for parameter in tuning.parameters]
    names = label_names([Axis(field, ()) for field in fields], {"trial", "objective", "by_seed", "reason"})
    return pl.DataFrame(
        [
            pl.Series("trial", [trial.number for trial in trials], pl.Int64),
            *(
                pl.Series(name, [trial.values[field] for trial in trials])
                for name, field in zip(names, fields, strict=True)
            ),
            pl.Series("objective", [trial.objective for trial in trials], pl.Float64),
            pl.Series("by_seed", [list(trial.by_seed) for trial in trials], pl.List(pl.Float64)),
            pl.Series("reason", [trial.reason or None for trial in trials], pl.String),
        ]
    )


def _ranked(trials: Iterable[Trial], objective: Objective) -> list[Trial]:
    sign = 1 if objective.direction == "minimize" else -1
    found = [(sign * trial.objective, trial.number, trial) for trial in trials if trial.objective is not None]
    return [trial for _, _, trial in sorted(found, key=lambda entry: entry[:2])]


def _check_ends(tuning: Tuning) -> None:
    """Checks the ends of each range, with the other fields as given.

    Both ends of an algorithm's parameter must be allowed, because its range does not depend on
    other fields. Elsewhere one allowed end suffices, and trials with values that are not allowed
    fail: a marking threshold may exceed one limit and not another.
    """
    for parameter in tuning.parameters:
        refused = []
        for end in parameter.ends():
            axis = Axis(parameter.field, (end,))
            try:
                plan_points(tuning.spec, tuning.overrides, [axis], [(0,)], 1, force=tuning.force)
            except SpecError as error:
                refused.append(error)
        if refused and (".cc." in parameter.field or len(refused) == len(parameter.ends())):
            raise refused[0]


def _check_config(folder: Path, tuning: Tuning) -> None:
    """Records the settings. If there are already trials, their settings must be equal."""
    asked = tuning.document()
    file = folder / DOCUMENT
    if file.exists() and has_trials(folder):
        advice = "rerun that command (only --trials may change) or use a new folder"
        try:
            before = json.loads(file.read_text(encoding="utf-8"))["config"]
            other = [name for name in asked if name != "spec" and asked[name] != before[name]]
        except (ValueError, KeyError, TypeError):
            raise OutputError(f"--out {folder}: not a valid {DOCUMENT}; {advice}") from None
        if other:
            raise OutputError(f"--out {folder}: holds a tuning with a different {other[0]}; {advice}")
    else:
        (folder / JOURNAL).unlink(missing_ok=True)  # it may be of the other direction
        store.write_document(folder, {"config": asked}, DOCUMENT)
