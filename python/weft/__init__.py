"""A laboratory for multipath transport in data-centre fabrics.

>>> import weft
>>> experiment = weft.load("incast.toml")
>>> result = weft.run(experiment, seed=7)
>>> result.flows  # a Polars frame, one row a flow
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft import slowdown, statistics, sweep, trace
    from weft._weft import Progress, __version__
    from weft.api import Result, load, registry, run, schema
    from weft.congestion_control import CongestionControl
    from weft.errors import InternalError, MissingError, OutputError, RunError, SpecError, WeftError
    from weft.spec import Experiment

__all__ = [
    "CongestionControl",
    "Experiment",
    "InternalError",
    "MissingError",
    "OutputError",
    "Progress",
    "Result",
    "RunError",
    "SpecError",
    "WeftError",
    "__version__",
    "load",
    "registry",
    "run",
    "schema",
    "slowdown",
    "statistics",
    "sweep",
    "trace",
]

_MODULES = ("slowdown", "statistics", "sweep", "trace")

_PLACES = (
    ("weft._weft", ("Progress", "__version__")),
    ("weft.api", ("Result", "load", "registry", "run", "schema")),
    ("weft.congestion_control", ("CongestionControl",)),
    ("weft.errors", ("InternalError", "MissingError", "OutputError", "RunError", "SpecError", "WeftError")),
    ("weft.spec", ("Experiment",)),
)


def __getattr__(name: str) -> object:
    # Everything is imported when it is first asked for: the command must start at once, and pydantic takes a while.
    for module, names in _PLACES:
        if name in names:
            found = getattr(import_module(module), name)
            globals()[name] = found
            return found
    if name in _MODULES:
        return import_module(f"weft.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
