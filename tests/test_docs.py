"""Commands and paths that the documents name exist."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

import draw_pictures
import weft as weft_package
from tests.command import weft
from weft.bench import SCENARIOS
from weft_papers import FIGURES

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


def test_each_transport_has_equations_a_picture_and_advice() -> None:
    """The page is generated, so only what may be missing in the words or in the heads of files is looked for."""
    page = (ROOT / "docs" / "explanation" / "which-transport.md").read_text()
    sections = {
        found[1]: part for part in page.split("\n### ")[1:] if (found := re.search(r"transports/([\w-]+)\.svg", part))
    }
    assert set(sections) == set(draw_pictures.algorithms())
    for name, part in sections.items():
        parts = [r"```math\n", r"- \*\*Use it\*\* if ", r"- \*\*Do not use it\*\* if "]
        parts += [] if name == "constant-rate" else [r"- \*\*Source:\*\* \w"]
        assert [text for text in parts if not re.search(text, part)] == [], name


def specs_of_examples() -> list[tuple[str, dict[str, Any]]]:
    """Each block of TOML on the pages and each example, with its place; blocks with placeholders are left out."""
    blocks = [
        (page.name, text)
        for page in DOCUMENTS
        if page.suffix == ".md"
        for text in re.findall(r"^```toml.*?\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
    ]
    blocks += [(file.name, file.read_text()) for file in (ROOT / "examples").glob("*.toml")]
    return [(place, tomllib.loads(text)) for place, text in blocks if "…" not in text]


def test_transports_are_named_by_what_they_are() -> None:
    """A transport that has the name of an algorithm or a kind uses it."""
    registry = weft_package.registry()
    algorithms, kinds = ({entry["name"] for entry in registry[group]} for group in ("algorithms", "transports"))
    wrong, seen = [], 0
    for place, spec in specs_of_examples():
        for name, transport in spec.get("transports", {}).items():
            cc = transport.get("cc")
            used = cc["name"] if isinstance(cc, dict) else cc
            if name in algorithms | kinds:
                seen += 1
                wrong += [] if name in (used, transport.get("kind")) else [f"{place}: {name}"]
    assert wrong == []
    assert seen > 20


TUTORIALS = sorted(path for kind in ("*.md", "*.ipynb") for path in (ROOT / "docs" / "tutorials").glob(kind))


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda path: path.stem)
def test_tutorials_end_with_a_difference(page: Path) -> None:
    """A ratio is printed whose 95 % interval excludes 1, and a plot follows; outputs are tested elsewhere."""
    text = page.read_text()
    if page.suffix == ".ipynb":
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
        outputs = [output["data"] for cell in cells for output in cell["outputs"] if "data" in output]
        text = "\n".join("![](plot)" if "image/png" in data else "".join(data["text/plain"]) for data in outputs)
    ratios = list(re.finditer(r"│.*\bratio +┆ low +┆ high +[┆│][^└]*", text))
    rows = [[float(cell) for cell in re.findall(r"\d+\.\d+", line)][-3:] for it in ratios for line in it[0].split("\n")]
    assert any(len(row) == 3 and not row[1] <= 1 <= row[2] for row in rows)
    assert text.rindex("![") > ratios[-1].end()


def test_each_example_has_a_picture_in_the_gallery() -> None:
    gallery = (ROOT / "docs" / "gallery.md").read_text()
    examples = {path.stem for path in (ROOT / "examples").glob("*.toml")}
    linked = set(re.findall(r"\]\(\.\./examples/([\w-]+)\.toml\)", gallery))
    shown = set(re.findall(r"pictures/examples/([\w-]+)\.svg\)", gallery))
    assert examples == linked == shown


OF_README = (
    "failed-link",
    "cpu-seconds",
    "one-and-four",
    "subflows",
    "gentle",
    *(f"full-size/{name}" for name in draw_pictures.FULL_SIZE),
)


@pytest.mark.parametrize("name", OF_README)
def test_picture_shows_the_numbers_of_runs(name: str) -> None:
    """The words and numbers of a stored picture are those of one that is drawn now; if not, `make pictures`."""
    drawn = draw_pictures.svg(name)
    stored = (draw_pictures.PICTURES / f"{name}.svg").read_text()
    assert re.findall(r">([^<>]+)</text>", stored) == re.findall(r">([^<>]+)</text>", drawn)


NOT_FOR_USERS = ("contributing/", "style.md")
"""Pages for people who change Weft."""
GENERATED = "<!-- Generated by"


def user_pages() -> dict[str, str]:
    """Texts of README and of all pages for users, generated ones and notebooks included, by path."""
    docs = ROOT / "docs"
    pages = {str(page.relative_to(docs)): page.read_text() for page in docs.rglob("*.md")}
    for file in docs.rglob("*.ipynb"):
        cells = json.loads(file.read_text())["cells"]
        pages[str(file.relative_to(docs))] = "\n".join("".join(cell["source"]) for cell in cells)
    pages["README.md"] = (ROOT / "README.md").read_text()
    return {name: text for name, text in pages.items() if not name.startswith(NOT_FOR_USERS)}


def test_user_docs_are_short() -> None:
    """They have at most 60,000 words, the generated reference included, generated results and bars of tables not."""
    read = [text for name, text in user_pages().items() if not (name.startswith("validation/") and GENERATED in text)]
    assert sum(bool(re.search(r"\w", word)) for text in read for word in text.split()) <= 60_000


def test_user_pages_have_no_dates_and_no_loads_of_machines() -> None:
    """The conditions of a measurement are in `research`."""
    dated = re.compile(r"\b20\d\d-\d\d-\d\d\b(?![\w-]*\.md)|\bload of \d+ (to \d+ )?by\b|of today\b")
    written = {name: text for name, text in user_pages().items() if GENERATED not in text}
    assert {name: found for name, text in written.items() if (found := dated.findall(text))} == {}


def test_search_leaves_generated_results_out() -> None:
    """Readers search for what they read and set; pages of results would fill the list of hits."""
    results = [page for page in (ROOT / "docs/validation").glob("*.md") if GENERATED in page.read_text()]
    assert {page.name for page in results} >= {"conformance.md", "figures.md"}
    assert all("search:\n  exclude: true\n---" in page.read_text() for page in results)
