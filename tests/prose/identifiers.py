"""Names that say nothing: variables `it`, constructors `of`, and modules that are gerunds."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import PurePath

NOUNS = frozenset({"pacing", "pricing", "reordering", "ring", "scheduling", "shifting", "spraying"})
"""Words of the field, which are not gerunds of a function."""
CLOSURE = re.compile(r"\|[^|\n]*\bit\b[^|\n]*\|")
BINDING = re.compile(r"\b(?:let|for) \(?(?:mut )?it\b")
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
CONSTRUCTOR = re.compile(r"\bfn of[(<]")


def identifiers(file: str, text: str) -> Iterator[tuple[int, str]]:
    """Yields the line and the problem of each name."""
    path = PurePath(file)
    stem = (path.parent.name if path.stem in ("mod", "__init__") else path.stem).removeprefix("test_")
    if path.suffix in (".py", ".rs") and stem.endswith("ing") and stem not in NOUNS:
        yield 1, f"the module {stem!r} is a gerund; name what it holds"
    if path.suffix == ".rs":
        for number, line in enumerate(text.split("\n"), 1):
            code = STRING.sub('""', line).split("//")[0]
            if CLOSURE.search(code) or BINDING.search(code):
                yield number, "a variable `it`; name the element"
            if CONSTRUCTOR.search(code):
                yield number, "a function `of`; use `new`, `from_x`, `for_x` or a verb"
    elif path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            bound = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == "it"
            if bound or (isinstance(node, ast.arg) and node.arg == "it"):
                yield getattr(node, "lineno", 1), "a variable `it`; name the element"
