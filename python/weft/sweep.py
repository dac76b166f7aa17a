"""Many runs in parallel: each on one thread of a pool. A run is measured and dropped from memory as soon as it ends."""

from __future__ import annotations

import os
import threading
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING

from weft import api
from weft.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl

    from weft._weft import Progress
    from weft.spec import Experiment


@dataclass(frozen=True)
class Case:
    """One run of a sweep."""

    labels: Mapping[str, str | int | float]
    """What distinguishes this run; becomes columns of the sweep's table, next to `seed`."""
    experiment: Experiment
    seed: int


def sweep(
    cases: Sequence[Case],
    measure: Callable[[api.Result], pl.DataFrame],
    *,
    workers: int | None = None,
    on_progress: Callable[[float], None] | None = None,
) -> pl.DataFrame:
    """Runs all cases and stacks the rows that are measured of each.

    Args:
        cases: What to run, at least one. Rows are in this order, whichever run ends first.
        measure: Returns the rows to keep of a finished run.
        workers: Number of concurrent runs, by default the number of cores. Runs at an exclusive level have the
            machine to themselves.
        on_progress: Called with the part of the sweep that is done, 0 to 1.

    Raises:
        KeyboardInterrupt: Ctrl-C; running experiments are stopped first.
        RunError: There are no cases.
        WeftError: The first error that a run raised.
    """
    if not cases:
        raise RunError("sweep: no cases; allowed: at least one")
    import polars as pl

    stop = threading.Event()
    done = [0.0] * len(cases)

    def run(place: int) -> pl.DataFrame:
        case = cases[place]

        def watch(progress: Progress) -> bool:
            done[place] = progress.fraction
            return not stop.is_set()

        if stop.is_set():
            raise KeyboardInterrupt
        result = api.run(case.experiment, seed=case.seed, threads=1, progress=watch)
        if result.partial:
            raise KeyboardInterrupt
        done[place] = 1.0
        labels = [pl.lit(value).alias(name) for name, value in case.labels.items()]
        return measure(result).select(*labels, pl.lit(case.seed).alias("seed"), pl.all())

    # Runs in real time need a quiet machine: one after the other, when all else is done.
    exclusive = {level["name"] for level in api.registry()["levels"] if level["exclusive"]}
    places: tuple[list[int], list[int]] = ([], [])
    for place, case in enumerate(cases):
        places[case.experiment.level in exclusive].append(place)
    rows: dict[int, pl.DataFrame] = {}
    for chosen, width in zip(places, (workers or os.cpu_count(), 1), strict=True):
        with ThreadPoolExecutor(width) as pool:
            futures = {place: pool.submit(run, place) for place in chosen}
            pending: set[Future[pl.DataFrame]] = set(futures.values())
            try:
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
        rows |= {place: future.result() for place, future in futures.items()}
    return pl.concat([rows[place] for place in range(len(cases))])
