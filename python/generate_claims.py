"""Keeps the claims of figures in `docs/claims`: `python python/generate_claims.py FOLDER...`.

Each folder is one that `weft reproduce PAPER` or `weft reproduce PAPER/FIGURE` has written, from five seeds or more. A
quick version never replaces one at full size. The claims are re-evaluated from the tables in the folder, so that a
change of words needs no new run. The documentation site has a page of them per paper (`site_claims.py`).
"""

import json
import sys
from pathlib import Path
from typing import Any

import polars as pl

from weft.papers.figure import Scale
from weft.papers.paper import find_figures
from weft.papers.reproduce import judge

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "docs" / "claims"
"""The document of each figure."""


def result(figure: str) -> Path:
    """Where a figure's document is kept."""
    return RESULTS / f"{figure.replace('/', '-')}.json"


def take_over(folder: Path) -> None:
    """Keeps the documents of the figures in a folder that `weft reproduce` has left.

    Raises:
        SystemExit: None, or from fewer seeds; or a quick version would take the place of one at full size.
    """
    if not (folder / "claims.json").exists():
        sys.exit(f"{folder}: has no claims.json; allowed: a folder that `weft reproduce` has written")
    document = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
    for it in document.get("figures", [document]):
        if 0 < it["seeds"] < Scale.seeds:
            sys.exit(f"{folder}: {it['figure']}: {it['scale']}; allowed: {Scale.seeds} seeds or more")
        kept_at = result(it["figure"])
        if is_quick(it) and kept_at.exists() and not is_quick(json.loads(kept_at.read_text(encoding="utf-8"))):
            sys.exit(f"{folder}: {it['figure']}: {it['scale']}; allowed: full size, as in {kept_at}")
        module = find_figures(it["figure"])[0].module()
        claims = judge(module, pl.read_parquet(folder / it["tables"][0]))
        kept = {part: it[part] for part in ("figure", "title", "caption", "scale")}
        kept["claims"] = [claim.document() for claim in claims]
        text = json.dumps(kept | {"version": document["version"]}, indent=2, ensure_ascii=False)
        kept_at.write_text(f"{text}\n", encoding="utf-8")


def is_quick(document: dict[str, Any]) -> bool:
    """Whether a document is that of a quick version."""
    return bool(document["scale"].startswith("quick"))


if __name__ == "__main__":
    RESULTS.mkdir(exist_ok=True)
    for argument in sys.argv[1:]:
        take_over(Path(argument))
