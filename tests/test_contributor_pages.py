"""Names in the pages for contributors exist in the code."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
PAGES = (
    "CONTRIBUTING.md",
    "docs/contributing/code-map.md",
    "docs/contributing/recipes.md",
    "docs/contributing/glossary.md",
    "docs/contributing/how-a-run-works.md",
    "docs/contributing/inside-weftd.md",
)
PLACEHOLDER = re.compile(r"NAME|PAPER|FIGURE|my_name|MyName|my-name|/A-B|part: change")
"""Names that stand for those of the reader's own kind."""
PATH = re.compile(r"[\w.-]*(/[\w.-]+)+/?|[\w-]+\.(rs|py|toml|md|h|c|lock)")
IDENTIFIER = re.compile(r"\w+(::\w+|\.\w+)*(\(\))?")
MEMBER = re.compile(r"\b([A-Z]\w+)::(\w+)")
DEFINITION = re.compile(r"\b(?:struct|enum|trait|type|union|class) +(\w+)")
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
def code(tracked: list[str]) -> Code:
    """Returns the words of the code without this test's own file, which has some that stand for others."""
    files = [ROOT / name for name in tracked if PurePosixPath(name).suffix in SOURCES]
    words: set[str] = set()
    members: dict[str, set[str]] = {}
    for file in files:
        if file.is_file() and file != Path(__file__):
            text = file.read_text(encoding="utf-8")
            here = set(re.findall(r"\w+", text))
            words |= here
            for name in {*DEFINITION.findall(text), *re.findall(r"\bimpl\b[^{]*?(\w+)(?:<[^{]*>)? *\{", text)}:
                members.setdefault(name, set()).update(here)
    return Code(words, members)


class Code(NamedTuple):
    """What the code has."""

    words: set[str]
    members: dict[str, set[str]]
    """The words of the files that define a type or implement it."""


def missing(text: str, tracked: list[str], code: Code) -> Iterator[str]:
    """Yields the paths and identifiers of a page that do not exist.

    A member of a type is a word of a file that defines or implements the type. Metrics have the prefix `weft_`.
    """
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    folders = {parent.as_posix() for name in tracked for parent in PurePosixPath(name).parents}
    for span in CODE.findall(prose):
        if PLACEHOLDER.search(span):
            continue
        if PATH.fullmatch(span):
            name = span.rstrip("/").removeprefix("./")
            ends = (at == name or at.endswith(f"/{name}") for at in (*tracked, *folders))
            # A folder that a command makes is not tracked.
            if not any(ends) and not name.startswith(("out/", "target/", "/")):
                yield span
        elif any(member not in code.members.get(of, ()) for of, member in MEMBER.findall(span)) or (
            IDENTIFIER.fullmatch(span)
            and not {word if word in code.words else word.removeprefix("weft_") for word in re.findall(r"\w+", span)}
            <= code.words
        ):
            yield span


@pytest.mark.parametrize("page", PAGES)
def test_names_of_pages_exist(page: str, tracked: list[str], code: Code) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    text = text.partition("## Rules for names")[0]  # they quote names that the code must not have
    assert list(missing(text, tracked, code)) == []


@pytest.mark.parametrize(
    "name",
    [
        "crates/weft-cc/src/not_there.rs",
        "not_there.rs",
        "CongestionControl::on_nothing",
        "CongestionControl::append_ports",
        "CongestionControl::on_nothing(1, 2);",
        "NotThere",
    ],
)
def test_a_name_that_is_gone_is_found(name: str, tracked: list[str], code: Code) -> None:
    text = f"Write `{name}` and `CongestionControl` in `crates/weft-cc/src/amp.rs`."
    assert list(missing(text, tracked, code)) == [name]


def test_contributing_is_short() -> None:
    """CONTRIBUTING is read before a first change, so it has at most 120 lines."""
    assert len((ROOT / PAGES[0]).read_text(encoding="utf-8").splitlines()) <= 120
