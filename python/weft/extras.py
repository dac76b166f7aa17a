"""Packages that only some commands need, by the extra of the distribution that installs them."""

from __future__ import annotations

from importlib.util import find_spec

from weft.errors import RequirementError

EXTRAS = {
    "report": ("altair", "jinja2", "vl-convert-python"),
    "reproduce": ("jinja2", "matplotlib"),
    "tune": ("optuna",),
    "cluster": ("distributed",),
    "slurm": ("cryptography", "dask-jobqueue", "distributed"),
    "pandas": ("pandas", "pyarrow"),
}
"""`weft demo` needs those of `report` and `reproduce`."""

PURPOSES = {
    "report": "weft report and weft demo",
    "reproduce": "weft reproduce and weft demo",
    "tune": "weft tune",
    "cluster": "--cluster",
    "slurm": "--cluster slurm",
    "pandas": "result.to_pandas()",
}

MODULES = {"vl-convert-python": "vl_convert", "dask-jobqueue": "dask_jobqueue"}
"""Modules that have another name than their package."""


def require(command: str, *extras: str) -> None:
    """Checks, before any work is done, that the packages of extras are installed.

    The message names packages instead of extras, because the distribution is not on PyPI.

    Raises:
        RequirementError: Some are not.
    """
    packages = dict.fromkeys(package for extra in extras for package in EXTRAS[extra])
    missing = [package for package in packages if find_spec(MODULES.get(package, package)) is None]
    if missing:
        raise RequirementError(f"{command}: needs {', '.join(missing)}; run: pip install {' '.join(missing)}")
