"""The trials of a tuning: the values that Optuna proposes next, and a journal of the results.

The journal, `trials.log`, has Optuna's format, which Optuna's other programs can read. A trial is
one line, written when the trial has ended. A proposal depends only on the trials of earlier
batches, and the sampler's random numbers only on the number of the trial. So a tuning that was
stopped at any time, or that has any number of workers, has the same trials.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from weft.errors import OutputError
from weft.search.space import Parameter, combinations, positions, untried

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from optuna import Study
    from optuna.trial import FrozenTrial


JOURNAL = "trials.log"
Direction = Literal["minimize", "maximize"]
NAME = "weft"
"""Name of the study in the journal."""


@dataclass(frozen=True)
class Trial:
    """One combination of values, and its result."""

    number: int
    values: Mapping[str, Any]
    """Values by field."""
    objective: float | None
    """The mean over the seeds; None if the trial failed."""
    by_seed: tuple[float, ...]
    reason: str
    """Reason of a failure."""


class Trials:
    """The trials of one tuning that have ended."""

    def __init__(self, folder: Path, parameters: Sequence[Parameter], direction: Direction) -> None:
        """Opens the journal in a folder that no other process uses."""
        self._parameters = parameters
        self._direction = direction
        self._study = open_study(folder / JOURNAL, direction)
        self.ended = [_read(trial) for trial in self._study.get_trials(deepcopy=False)]

    def propose(self, first: int, count: int) -> list[dict[str, Any]]:
        """Proposes the values of the trials from `first` on; all earlier trials have ended.

        No combination of values is proposed twice. If all have been tried, there are fewer than `count` proposals.
        """
        import optuna

        study = optuna.create_study(direction=self._direction)
        study.add_trials(self._study.get_trials(deepcopy=False)[:first])
        space = {parameter.field: parameter.distribution for parameter in self._parameters}
        is_finite = combinations(self._parameters) is not None
        tried = {positions(self._parameters, trial.values) for trial in self.ended[:first]} if is_finite else set()
        proposed = []
        for number in range(first, first + count):
            study.sampler = optuna.samplers.TPESampler(seed=number)
            asked = study.ask(space).params
            values = {parameter.field: parameter.rounded(asked[parameter.field]) for parameter in self._parameters}
            if is_finite:
                point = untried(self._parameters, values, tried)
                if point is None:
                    break
                # Optuna's own values stay as they are, to the last digit.
                if point != positions(self._parameters, values):
                    values = {
                        parameter.field: parameter.at(index)
                        for parameter, index in zip(self._parameters, point, strict=True)
                    }
                tried.add(point)
            proposed.append(values)
        return proposed

    def append(self, trial: Trial) -> None:
        """Records a trial, which must be the next one.

        Raises:
            OutputError: The journal cannot be written.
        """
        from optuna.trial import TrialState, create_trial

        if trial.number != len(self.ended):
            raise ValueError(f"trial {trial.number} is not the next")
        by_seed = {"by_seed": list(trial.by_seed), "reason": trial.reason}
        self._study.add_trial(
            create_trial(
                state=TrialState.FAIL if trial.objective is None else TrialState.COMPLETE,
                value=trial.objective,
                params=dict(trial.values),
                distributions={parameter.field: parameter.distribution for parameter in self._parameters},
                user_attrs=by_seed,
            )
        )
        self.ended.append(trial)


def has_trials(folder: Path) -> bool:
    """Returns whether a journal with a trial exists."""
    return (folder / JOURNAL).exists() and bool(open_study(folder / JOURNAL, "minimize").get_trials(deepcopy=False))


def _read(trial: FrozenTrial) -> Trial:
    by_seed = tuple(trial.user_attrs["by_seed"])
    return Trial(trial.number, trial.params, trial.value, by_seed, trial.user_attrs["reason"])


def open_study(file: Path, direction: Direction) -> Study:
    """Opens the journal of a tuning, or creates it."""
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    # Leftovers of a killed process: its lock, and half a line.
    for left in file.parent.glob(f"{file.name}.*"):
        left.unlink()
    _cut_half_a_line(file)
    try:
        storage = JournalStorage(JournalFileBackend(str(file)))
        if storage.get_all_studies():
            return optuna.load_study(storage=storage, study_name=NAME)
        return optuna.create_study(storage=storage, study_name=NAME, direction=direction)
    except (ValueError, KeyError, AssertionError) as error:
        raise OutputError(f"{file}: not a journal of Optuna: {error}; use a new folder") from None


def _cut_half_a_line(file: Path) -> None:
    with suppress(FileNotFoundError), file.open("r+b") as journal:
        text = journal.read()
        if not text.endswith(b"\n"):
            journal.truncate(text.rfind(b"\n") + 1)
