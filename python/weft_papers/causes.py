"""Repeats the runs that prove causes: `python -m weft_papers.causes [PAPER[/FIGURE]...]`, or `make causes`.

A cause of kind "not stated" or "differs" names a run in which its claim holds. Here the figure's own code makes that
run with the changed settings, and the figure's own function judges it. A claim that does not hold there has another
cause, or an open one.
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from weft import api
from weft.errors import UsageError
from weft.exit_codes import describe
from weft.sweeps.cases import Case, run_cases
from weft_papers.figure import EQUATIONS, Claim, Figure, Scale
from weft_papers.paper import find_figures
from weft_papers.statement import Differs, NotStated, Run, statements

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from weft.spec import Experiment

HEADS = ("cause", "figure", "claim", "run", "value", "verdict", "seconds")


@dataclass(frozen=True)
class Proof:
    """A claim that fails, and the run that its cause names."""

    figure: str
    claim: str
    kind: str
    """The kind of the cause."""
    run: Run

    @property
    def judged(self) -> str:
        """Returns the sentence of the claim that the run judges."""
        return self.run.claim or self.claim


@dataclass(frozen=True)
class Outcome:
    """A repeated run, as a claim has it."""

    proof: Proof
    value: str
    """The measured value, or the error of the run in one line."""
    holds: bool
    seconds: float
    """Wall-clock seconds of the run; 0 if it was that of the claim before."""

    @property
    def cells(self) -> tuple[str, ...]:
        """Returns the cells of the table's row."""
        proof = self.proof
        verdict = "holds" if self.holds else "DOES NOT HOLD"
        return (proof.kind, proof.figure, proof.claim, str(proof.run), self.value, verdict, f"{self.seconds:.0f}")


def proofs(figures: Iterable[Figure]) -> list[Proof]:
    """Returns the runs that the causes of these figures' claims name, those of one run next to each other."""
    found = [
        Proof(figure.name, claim, statement.cause.kind, statement.cause.run)
        for figure in figures
        for claim, statement in statements(figure.name).items()
        if isinstance(statement.cause, NotStated | Differs) and statement.cause.run is not None
    ]
    first: dict[object, int] = {}
    return sorted(found, key=lambda proof: first.setdefault(_key(proof), len(first)))


def repeat(found: Sequence[Proof]) -> Iterator[Outcome]:
    """Repeats each run once, and judges its claims."""
    before, claims, error = None, {}, ""
    for proof in found:
        begun, again = time.monotonic(), _key(proof) == before
        if not again:
            try:
                claims, error = {claim.claim: claim for claim in claims_of(proof)}, ""
            except KeyboardInterrupt:
                raise
            except BaseException as raised:  # noqa: BLE001 - a panic is not an Exception, and the other runs continue
                claims, error = {}, describe(raised)[0]
        before = _key(proof)
        claim = claims.get(proof.judged)
        value = error or (claim.measured if claim else "the run has no such claim")
        yield Outcome(
            proof, value, claim is not None and claim.holds is True, 0.0 if again else time.monotonic() - begun
        )


def claims_of(proof: Proof) -> list[Claim]:
    """Returns the claims of a figure's own function on the run."""
    run = proof.run
    (figure,) = find_figures(run.figure or proof.figure)
    module = figure.module()
    with constants(figure, run.constants):
        if figure.level == EQUATIONS:
            return module.claims(module.rows())
        cases = [
            Case(case.labels, changed(case.experiment, run.set), case.seed)
            for case in module.cases(Scale(seeds=run.seeds, quick=run.quick))
            if all(case.labels[label] in values for label, values in run.only.items())
        ]
        return module.claims(run_cases(cases, module.measure))


def changed(experiment: Experiment, fields: Mapping[str, Any]) -> Experiment:
    """Returns the experiment with other values of these fields.

    A field below `controller` or `transports.NAME` is changed if the experiment has it, one below `transports.*` in
    all transports.
    """
    from weft import Experiment

    overrides = [f"{path}={_text(value)}" for field, value in fields.items() for path in _paths(field, experiment)]
    if not overrides:
        return experiment
    return Experiment.model_validate(json.loads(api.check_experiment(experiment, overrides, force=False).spec()))


@contextmanager
def constants(figure: Figure, values: Mapping[str, Any]) -> Iterator[None]:
    """Gives constants of a figure's module other values, or those of modules that it uses of its paper.

    All modules of the paper that have the same constant have the other value. `NAME.key` is an entry of a dictionary
    or a field of a dataclass.

    Raises:
        UsageError: No module has a constant of that name.
    """
    module, package = figure.module(), f"weft_papers.{figure.paper.replace('-', '_')}."
    replaced: list[tuple[Any, str, Any]] = []
    try:
        for path, value in values.items():
            name, _, key = path.partition(".")
            of_paper = [other for called, other in sys.modules.items() if called.startswith(package)]
            holder = next((other for other in (module, *of_paper) if name in vars(other)), None)
            if holder is None:
                raise UsageError(f"constant {name!r}: not in the modules of {figure.name}")
            old = vars(holder)[name]
            new = _with(old, key, value)
            for other in of_paper:
                if vars(other).get(name) is old:
                    replaced.append((other, name, old))
                    setattr(other, name, new)
        yield
    finally:
        for other, name, old in reversed(replaced):
            setattr(other, name, old)


def table(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """The lines of the table in Markdown."""
    yield _row(HEADS)
    yield f"|{'---|' * len(HEADS)}"
    yield from (_row(outcome.cells) for outcome in outcomes)


def main(names: Sequence[str]) -> int:
    """Repeats the runs of these figures or papers, by default of all, and returns 1 if a claim does not hold."""
    import weft_papers

    figures = [figure for name in names for figure in find_figures(name)] or weft_papers.FIGURES
    outcomes = []
    for outcome in repeat(proofs(figures)):
        outcomes.append(outcome)
        lines = list(table(outcomes))
        sys.stdout.write("\n".join(lines if len(outcomes) == 1 else lines[-1:]) + "\n")
        sys.stdout.flush()
    hold = sum(outcome.holds for outcome in outcomes)
    sys.stdout.write(
        f"{hold} of {len(outcomes)} claims hold in the run that their cause names, "
        f"{sum(outcome.seconds for outcome in outcomes) / 60:.1f} minutes\n"
    )
    return int(hold < len(outcomes))


def _key(proof: Proof) -> object:
    """Returns a value that is equal for runs that are the same."""
    run = replace(proof.run, figure=proof.run.figure or proof.figure, claim="")
    return json.dumps([run.figure, run.seeds, run.quick, run.set, run.constants, run.only], sort_keys=True)


def _paths(field: str, experiment: Experiment) -> list[str]:
    """Returns the paths of a field in an experiment, one per transport that it is about."""
    first, *rest = field.split(".")
    if first == "controller" and experiment.controller is None:
        return []
    if first != "transports":
        return [field]
    return [".".join((first, name, *rest[1:])) for name in experiment.transports if rest[0] in ("*", name)]


def _text(value: object) -> str:
    """Returns a value as an override has it."""
    return value if isinstance(value, str) else json.dumps(value)


def _with(old: Any, key: str, value: Any) -> Any:  # noqa: ANN401 - a constant may be of any type
    """Returns the constant with another value, or with another value of a key or field."""
    if not key:
        return tuple(value) if isinstance(old, tuple) else value
    if is_dataclass(old) and not isinstance(old, type):
        return replace(old, **{key: _with(getattr(old, key), "", value)})
    return {**old, key: _with(old[key], "", value)}


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(' '.join(cell.split()).replace('|', '/') for cell in cells)} |"


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except UsageError as error:
        sys.exit(str(error))
