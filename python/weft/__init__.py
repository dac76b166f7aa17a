"""A laboratory for multipath transport in data-centre fabrics.

>>> import weft
>>> experiment = weft.load("incast.toml")
>>> result = weft.run(experiment, seed=7, threads=2)
>>> result.flows  # a Polars frame, one row a flow
"""

from typing import TYPE_CHECKING

from weft._weft import Progress, __version__
from weft.api import Result, load, registry, run, schema
from weft.errors import InternalError, OutputError, RunError, SpecError, WeftError

if TYPE_CHECKING:
    from weft.spec import Experiment

__all__ = [
    "Experiment",
    "InternalError",
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
]


def __getattr__(name: str) -> object:
    # The models bring pydantic, which a command that reads no spec need not wait for.
    if name == "Experiment":
        from weft.spec import Experiment

        return Experiment
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
