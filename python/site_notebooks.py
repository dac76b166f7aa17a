"""Notebooks of the documentation: shown with what they print and draw, which they hold.

`python python/site_notebooks.py` runs the notebooks in `docs/tutorials` and stores their outputs. A test compares
these with a new run.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
from mkdocs.structure.files import File
from nbclient import NotebookClient
from nbconvert import MarkdownExporter
from traitlets.config import Config

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from nbformat import NotebookNode

NOTEBOOKS = Path(__file__).parent.parent / "docs" / "tutorials"
SLOWEST_CELL_S = 300
"""A limit for machines that others use."""


def read(file: Path) -> NotebookNode:
    """A notebook, checked against its format."""
    notebook: NotebookNode = nbformat.read(file, as_version=4)
    nbformat.validate(notebook)
    return notebook


def run(notebook: NotebookNode) -> None:
    """Runs all cells in their order, in an empty folder, and keeps their outputs in the notebook.

    Raises:
        CellExecutionError: A cell raised an error.
        ValueError: A cell wrote to standard error.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name in ("sockets", "work"):
            Path(folder, name).mkdir()
        # By sockets that only this user may open.
        config = Config({"KernelManager": {"transport": "ipc", "ip": f"{folder}/sockets/kernel"}})
        client = NotebookClient(notebook, timeout=SLOWEST_CELL_S, kernel_name="python3", config=config)
        client.resources = {"metadata": {"path": f"{folder}/work"}}
        client.execute()
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.get("name") == "stderr":
                raise ValueError(f"a notebook's cell wrote to standard error: {output['text'].strip()}")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds a page for each notebook, and the pictures in it. The notebook itself stays next to it, to be downloaded."""
    for file in sorted(NOTEBOOKS.glob("*.ipynb")):
        notebook = read(file)
        text, resources = MarkdownExporter().from_notebook_node(notebook)
        for name, picture in resources["outputs"].items():
            files.append(File.generated(config, f"tutorials/{file.stem}-{name}", content=picture))
        files.append(File.generated(config, f"tutorials/{file.stem}.md", content=_page(text, file)))
    return files


def _page(text: str, file: Path) -> str:
    text = re.sub(r"!\[\w+\]\((output_[\w.]+)\)", rf"![What the code above draws]({file.stem}-\1)", text)
    # Without a style of its own a frame looks, and is scrolled, as the site's other tables.
    text = re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL)
    text = text.replace('<table border="1" class="dataframe">', "<table>")
    title, _, rest = text.partition("\n")
    return f'{title}\n\n<a href="{file.name}" download>Download this notebook</a>\n{rest}'


def store() -> None:
    """Runs all notebooks and stores their outputs, without times and numbers of executions."""
    for file in sorted(NOTEBOOKS.glob("*.ipynb")):
        notebook = read(file)
        run(notebook)
        for cell in notebook.cells:
            cell.metadata.clear()
        notebook.metadata.language_info = {"name": "python"}
        nbformat.write(notebook, file)


if __name__ == "__main__":
    store()
