"""The notebooks of the documentation run, and show what they are there to show."""

from __future__ import annotations

from pathlib import Path

import pytest
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell, new_notebook

import site_notebooks

FILES = sorted(site_notebooks.NOTEBOOKS.glob("*.ipynb"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_notebook(file: Path) -> None:
    notebook = site_notebooks.read(file)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    stored = [cell.source for cell in code if cell.outputs or cell.execution_count is not None]
    assert stored == [], "clear all outputs: they are made with the site"
    site_notebooks.run(notebook)
    for cell in code:
        kinds = {kind for output in cell.outputs for kind in output.get("data", {})}
        assert [output for output in cell.outputs if output.get("name") == "stderr"] == []
        if "plot." in cell.source or "subplots" in cell.source:
            assert "image/png" in kinds, cell.source
    pages = [output.get("data", {}).get("text/html", "") for cell in code for output in cell.outputs]
    assert len([page for page in pages if "<table" in page]) > 2


def test_there_are_some() -> None:
    assert len(FILES) >= 2


def test_a_cell_that_fails_is_an_error() -> None:
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        site_notebooks.run(new_notebook(cells=[new_code_cell("1 / 0")]))
