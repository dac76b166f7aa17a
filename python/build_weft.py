"""Builds wheels and sources as Maturin does, and writes into them which build they are.

`pip install`, `pip wheel` and `uv build` call the functions here by their names (PEP 517).
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import maturin  # type: ignore[import-untyped]
from maturin import (
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

from weft import version

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

build_editable = maturin.build_editable
"""An editable package is a clone, whose Git tells the version."""


def build_wheel(*given: str | None, **options: Mapping[str, str] | None) -> str:
    """Builds a wheel."""
    with version_file():
        return str(maturin.build_wheel(*given, **options))


def build_sdist(*given: str | None, **options: Mapping[str, str] | None) -> str:
    """Packs the sources."""
    with version_file():
        return str(maturin.build_sdist(*given, **options))


@contextlib.contextmanager
def version_file() -> Iterator[None]:
    """Writes the version of a clone into the package; packed sources have it already."""
    found = version.describe(Path(__file__).parents[1])
    if found is None:
        yield
        return
    version.FILE.write_text(f"{found}\n", encoding="ascii")
    try:
        yield
    finally:
        version.FILE.unlink()


if __name__ == "__main__":  # runs a command, such as `maturin build`, while the file is there
    with version_file():
        code = subprocess.run(sys.argv[1:], check=False).returncode
    sys.exit(code)
