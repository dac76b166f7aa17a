"""The stored table of `weft reproduce --headlines`: conclusions of the papers, with verdicts from stored results.

`python/generate_claims.py` makes it. It is the file `headlines.json`, so that an installed package can show it.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from weft.errors import UsageError

TABLE = "headlines.json"
"""Name of the stored table in this package."""


def stored_headlines(paper: str | None = None) -> list[dict[str, Any]]:
    """Returns the rows of the stored table, of one paper or of all.

    Raises:
        UsageError: No paper of that name has conclusions.
    """
    text = resources.files("weft_papers").joinpath(TABLE).read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = json.loads(text)
    names = list(dict.fromkeys(row["paper"] for row in rows))
    if paper is not None and paper not in names:
        raise UsageError(f"--headlines: {paper}: a paper without conclusions; allowed: {', '.join(names)}")
    return [row for row in rows if paper in (None, row["paper"])]
