"""Names in the pages for contributors exist in the code."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parent.parent
PAGES = (
    "CONTRIBUTING.md",
    "docs/contributing/code-map.md",
    "docs/contributing/recipes.md",
    "docs/contributing/glossary.md",
)
PLACEHOLDER = re.compile(r"NAME|PAPER|FIGURE|my_name|MyName|my-name|/A-B|part: change")
"""Names that stand for those of the reader's own kind."""
PATH = re.compile(r"[\w.-]*(/[\w.-]+)+/?|[\w-]+\.(rs|py|toml|md|h|c|lock)")
IDENTIFIER = re.compile(r"\w+(::\w+|\.\w+)*(\(\))?")
CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
SOURCES = {".rs", ".py", ".toml", ".c", ".h", ".pyi"}


@pytest.fixture(scope="module")
def tracked() -> list[str]:
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("not a git repository")
    listed = [git, "-c", f"safe.directory={ROOT}", "ls-files", "--cached", "--others", "--exclude-standard"]
    return subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.fixture(scope="module")
def words(tracked: list[str]) -> set[str]:
    """Every word of the code; this test's own file has some that stand for others."""
    files = [ROOT / name for name in tracked if PurePosixPath(name).suffix in SOURCES]
    texts = (file.read_text(encoding="utf-8") for file in files if file.is_file() and file != Path(__file__))
    return {word for text in texts for word in re.findall(r"\w+", text)}


def missing(text: str, tracked: list[str], words: set[str]) -> Iterator[str]:
    """Yields the paths and identifiers of a page that do not exist."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    folders = {parent.as_posix() for name in tracked for parent in PurePosixPath(name).parents}
    for code in CODE.findall(prose):
        if PLACEHOLDER.search(code):
            continue
        if PATH.fullmatch(code):
            name = code.rstrip("/").removeprefix("./")
            ends = (at == name or at.endswith(f"/{name}") for at in (*tracked, *folders))
            # A folder that a command makes is not tracked.
            if not any(ends) and not name.startswith(("out/", "target/", "/")):
                yield code
        elif IDENTIFIER.fullmatch(code) and not set(re.findall(r"\w+", code)) <= words:
            yield code


@pytest.mark.parametrize("page", PAGES)
def test_names_of_pages_exist(page: str, tracked: list[str], words: set[str]) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    text = text.partition("## Rules for names")[0]  # they quote names that the code must not have
    assert list(missing(text, tracked, words)) == []


@pytest.mark.parametrize(
    "name", ["crates/weft-cc/src/not_there.rs", "not_there.rs", "CongestionControl::on_nothing", "NotThere"]
)
def test_a_name_that_is_gone_is_found(name: str, tracked: list[str], words: set[str]) -> None:
    text = f"Write `{name}` and `CongestionControl` in `crates/weft-cc/src/amp.rs`."
    assert list(missing(text, tracked, words)) == [name]


def test_contributing_is_short() -> None:
    """CONTRIBUTING is read before a first change, so it has at most 120 lines."""
    assert len((ROOT / PAGES[0]).read_text(encoding="utf-8").splitlines()) <= 120
