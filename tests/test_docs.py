"""Commands and paths that the documents name exist."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import draw_pictures
from tests.command import weft
from weft.bench import SCENARIOS
from weft.papers import FIGURES

MAKE = shutil.which("make") or "make"
ROOT = Path(__file__).parent.parent
PAGES = sorted(
    file for folder in ("docs", "research") for kind in ("*.md", "*.ipynb") for file in (ROOT / folder).rglob(kind)
)
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES]
COMMANDS = {
    "check",
    "diff",
    "ls",
    "new",
    "show",
    "run",
    "sweep",
    "tune",
    "report",
    "trace",
    "list",
    "schema",
    "doctor",
    "completion",
    "reproduce",
    "demo",
    "bench",
}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_make_targets(document: Path) -> None:
    shown = subprocess.run([MAKE], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    targets = {line.split()[1] for line in shown.splitlines()}
    named = set(re.findall(r"`make ([a-z-]+)`", document.read_text()))
    named |= set(re.findall(r"^make ([a-z-]+)", document.read_text(), re.MULTILINE))
    assert named <= targets


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_weft_commands(document: Path) -> None:
    lines = re.findall(r"(?:`|^(?:\.venv/bin/)?)weft ([a-z].*?)(?:`|$)", document.read_text(), re.MULTILINE)
    names = {name for figure in FIGURES for name in (figure.name, figure.paper)}
    for line in lines:
        words = line.split()
        assert words[0] in COMMANDS, line
        if words[0] == "reproduce":
            assert names & set(words) or {"--list", "--headlines", "PAPER", "PAPER/FIGURE"} & set(words), line
        if words[0] == "bench":
            scenarios = [word for word in words[1:] if not word.startswith("-") and not word.isdigit()]
            assert set(scenarios) <= {*SCENARIOS, "[SCENARIO…]"}, line


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_places(document: Path) -> None:
    text = document.read_text()
    # Entries of the notebook keep the paths of their day.
    dated = document.parent.name == "notebook"
    paths = set() if dated else set(re.findall(r"`((?:crates|python|tests|docs|requirements)/[\w./-]+)`", text))
    links = set(re.findall(r"\]\(([^)#:]+)\)", text))
    missing = [path for path in paths if not (ROOT / path).exists() and not re.search("[A-Z]{4}", path)]
    missing += [link for link in links if not (document.parent / link).exists()]
    assert missing == []


def test_every_command_has_help(tmp_path: Path) -> None:
    for command in COMMANDS:
        assert weft(command, "--help", cwd=tmp_path).code == 0


def test_pictures() -> None:
    """Each picture that can be drawn is in the repository and on a page, and no other one is."""
    drawn = {f"{name}.svg" for name, _ in draw_pictures.names()}
    kept = {path.relative_to(draw_pictures.PICTURES).as_posix() for path in draw_pictures.PICTURES.rglob("*.svg")}
    shown = {name for page in DOCUMENTS for name in re.findall(r"pictures/([\w./-]+\.svg)\)", page.read_text())}
    assert drawn == kept == shown


OF_README = ("failed-link", "cpu-seconds", "subflows", *(f"full-size/{name}" for name in draw_pictures.FULL_SIZE))


@pytest.mark.parametrize("name", OF_README)
def test_a_picture_shows_what_runs_give(name: str) -> None:
    """The words and numbers of a stored picture are those of one that is drawn now; if not, `make pictures`."""
    drawn = draw_pictures.svg(name)
    stored = (draw_pictures.PICTURES / f"{name}.svg").read_text()
    assert re.findall(r">([^<>]+)</text>", stored) == re.findall(r">([^<>]+)</text>", drawn)


NOT_FOR_USERS = ("contributing/", "style.md", "glossary.md", "validation/figures.md")
"""Pages for people who change Weft, and the generated overview of claims, which the search leaves out."""
WORD = re.compile(r"\S*\w\S*")


def test_user_docs_are_short() -> None:
    """README and the pages for users, notebooks included, have at most 60,000 words."""
    docs = ROOT / "docs"
    users = [page for page in docs.rglob("*.md") if not str(page.relative_to(docs)).startswith(NOT_FOR_USERS)]
    notebooks = [json.loads(file.read_text()) for file in docs.rglob("*.ipynb")]
    cells = ["".join(cell["source"]) for notebook in notebooks for cell in notebook["cells"]]
    texts = [page.read_text() for page in (ROOT / "README.md", *users)] + cells
    assert sum(len(WORD.findall(text)) for text in texts) <= 60_000
