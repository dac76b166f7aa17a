"""`weft.sweep`: runs an experiment for all combinations of values and seeds."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.errors import ResultWarning, RunError, UsageError
from weft.sweeps.results import Sweep

if TYPE_CHECKING:
    from os import PathLike

    from weft.spec import Experiment

MAX_SEEDS = 100_000
"""Maximum number of seeds per combination of values."""


def sweep(
    experiment: Experiment | Mapping[str, Any] | str | PathLike[str],
    over: Mapping[str, Any] | None = None,
    *,
    seeds: int | None = None,
    precision: float | None = None,
    of: str | None = None,
    max_seeds: int = 100,
    overrides: Iterable[str] = (),
    workers: int | None = None,
    cluster: str | None = None,
    out: str | PathLike[str] | None = None,
    force: bool = False,
    progress: Callable[[float, str], None] | None = None,
) -> Sweep:
    """Runs an experiment for all combinations of values and seeds, in processes of this machine or on a cluster.

    Fields that `over` lacks are those of the experiment. Runs with one seed have the same random traffic, so that
    `Sweep.compare` can pair them. Subclasses of `weft.CongestionControl` may be values. Such a sweep runs in this
    process, one run after the other, so that classes of a notebook work and can keep values. With `workers` it runs in
    as many processes if these can import the classes from a module.

    >>> spec = {"name": "incast", "duration": "5ms", "queues": {"limit": "100 packets", "mark": "10 packets"}}
    >>> spec["topology"] = {"kind": "many-to-one", "senders": 4, "rate": "10Gbps", "delay": "5us"}
    >>> spec["transports"] = {"t": {"cc": "dctcp"}}
    >>> spec["traffic"] = [{"kind": "incast", "transport": "t", "flows": 4, "size": "64KB"}]
    >>> sweep = weft.sweep(spec, over={"traffic[0].flows": [2, 4]}, seeds=2, workers=1)
    >>> sweep
    <Sweep 'incast', 4 runs; values of flows: 2; 2 seeds>
    >>> sweep.summary("mean fct").select("flows", "n").rows()
    [(2, 2), (4, 2)]

    Args:
        experiment: An experiment, the path of a spec, or a spec as a dictionary.
        over: For each field the values to try, as a spec has them: `{"transports.t.cc": ["amp", "xmp"], "queues.mark":
            ["10 packets", "20 packets"]}`. A dictionary instead of a list names settings of several fields: `{"scheme":
            {"ndp": {"queues.kind": "trimming", ...}, "dctcp": {...}}}`. None: the table `[sweep]` of the spec.
        seeds: Number of consecutive seeds per combination of values, from the experiment's on. None: that of `[sweep]`,
            or 1.
        precision: Adds seeds to each combination of values until the interval of `of` is narrow: half of it is at most
            this share of the median, such as 0.05 for 5 %. The intervals are corrected for the repeated looks.
        of: The measure of `precision`, by default "p99 slowdown" (see `weft.measures.parse`). The page of `report`
            opens with it.
        max_seeds: Number of seeds at which `precision` gives up, at least 6.
        overrides: Changes in all runs, such as `"traffic[0].size=256KB"`.
        workers: Number of concurrent runs, by default one per core, and 1 if there are classes.
        cluster: The address of a Dask scheduler, or "slurm" with options, as for `weft sweep --cluster`.
        out: The folder of the sweep: a new one, or that of a sweep, whose results are reused. None: a temporary folder,
            which is removed with the returned object.
        force: Run experiments that need more memory than a machine has free.
        progress: Called with the part of the work that is done, 0 to 1, and the number of runs in words.

    Returns:
        The sweep. Its `failures` lists the runs that failed.

    Raises:
        SpecError: A run is wrong; none has begun.
        UsageError: An argument is wrong.
        RunError: No run has results; the message is that of the first failure.
        OutputError: Results cannot be written, or the folder is not that of a sweep.
        StoppedError: Ctrl-C. With `out`, an equal call continues.

    Warns:
        ResultWarning: The results need care, or some runs failed.
    """
    from weft.sweeps.axes import Axis, classes_in
    from weft.sweeps.command import run_sweep
    from weft.sweeps.executor import Executor
    from weft.sweeps.plan import Source, plan
    from weft.sweeps.precision import Precision

    if over is not None and not isinstance(over, Mapping):
        raise UsageError(f"over: {over!r:.100}; allowed: a dictionary of fields and values")
    for name, number, most in (("seeds", seeds, MAX_SEEDS), ("workers", workers, 1024)):
        whole = isinstance(number, Integral) and not isinstance(number, bool)
        if number is not None and not (whole and 1 <= int(number) <= most):
            raise UsageError(f"{name}: {number!r}; allowed: a whole number from 1 to {most}, or None")
    wanted = None if precision is None else Precision(of or "p99 slowdown", precision, max_seeds)
    executor = Executor.parse(cluster, None if workers is None else int(workers))
    axes = None if over is None else [Axis.of(field, values) for field, values in over.items()]
    source = Source(experiment, tuple(dict.fromkeys(classes_in(over or {}))))
    count = None if seeds is None else int(seeds)
    planned = replace(plan(source, list(overrides), axes, count, precision=wanted, force=force), of=of)
    temporary = tempfile.TemporaryDirectory(prefix="weft-sweep-") if out is None else None
    folder = Path(temporary.name if temporary is not None else out or "")
    outcome = run_sweep(planned, folder, executor=executor, force=force, show=progress or (lambda _done, _note: None))
    failures = outcome.failed()
    if len(outcome.failures) == len({run.key for run in outcome.sweep.runs}):
        raise RunError(f"{failures[0]['run']}: {failures[0]['reason']}")
    found = Sweep(folder)
    found.failures = failures
    found._temporary = temporary  # noqa: SLF001 - the folder lives as long as the object
    lines = outcome.warning_lines()
    if failures:
        lines.append(f"{len(failures)} runs failed, the first {failures[0]['run']}: {failures[0]['reason']}")
    for line in lines:
        warnings.warn(line, ResultWarning, stacklevel=2)
    return found
