"""Reviewed snapshots of what the quick versions of figures measure: one JSON file per figure.

A run is a function of spec and seed, so on one machine a snapshot is met to the last digit. `TOLERANCE` is for other
machines, where another version of the mathematics library or another order of summing changes a last bit. Numbers are
shown with three digits, and the last one may then round the other way (at most 1 %). Words and verdicts have no
tolerance.
"""

from __future__ import annotations

import json
import math
import os
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "snapshots"
RENEW = os.environ.get("WEFT_SNAPSHOTS") == "renew"
"""Write snapshots instead of comparing with them; `make update-snapshots` does so."""
TOLERANCE = 0.02
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]\d+)?")


def path(figure: str) -> Path:
    """A figure's file."""
    return FOLDER / f"{figure.replace('/', '-')}.json"


def of(document: dict[str, Any]) -> dict[str, Any]:
    """The parts of a figure's document that are kept."""
    kept = ("claim", "paper", "measured", "holds")
    return {
        "figure": document["figure"],
        "scale": document["scale"],
        "claims": [{part: claim[part] for part in kept} for claim in document["claims"]],
    }


def renew(document: dict[str, Any]) -> None:
    """Writes a figure's snapshot."""
    FOLDER.mkdir(exist_ok=True)
    text = json.dumps(of(document), indent=2, ensure_ascii=False)
    path(document["figure"]).write_text(f"{text}\n", encoding="utf-8")


def load(figure: str) -> Any:
    """A figure's snapshot."""
    return json.loads(path(figure).read_text(encoding="utf-8"))


def differences(document: dict[str, Any]) -> list[str]:
    """The differences from the snapshot, one line each."""
    before, now = load(document["figure"]), of(document)
    found = [f"scale: was {before['scale']!r}, is {now['scale']!r}"] if before["scale"] != now["scale"] else []
    was, now_is = ({claim["claim"]: claim for claim in each["claims"]} for each in (before, now))
    found += [f"{sentence}: {'new' if sentence in now_is else 'gone'}" for sentence in was.keys() ^ now_is.keys()]
    for sentence in was.keys() & now_is.keys():
        one, two = was[sentence], now_is[sentence]
        same = one["holds"] == two["holds"] and one["paper"] == two["paper"] and alike(one["measured"], two["measured"])
        if not same:
            found.append(f"{sentence}: was {one}, is {two}")
    return found


def alike(one: str, two: str) -> bool:
    """Whether the words are equal and the numbers in them within the tolerance."""
    numbers = (map(float, NUMBER.findall(text)) for text in (one, two))
    return NUMBER.sub("#", one) == NUMBER.sub("#", two) and all(
        math.isclose(a, b, rel_tol=TOLERANCE) for a, b in zip(*numbers, strict=True)
    )
