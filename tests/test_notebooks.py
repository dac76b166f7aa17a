"""The notebooks of the documentation. The tests of the site run them, and read what they show."""

from __future__ import annotations

from pathlib import Path

import pytest
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell, new_notebook

import site_notebooks

FILES = sorted(site_notebooks.NOTEBOOKS.glob("*.ipynb"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_outputs_are_stored(file: Path) -> None:
    code = [cell for cell in site_notebooks.read(file).cells if cell.cell_type == "code"]
    stored = [cell.source for cell in code if cell.outputs or cell.execution_count is not None]
    assert stored == [], "clear all outputs: they are made with the site"


def test_there_are_some() -> None:
    assert len(FILES) >= 2


def test_a_cell_that_fails_is_an_error() -> None:
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        site_notebooks.run(new_notebook(cells=[new_code_cell("1 / 0")]))


def test_a_warning_is_an_error() -> None:
    warn = "import sys; print('a warning', file=sys.stderr)"
    with pytest.raises(ValueError, match="a warning"):
        site_notebooks.run(new_notebook(cells=[new_code_cell(warn)]))
