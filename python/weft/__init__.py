"""A simulator and Linux testbed for multipath transport in data-centre fabrics.

>>> import weft
>>> experiment = weft.load("incast.toml")
>>> result = weft.run(experiment, seed=7)
>>> result.flows  # a Polars frame, one row per flow
>>> sweep = weft.sweep(experiment, over={"transports.t.cc": ["amp", "xmp"]}, seeds=5)
>>> sweep.plot.compare("p99 slowdown")
"""

from importlib import import_module
from typing import TYPE_CHECKING

from weft.errors import (
    InternalError,
    NotAFolderError,
    OutputError,
    RequirementError,
    ResultWarning,
    RunError,
    SpecError,
    StoppedError,
    UsageError,
    WeftError,
)

if TYPE_CHECKING:
    from weft import interop, reordering, slowdown, stats, trace
    from weft._weft import Progress
    from weft.api import Result, load, registry, run, schema
    from weft.congestion_control import CongestionControl
    from weft.reports import write_report as report
    from weft.search.tune import Study, tune
    from weft.spec import Experiment
    from weft.sweeps.results import Sweep
    from weft.sweeps.sweep import sweep
    from weft.version import __version__
    from weft_papers.reproduce import reproduce_one as reproduce

__all__ = [
    "CongestionControl",
    "Experiment",
    "InternalError",
    "NotAFolderError",
    "OutputError",
    "Progress",
    "RequirementError",
    "Result",
    "ResultWarning",
    "RunError",
    "SpecError",
    "StoppedError",
    "Study",
    "Sweep",
    "UsageError",
    "WeftError",
    "__version__",
    "interop",
    "load",
    "registry",
    "reordering",
    "report",
    "reproduce",
    "run",
    "schema",
    "slowdown",
    "stats",
    "sweep",
    "trace",
    "tune",
]

_MODULES = ("interop", "reordering", "slowdown", "stats", "trace")

_NAMES = (
    ("weft._weft", ("Progress",)),
    ("weft.api", ("Result", "load", "registry", "run", "schema")),
    ("weft.congestion_control", ("CongestionControl",)),
    ("weft.spec", ("Experiment",)),
    ("weft.sweeps.results", ("Sweep",)),
    ("weft.sweeps.sweep", ("sweep",)),
    ("weft.search.tune", ("Study", "tune")),
    ("weft.version", ("__version__",)),
)


_RENAMED = {"report": ("weft.reports", "write_report"), "reproduce": ("weft_papers.reproduce", "reproduce_one")}


def __getattr__(name: str) -> object:
    # A name is imported when it is first used: the command must start at once, and pydantic takes a while.
    for module, names in _NAMES:
        if name in names:
            found = getattr(import_module(module), name)
            globals()[name] = found
            return found
    if name in _RENAMED:
        module, function = _RENAMED[name]
        return getattr(import_module(module), function)
    if name in _MODULES:
        return import_module(f"weft.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
