"""The rules of `docs/style.md` that a program can check."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from tests.prose.identifiers import identifiers
from tests.prose.passages import ROOT, Kind, Passage, read

LISTS = Path(__file__).parent
MAX_WORDS = 30
TYPES = ("tutorial", "how-to", "reference", "explanation", "results", "contributing", "decision", "notebook")


@dataclass(frozen=True)
class Finding:
    """A passage that breaks a rule."""

    rule: str
    file: str
    line: int
    problem: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.problem}"


@dataclass(frozen=True)
class Term:
    """A term that prose does not use."""

    pattern: re.Pattern[str]
    replacement: str
    reason: str


def terms() -> tuple[list[Term], frozenset[str], tuple[str, ...]]:
    """The terms of `terms.toml`, the files that may use them, and the patterns of dated pages."""
    document = tomllib.loads((LISTS / "terms.toml").read_text(encoding="utf-8"))
    found = [
        Term(re.compile(term["pattern"], re.IGNORECASE), term["replacement"], term["reason"])
        for term in document["term"]
    ]
    return found, frozenset(document["exempt"]), tuple(document["dated"])


TERMS, EXEMPT, DATED = terms()
ANY_TERM = re.compile("|".join(f"(?:{term.pattern.pattern})" for term in TERMS), re.IGNORECASE)
"""Sentences without any term are the usual case."""


def banned_terms(passage: Passage) -> Iterator[Finding]:
    """Terms of `terms.toml`."""
    if passage.file in EXEMPT:
        return
    for start, sentence in passage.sentences():
        if ANY_TERM.search(sentence) is None:
            continue
        for term in TERMS:
            for found in term.pattern.finditer(sentence):
                problem = f"{found[0]!r}: write {term.replacement} ({term.reason})"
                yield Finding("terms", passage.file, passage.line(start + found.start()), problem)


WORD = re.compile(r"\S*\w\S*")


def long_sentences(passage: Passage) -> Iterator[Finding]:
    """Sentences of more than `MAX_WORDS` words, outside tables, quotations and messages."""
    if passage.kind in (Kind.CELL, Kind.MESSAGE):
        return
    for start, sentence in passage.sentences():
        words = len(WORD.findall(sentence))
        if words > MAX_WORDS:
            problem = f"a sentence of {words} words; at most {MAX_WORDS}: {sentence.strip()[:60]!r}..."
            yield Finding("sentences", passage.file, passage.line(start), problem)


PREPOSITION = re.compile(
    r"^(Of|By|For|As|At|In|On|Onto|Into|To|From|With|Without|Within|Between|Before|After|Until|Since|Per|Through|Under|"
    r"Over|Against|Among|Behind|Beside|Besides|Beyond|During|Below|Above|If|Where|When|While|Because)\b"
)
TAIL = re.compile(r"^(That|Those|Such|Likewise|Which|Whose|Whom|And|Or|Nor|But|Than|Else|Otherwise|Too|So|Not)\b")


def fragments(passage: Passage) -> Iterator[Finding]:
    """Docstrings and doc comments whose first sentence is the tail of another one, or a phrase without its noun."""
    if passage.kind is not Kind.DOC:
        return
    for start, sentence in passage.sentences():
        clause = re.split(r"[;:]", sentence.lstrip("*_ "))[0].strip()
        # "If true, ..." and "For each flow, ..." are whole sentences.
        if TAIL.match(clause) or (PREPOSITION.match(clause) and "," not in clause):
            problem = f"a fragment; begin with a noun or a verb: {sentence.strip()[:60]!r}"
            yield Finding("fragments", passage.file, passage.line(start), problem)
        return


def questions(passage: Passage) -> Iterator[Finding]:
    """Docstrings and comments that are questions."""
    if passage.kind not in (Kind.DOC, Kind.MORE, Kind.COMMENT):
        return
    for start, sentence in passage.sentences():
        if sentence.rstrip("\"')*_ ").endswith("?"):
            problem = f"a question; write 'Whether ...' or a statement: {sentence.strip()[:60]!r}"
            yield Finding("questions", passage.file, passage.line(start), problem)


RULES: tuple[Callable[[Passage], Iterator[Finding]], ...] = (banned_terms, long_sentences, fragments, questions)
ADVICE = frozenset({"sentences"})
"""Rules whose findings are warnings."""


def page_type(file: str) -> Iterator[Finding]:
    """Pages whose front matter names no page type, or an unknown one."""
    if not (file.startswith(("docs/", "research/")) and file.endswith(".md")):
        return
    head = re.match(r"---\n(.*?\n)---\n", (ROOT / file).read_text(encoding="utf-8"), re.DOTALL)
    named = re.search(r"^type: *(\S+) *$", head[1], re.MULTILINE) if head else None
    if named is None:
        yield Finding("page-type", file, 1, f"no 'type:' in the front matter; one of {', '.join(TYPES)}")
    elif named[1] not in TYPES:
        yield Finding("page-type", file, 1, f"type {named[1]!r}; allowed: {', '.join(TYPES)}")


def findings(file: str) -> Iterator[Finding]:
    """All findings of a file."""
    yield from page_type(file)
    for line, problem in identifiers(file, (ROOT / file).read_text(encoding="utf-8")):
        yield Finding("identifiers", file, line, problem)
    if any(fnmatch(file, pattern) for pattern in DATED):
        return
    for passage in read(file):
        for rule in RULES:
            yield from rule(passage)
