"""The page `docs/explanation/which-transport.md`: each algorithm and transport with its equations, for `make generate`.

Equations and sources come from the heads of `crates/weft-cc/src`, words from `transport_guide.toml`, and pictures from
`draw_pictures.py`.
"""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from weft import _weft

ROOT = Path(__file__).parent.parent
HEADS = ROOT / "crates" / "weft-cc" / "src"
GUIDE = Path(__file__).parent / "transport_guide.toml"
PAGE = "explanation/which-transport.md"
OF_ALGORITHMS = ("title", "about", "use", "avoid")
OF_KINDS = (*OF_ALGORITHMS, "equations", "source")
"""The fields that each table of the guide has; those of an algorithm's head are not in the guide."""
FENCE = re.compile(r"^```math\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def page() -> str:
    """Returns the text of the page."""
    guide = tomllib.loads(GUIDE.read_text(encoding="utf-8"))
    registry = json.loads(_weft.registry())
    parts = [guide["introduction"]]
    for entry in registry["algorithms"]:
        if ":" not in entry["name"]:
            words = _words(guide["algorithms"], f"algorithms.{entry['name']}", OF_ALGORITHMS)
            parts += _section(entry["name"], _head(entry["name"]) | words)
    parts.append(guide["other_kinds"])
    for entry in registry["transports"]:
        if entry["name"] != "tcp":
            words = _words(guide["kinds"], f"kinds.{entry['name']}", OF_KINDS)
            parts += _section(entry["name"], words)
            for name, control in words.get("controls", {}).items():
                parts += _section(name, control)
    return "\n".join(parts)


def _words(tables: dict[str, Any], path: str, needed: tuple[str, ...]) -> dict[str, Any]:
    """Returns a table of the guide.

    Raises:
        SystemExit: the guide lacks the table or some of its fields.
    """
    words: dict[str, Any] = tables.get(path.partition(".")[2], {})
    if missing := [field for field in needed if field not in words]:
        problem = "incomplete" if words else "missing"
        raise SystemExit(f"{path}: {problem} in python/{GUIDE.name}; add {', '.join(missing)}")
    return words


def _head(name: str) -> dict[str, Any]:
    """Returns the source and the equations in the head of an algorithm's file."""
    lines = (HEADS / f"{name.replace('-', '_')}.rs").read_text(encoding="utf-8").split("\n")
    end = next(index for index, line in enumerate(lines) if not line.startswith("//!"))
    head = "\n".join(line.removeprefix("//!").removeprefix(" ") for line in lines[:end])
    # The first sentence, which may name authors "et al.".
    source = re.split(r"(?<!et al)\. (?=[A-Z])", " ".join(head.partition("\n\n")[0].split()))[0]
    # The source of Warp is a page of its own.
    cited = re.search(r"RFC \d|[A-Z][a-z]+( et al\.| and |, )", source)
    return {
        "equations": [line for block in FENCE.findall(head) for line in block.splitlines()],
        "source": source.partition(": ")[2] if cited else "",
    }


def _section(name: str, about: dict[str, Any]) -> Iterator[str]:
    yield f"### {about['title']}\n"
    yield f"{about['about'].strip()}\n"
    for equation in about["equations"]:
        yield f"```math\n{equation}\n```\n"
    if about.get("legend"):
        yield f"{about['legend']}\n"
    yield f"![Windows or rates of two connections by `{name}`, and the queue](../pictures/transports/{name}.svg)\n"
    yield f"- **Use it** if {about['use']}"
    yield f"- **Do not use it** if {about['avoid']}"
    if about["source"]:
        link = f" [Text of the paper]({about['link']})." if "link" in about else ""
        yield f"- **Source:** {_plain(about['source'])}{link}"
    yield ""


def _plain(text: str) -> str:
    """Returns a text of rustdoc without links to items."""
    return re.sub(r"\[(`\w+`)\]", r"\1", text).rstrip(".") + "."
