"""The notebooks of the documentation hold what they print and draw."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell, new_notebook

import site_notebooks
from tests.papers.snapshots import alike

FILES = sorted(site_notebooks.NOTEBOOKS.glob("*.ipynb"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_stored_outputs_are_those_of_a_run(file: Path) -> None:
    stored, found = site_notebooks.read(file), site_notebooks.read(file)
    site_notebooks.run(found)
    for old, new in zip(stored.cells, found.cells, strict=True):
        if old.cell_type == "code":
            assert alike(printed(old), printed(new)), f"{old.source}: run python/site_notebooks.py"


def printed(cell: Any) -> str:
    """The text of a cell's outputs; a picture counts as its description."""
    return "\n".join(output.get("text") or output["data"]["text/plain"] for output in cell.outputs)


def test_there_are_some() -> None:
    assert len(FILES) >= 2


def test_a_cell_that_fails_is_an_error() -> None:
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        site_notebooks.run(new_notebook(cells=[new_code_cell("1 / 0")]))


def test_a_warning_is_an_error() -> None:
    warn = "import sys; print('a warning', file=sys.stderr)"
    with pytest.raises(ValueError, match="a warning"):
        site_notebooks.run(new_notebook(cells=[new_code_cell(warn)]))
