"""Parses `--cluster` and `--workers`, which say where the runs of a sweep are executed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

from weft.errors import UsageError

_ADDRESS = re.compile(r"(tcp|tls|ws|wss)://[^\s/]+:[0-9]{1,5}", re.ASCII)
_ALLOWED = "an address such as tcp://host:8786, or slurm, such as slurm:queue=long,walltime=04:00:00"

# One word without characters of the shell.
_WORD = r"[^\s\x00-\x1f'\"\\;&|<>$`]{1,100}"
SLURM_OPTIONS = {
    "account": _WORD,
    "cores": r"[1-9][0-9]{0,3}",
    "interface": r"[\w.:-]{1,50}",
    "memory": r"[1-9][0-9]{0,5} ?[KMGT]i?B",
    "queue": _WORD,
    "walltime": r"(?:[0-9]{1,3}-)?[0-9]{1,3}:[0-5][0-9]:[0-5][0-9]",
}
"""Options after `slurm:`, with patterns of their values.

Values are written to the script of a job, so the patterns exclude spaces, quotes and characters of the shell.
"""


@dataclass(frozen=True)
class Executor:
    """The kind of processes that execute the runs of a sweep.

    Runs are executed by processes of this machine, unless one of `address` and `slurm` is set.
    """

    address: str | None = None
    """Address of a running Dask scheduler, or None."""
    slurm: dict[str, str] | None = None
    """Options of Slurm jobs, which may be none at all; None without Slurm."""
    workers: int | None = None
    """Number of concurrent runs, each in a process with one thread.

    None stands for one per core of this machine, or with `address` for all workers of the scheduler.
    """

    @classmethod
    def parse(cls, cluster: str | None, workers: int | None) -> Self:
        """Parses the values of `--cluster` and `--workers`.

        Raises:
            UsageError: `--cluster` is malformed, or `--workers` is missing (Slurm) or has no effect (scheduler).
        """
        if cluster is None:
            return cls(workers=workers)
        name, colon, options = cluster.partition(":")
        if name == "slurm":
            if workers is None:
                raise UsageError("--cluster slurm: --workers N is missing; add it, the number of concurrent runs")
            return cls(slurm=_slurm(options) if colon else {}, workers=workers)
        if _ADDRESS.fullmatch(cluster) is None:
            raise UsageError(f"--cluster {cluster!r:.100}: not the address of a scheduler; allowed: {_ALLOWED}")
        if workers is not None:
            raise UsageError("--workers: no effect on a running scheduler (--cluster tcp://...); remove one of the two")
        return cls(address=cluster)


def _slurm(text: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for part in text.split(","):
        name, _, value = (piece.strip() for piece in part.partition("="))
        if name not in SLURM_OPTIONS or name in options:
            why = "given twice" if name in options else "not an option"
            raise UsageError(f"--cluster slurm: {name!r:.50} is {why}; allowed: {', '.join(SLURM_OPTIONS)}, once each")
        if re.fullmatch(SLURM_OPTIONS[name], value, re.ASCII) is None:
            examples = {"cores": "8", "memory": "4GB", "walltime": "04:00:00", "interface": "ib0"}
            allowed = examples.get(name, "a name")
            raise UsageError(f"--cluster slurm: {name} is {value!r:.50}; allowed: such as {allowed}")
        options[name] = value
    return options
