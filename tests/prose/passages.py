"""The prose of the repository: pages, docstrings, comments and messages, as passages with line numbers."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
GENERATED = {
    "docs/explanation/which-transport.md",
    "docs/reference.md",
    "docs/reference/congestion-control.md",
    "docs/reference/experiment.md",
    "docs/reference/paths.md",
    "docs/reference/probes.md",
    "docs/reference/tables.md",
    "docs/reference/topologies.md",
    "docs/reference/traffic.md",
    "docs/reference/transports.md",
    "python/weft/spec.py",
}
"""Files whose prose is checked at its source."""
FOLDERS = ("crates", "docs", "examples", "python", "research", "templates", "tests")
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
SKIPPED = {"target", "__pycache__"}
MIN_MESSAGE_WORDS = 4


class Kind(Enum):
    """The kind of a passage, which decides the rules for it."""

    TEXT = "text"
    """A paragraph, heading or list item of a page."""
    CELL = "cell"
    """A row of a table, or a quotation."""
    DOC = "doc"
    """The first paragraph of a docstring or doc comment."""
    MORE = "more"
    """Another paragraph of a docstring or doc comment."""
    COMMENT = "comment"
    MESSAGE = "message"


@dataclass(frozen=True)
class Passage:
    """Text without code and links, as long as in its file."""

    file: str
    """Relative to the repository's root."""
    kind: Kind
    text: str
    starts: tuple[int, ...]
    """Offsets in `text` at which lines of the file start."""
    lines: tuple[int, ...]

    def line(self, offset: int) -> int:
        """The line of the file at an offset of the text."""
        return self.lines[bisect_right(self.starts, offset) - 1]

    def sentences(self) -> Iterator[tuple[int, str]]:
        """Each sentence with its offset."""
        start = 0
        for end in SENTENCE_END.finditer(self.text):
            yield start, self.text[start : end.start()]
            start = end.end()
        if self.text[start:].strip():
            yield start, self.text[start:]


SENTENCE_END = re.compile(
    r"(?<=[.?!])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bcf\.)(?<!\bal\.)(?<!\bvs\.)(?<!\bSec\.)(?<!\bEq\.)[\"')\]*]*\s+"
    r"(?=[\"'(\[*]*[A-Z`0-9])"
)
CODE = re.compile(r"(`+)(.+?)\1", re.DOTALL)
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
URL = re.compile(r"<?https?://[^\s)>]+>?")
ITEM = re.compile(r"^\s*([-*+]|\d+\.)\s+")


def passage(file: str, kind: Kind, numbered: Iterable[tuple[int, str]]) -> Iterator[Passage]:
    """The passage that consists of lines with their numbers, unless it is empty."""
    texts, starts, lines, length = [], [], [], 0
    for number, line in numbered:
        texts.append(line)
        starts.append(length)
        lines.append(number)
        length += len(line) + 1
    text = CODE.sub(lambda code: f"`{'x' * (len(code[0]) - 2)}`", " ".join(texts))
    text = LINK.sub(lambda link: link[1].rjust(len(link[1]) + 1).ljust(len(link[0])), text)
    text = URL.sub(lambda url: "x" * len(url[0]), text)
    if text.strip():
        yield Passage(file, kind, text, tuple(starts), tuple(lines))


def paragraphs(file: str, first: Kind, other: Kind, numbered: Iterable[tuple[int, str]]) -> Iterator[Passage]:
    """Passages of Markdown: paragraphs, list items, headings and rows of tables; blocks of code are left out."""
    kind, gathered, fenced = first, list[tuple[int, str]](), False
    for number, line in [*numbered, (0, "")]:
        stripped = line.strip()
        if stripped.startswith(("```", "~~~")):
            fenced = not fenced
        begins = ITEM.match(line) is not None
        apart = fenced or not stripped or stripped.startswith(("```", "~~~", "|", ">", "#", "<!--"))
        if (begins or apart) and gathered:
            yield from passage(file, kind, gathered)
            kind, gathered = other, []
        if fenced or stripped.startswith(("```", "~~~", "<!--")):
            continue
        if stripped.startswith(("|", ">")):
            yield from passage(file, Kind.CELL, [(number, stripped)])
        elif stripped.startswith("#"):
            yield from passage(file, other, [(number, stripped.lstrip("# "))])
        elif stripped:
            gathered.append((number, ITEM.sub("", line).strip()))


def of_page(file: str, text: str) -> Iterator[Passage]:
    """The passages of a page in Markdown."""
    lines = list(enumerate(text.split("\n"), 1))
    if text.startswith("---\n"):
        lines = lines[next(at for at, (_, line) in enumerate(lines) if at and line == "---") + 1 :]
    yield from paragraphs(file, Kind.TEXT, Kind.TEXT, lines)


SECTION = re.compile(r"^\s*(Args|Returns|Raises|Yields|Attributes|Example|Examples):\s*$")
ENTRY = re.compile(r"^\s+\*{0,2}\w+( \([^)]*\))?: ")


def of_python(file: str, text: str) -> Iterator[Passage]:
    """The docstrings, comments and messages of a module."""
    docstrings = set()
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    for node in nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            docstrings.add(id(node.value))
            lines = node.value.value.split("\n")
            # A section's head ends a paragraph, and so does each of its entries.
            plain = ("" if SECTION.match(line) else ENTRY.sub("- ", line) for line in lines)
            yield from paragraphs(file, Kind.DOC, Kind.MORE, enumerate(plain, node.lineno))
    if not file.startswith("tests/"):
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                yield from _message(file, node.lineno, node.value)
    yield from _comments(file, text, re.compile(r"^(?:[^\"']*\s)?#(?!!)\s?(.*)"))


DOC_COMMENT = re.compile(r"^\s*(///|//!)(?!/) ?(.*)")
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')


def of_rust(file: str, text: str) -> Iterator[Passage]:
    """The doc comments, comments and messages of a Rust file."""
    gathered, sign = list[tuple[int, str]](), ""
    for number, line in [*enumerate(text.split("\n"), 1), (0, "")]:
        found = DOC_COMMENT.match(line)
        if gathered and (found is None or found[1] != sign):
            yield from paragraphs(file, Kind.DOC, Kind.MORE, gathered)
            gathered = []
        if found is not None:
            sign = found[1]
            gathered.append((number, found[2]))
        elif "/tests/" not in file and not line.lstrip().startswith(("//", "#[")):
            for literal in LITERAL.finditer(line):
                yield from _message(file, number, literal[1])
    yield from _comments(file, text, re.compile(r"^(?:[^\"]*\s)?//(?![/!])\s?(.*)"))


def of_c(file: str, text: str) -> Iterator[Passage]:
    """The comments of a C file."""
    for comment in re.finditer(r"/\*(.*?)\*/", text, re.DOTALL):
        first = text.count("\n", 0, comment.start()) + 1
        lines = (re.sub(r"^\s*\*\s?", "", line) for line in comment[1].split("\n"))
        yield from paragraphs(file, Kind.COMMENT, Kind.COMMENT, enumerate(lines, first))
    yield from _comments(file, text, re.compile(r"^(?:[^\"]*\s)?//\s?(.*)"))


def _message(file: str, number: int, text: str) -> Iterator[Passage]:
    if len(text.split()) >= MIN_MESSAGE_WORDS:
        yield from passage(file, Kind.MESSAGE, [(number, text)])


def _comments(file: str, text: str, pattern: re.Pattern[str]) -> Iterator[Passage]:
    gathered = list[tuple[int, str]]()
    for number, line in [*enumerate(text.split("\n"), 1), (0, "")]:
        found = pattern.match(line)
        if found is not None:
            gathered.append((number, found[1]))
        elif gathered:
            yield from paragraphs(file, Kind.COMMENT, Kind.COMMENT, gathered)
            gathered = []


READERS = {".md": of_page, ".py": of_python, ".pyi": of_python, ".rs": of_rust, ".c": of_c, ".h": of_c}


def files() -> Iterator[str]:
    """The files with prose, relative to the repository's root."""
    yield from (page for page in PAGES if (ROOT / page).exists())
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*")):
            name = file.relative_to(ROOT).as_posix()
            if file.suffix in READERS and name not in GENERATED and not SKIPPED & set(file.parts):
                yield name


def read(file: str) -> Iterator[Passage]:
    """The passages of a file."""
    path = ROOT / file
    return READERS[path.suffix](file, path.read_text(encoding="utf-8"))
