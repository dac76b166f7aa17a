"""Keeps the claims of figures in `docs/claims`: `python python/generate_claims.py FOLDER...`.

Each folder is one that `weft reproduce PAPER` or `weft reproduce PAPER/FIGURE` has written, from five seeds or more. A
quick version never replaces one at full size. The claims are re-evaluated from the tables in the folder, so that a
change of words needs no new run. The documentation site has a page of them per paper (`site_claims.py`).

Every call, also one without folders, writes the words of `weft_papers` into the stored documents. These are a
figure's title and caption and, for each claim, its kind, origin, sentence, day of the reading, fitted settings and
cause. Measured values and notes stay. A stored verdict is removed if the claim is only shown, or if its reading was
fixed after the day of the run: such a claim is not yet rerun. The call also writes `docs/validation/figures.md`, the
table of all figures, and `python/weft_papers/headlines.json`, the table of `weft reproduce --headlines`.

`python python/generate_claims.py --headlines FOLDER` first runs at full size every figure that the table of
conclusions rests on, and then stores them. Each has its own folder in FOLDER/COMMIT, so that a run that was stopped
goes on, but never with figures of another commit.

A stored document has the commit and the day of its run, its seeds, and the verdicts that the quick version had then
(`quick`). If the quick version's verdict on a claim changes, its figure has to be rerun at full size. Until then
`python python/generate_claims.py --older "CHANGE" FIGURE...` marks the stored document as older than that change, and
lists these claims (`older_than`, `older`). The pages show it. `tests/papers/test_ages.py` fails if neither is done.
"""

import json
import re
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from weft_papers import FIGURES
from weft_papers.conclusions import TABLE
from weft_papers.counts import count
from weft_papers.figure import CLAIM_PARTS, Scale
from weft_papers.headlines import HEADLINES
from weft_papers.paper import find_figures
from weft_papers.reproduce import caption, judge
from weft_papers.statement import CAUSES, Kind, statement

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "docs" / "claims"
"""The document of each figure."""
SNAPSHOTS = ROOT / "tests" / "papers" / "snapshots"
"""The verdicts of the quick version of each figure."""
OVERVIEW = ROOT / "docs" / "validation" / "figures.md"
"""The table of all figures."""
HEADLINE_TABLE = ROOT / "python" / "weft_papers" / TABLE
"""The rows of `weft reproduce --headlines`."""
QUICK_ONLY, INDICATIVE = "quick version only", "indicative: "
"""The run of a claim that has no verdict at full size yet, and the words before the verdict of its conclusion."""
MAX_MEASURED, MAX_HEADLINE = 90, 260
"""Maximum lengths of a measured value in that table, and of one that decides a conclusion, in characters."""
SEEDS = re.compile(r" \([^()]* to [^()]*\)")
"""The range of the seeds after a mean, which the table of conclusions leaves out."""


@dataclass(frozen=True, kw_only=True)
class Conclusion:
    """A conclusion that a reader of a paper remembers."""

    paper: str
    """Name of the paper's package, with hyphens."""
    words: str
    """The conclusion in short."""
    number: str
    """The paper's value."""
    claims: Sequence[tuple[str, str, str]]
    """The claims that decide it: figure, claim, and a label of the value, if it needs one."""
    why: str
    """The reason of the verdict, in a sentence."""
    abstract: bool = False
    """Whether the abstract has the conclusion."""

    @staticmethod
    def verdict(holds: Sequence[bool]) -> str:
        """Returns the verdict on a conclusion from those on its claims."""
        return "reproduced" if all(holds) else "partly" if any(holds) else "not"


CONCLUSIONS = [
    Conclusion(**fields)
    for fields in tomllib.loads((ROOT / "python" / "conclusions.toml").read_text(encoding="utf-8"))["conclusions"]
]


def result(figure: str) -> Path:
    """Returns the path of a figure's document."""
    return RESULTS / f"{figure.replace('/', '-')}.json"


def take_over(folder: Path) -> None:
    """Keeps the documents of the figures in a folder that `weft reproduce` has left.

    Raises:
        SystemExit: None, or from fewer seeds, or by a build that is not a commit's; or a quick version would take the
            place of one at full size.
    """
    if not (folder / "claims.json").exists():
        sys.exit(f"{folder}: has no claims.json; allowed: a folder that `weft reproduce` has written")
    document = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
    commit = commit_of(document["version"])
    if commit is None:
        sys.exit(f"{folder}: run by {document['version']}; allowed: a build of a commit of this clone, without changes")
    for figure in document.get("figures", [document]):
        if 0 < figure["seeds"] < Scale.seeds:
            sys.exit(f"{folder}: {figure['figure']}: {figure['scale']}; allowed: {Scale.seeds} seeds or more")
        kept_at = result(figure["figure"])
        if is_quick(figure) and kept_at.exists() and not is_quick(json.loads(kept_at.read_text(encoding="utf-8"))):
            sys.exit(f"{folder}: {figure['figure']}: {figure['scale']}; allowed: full size, as in {kept_at}")
        claims = judge(find_figures(figure["figure"])[0], pl.read_parquet(folder / figure["tables"][0]))
        kept = {part: figure[part] for part in ("figure", "title", "caption", "scale", "date", "seeds")}
        kept |= {"commit": commit, "quick": quick_verdicts(figure["figure"])}
        kept |= {"older_than": "", "older": []}
        kept["claims"] = [claim.document() for claim in claims]
        text = json.dumps(kept | {"version": document["version"]}, indent=2, ensure_ascii=False)
        kept_at.write_text(f"{text}\n", encoding="utf-8")


def run_headlines(folder: Path) -> list[Path]:
    """Runs the figures behind the table of conclusions, shortest first, unless this commit has run them.

    Raises:
        CalledProcessError: A figure failed.
    """
    names = {figure for conclusion in CONCLUSIONS for figure, *_ in conclusion.claims}
    folders = []
    for figure in sorted((figure for figure in FIGURES if figure.name in names), key=lambda figure: figure.seconds):
        out = folder / head() / figure.name.replace("/", "-")
        folders.append(out)
        if not out.exists():
            out.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run((sys.executable, "-m", "weft", "reproduce", figure.name, "--out", out), check=True)
    return folders


def commit_of(version: str) -> str | None:
    """The commit of a build, in 8 digits; None if the clone does not have it, or the build had changes."""
    build = re.fullmatch(r".*\+g([0-9a-f]+)", version)
    command = ("git", "rev-parse", "--quiet", "--verify", "--short=8", f"{build[1]}^{{commit}}" if build else "")
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip() or None


def head() -> str:
    """The commit of the working tree, in 8 digits."""
    command = ("git", "rev-parse", "--short=8", "HEAD")
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def quick_verdicts(figure: str) -> dict[str, bool]:
    """The verdicts of the quick version today, by claim; empty if a kernel measures the figure."""
    path = SNAPSHOTS / result(figure).name
    claims = json.loads(path.read_text(encoding="utf-8"))["claims"] if path.exists() else []
    return {claim["claim"]: claim["holds"] for claim in claims if claim["holds"] is not None}


def changed(document: dict[str, Any]) -> list[str]:
    """The claims of a stored document on which the quick version has another verdict than at the time of the run."""
    then, now = document["quick"], quick_verdicts(document["figure"])
    return [claim for claim in then if claim in now and then[claim] != now[claim]]


def mark_older(figure: str, change: str) -> None:
    """Marks a stored document as older than a change of models, with the claims whose quick verdict has changed."""
    path = result(find_figures(figure)[0].name)
    document = json.loads(path.read_text(encoding="utf-8"))
    document |= {"older_than": change, "older": changed(document)}
    path.write_text(f"{json.dumps(document, indent=2, ensure_ascii=False)}\n", encoding="utf-8")


def is_quick(document: dict[str, Any]) -> bool:
    """Whether a document is that of a quick version."""
    return bool(document["scale"].startswith("quick"))


def annotate(document: dict[str, Any]) -> dict[str, Any]:
    """Returns a stored document with today's title, caption and statements."""
    (figure,) = find_figures(document["figure"])
    claims = []
    for claim in document["claims"]:
        behind = statement(document["figure"], claim["claim"])
        parts = {part: claim[part] for part in (*CLAIM_PARTS, "table")}
        late = behind.fixed is not None and behind.fixed.isoformat() > document["date"]
        if behind.kind is Kind.SHOWN or late:
            parts |= {"holds": None, "by_seed": []}
        claims.append(parts | behind.document(parts["holds"]))
    return document | {"title": figure.title, "caption": caption(figure), "claims": claims}


def annotate_all() -> None:
    """Writes the statements into all stored documents."""
    for figure in FIGURES:
        path = result(figure.name)
        if path.exists():
            document = annotate(json.loads(path.read_text(encoding="utf-8")))
            path.write_text(f"{json.dumps(document, indent=2, ensure_ascii=False)}\n", encoding="utf-8")


def verdict(claim: dict[str, Any]) -> str:
    """The verdict of a stored claim, in words."""
    if claim["holds"] is not None:
        return "holds" if claim["holds"] else "does not hold"
    return "shown" if claim["kind"] == Kind.SHOWN else "no verdict" if claim["fixed"] is None else "not yet rerun"


def run(document: dict[str, Any]) -> str:
    """The day and the commit of a stored document's run, and whether models have changed since."""
    older = ", older than today's models" if document["older_than"] else ""
    return f"{document['date']}, {document['commit']}{older}"


def headlines() -> list[dict[str, Any]]:
    """The rows of the table of conclusions, from the stored documents."""
    return [headline_row(conclusion) for conclusion in CONCLUSIONS]


def headline_row(conclusion: Conclusion) -> dict[str, Any]:
    """A row. A claim that is not yet run at full size has value and verdict of the quick version."""
    measured, holds, older = [], [], False
    runs: dict[str, list[str]] = {}
    for figure, name, label in conclusion.claims:
        document = json.loads(result(figure).read_text(encoding="utf-8"))
        claim = next((each for each in document["claims"] if each["claim"] == name and each["holds"] is not None), None)
        if claim is None:
            quick = json.loads((SNAPSHOTS / result(figure).name).read_text(encoding="utf-8"))["claims"]
            claim = next(each for each in quick if each["claim"] == name)
            runs.setdefault(figure, []).append(QUICK_ONLY)
        else:
            runs.setdefault(figure, []).append(run(document))
            older |= bool(document["older_than"])
        holds.append(claim["holds"])
        measured.append(f"{label}{': ' * bool(label)}{short(SEEDS.sub('', claim['measured']), MAX_HEADLINE)}")
    quick_only = any(QUICK_ONLY in words for words in runs.values())
    return {
        "paper": conclusion.paper,
        "conclusion": conclusion.words,
        "abstract": conclusion.abstract,
        "number": conclusion.number,
        "measured": "; ".join(dict.fromkeys(measured)),
        "verdict": f"{INDICATIVE if quick_only else ''}{conclusion.verdict(holds)}",
        "why": conclusion.why,
        "claims": [{"figure": figure, "claim": name} for figure, name, _ in conclusion.claims],
        "older": older,
        "run": "; ".join(f"{figure}: {' and '.join(dict.fromkeys(words))}" for figure, words in runs.items()),
    }


def short(measured: str, characters: int) -> str:
    """A measured value of at most that length. Stored results have a word that the style has replaced since."""
    return textwrap.shorten(measured.replace(" beside ", " with "), characters, placeholder=" …")


def headline_table() -> Iterator[str]:
    """The table of conclusions in Markdown."""
    heads = ("paper", "conclusion", "paper's value", "Weft's value", "verdict", "why", "run")
    yield row(heads)
    yield f"|{'---|' * len(heads)}"
    for each in headlines():
        words = f"{each['conclusion']}{' (abstract)' if each['abstract'] else ''}"
        cells = (each["number"], each["measured"], each["verdict"], each["why"], each["run"])
        yield row((f"`{each['paper']}`", words, *cells))


def count_table(papers: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """The statements of each paper's documents by origin, verdict and cause; a paper without a name has no column."""
    named = [] if list(papers) == [""] else ["paper"]
    head = (*named, "statements of origin", "judged", "hold", *CAUSES, "claims shown or not yet rerun")
    yield row(head)
    yield f"|{'---|' * len(head)}"
    for paper, documents in papers.items():
        for origin in count(documents):
            # Statements of Weft's own have no cause.
            causes = [str(origin.causes.get(kind, 0)) if "" not in origin.causes else "" for kind in CAUSES]
            name = [f"`{paper}`"] if named else []
            yield row((*name, str(origin.origin), str(origin.judged), str(origin.hold), *causes, str(origin.shown)))


def row(cells: Iterable[str]) -> str:
    """One row of a table in Markdown."""
    escaped = (" ".join(text.split()).replace("|", "\\|").replace("<", "&lt;") for text in cells)
    return f"| {' | '.join(escaped)} |"


def overview() -> str:
    """The text that `docs/validation/figures.md` must have: one line for each figure of the papers."""
    names = dict.fromkeys(name.partition("/")[0] for name in HEADLINES)
    stored = {
        paper: [
            json.loads(result(figure.name).read_text(encoding="utf-8"))
            for figure in FIGURES
            if figure.paper == paper and result(figure.name).exists()
        ]
        for paper in names
    }
    parts = [OVERVIEW_INTRODUCTION, *headline_table(), "", OVERVIEW_COUNTS, *count_table(stored), "", OVERVIEW_HEADING]
    heads = ("figure", "headline", "paper", "here", "verdict", "cause", "statements that hold", "run")
    parts += [row(heads), f"|{'---|' * len(heads)}"]
    parts += [_line(document) for documents in stored.values() for document in documents]
    return "\n".join(parts) + "\n"


def _line(document: dict[str, Any]) -> str:
    headline = next(claim for claim in document["claims"] if claim["claim"] == HEADLINES[document["figure"]])
    counts = count([document])
    cause = headline["cause"]["kind"] if headline["cause"] else ""
    measured = short(headline["measured"], MAX_MEASURED)
    hold = f"{sum(value.hold for value in counts)} of {sum(value.judged for value in counts)}"
    cells = (headline["claim"], headline["paper"], measured, verdict(headline), cause, hold, run(document))
    return row((f"`{document['figure']}`", *cells))


OVERVIEW_INTRODUCTION = """\
---
type: results
search:
  exclude: true
---

<!-- Generated by python/generate_claims.py: do not edit; change the figures instead. -->

# All figures

This page lists what the four papers conclude, and has one line for each of their figures.
[Claims](../claims) has every claim, its sentence in the paper and the cause of each failure.

## Conclusions of the papers

A conclusion is *reproduced* if all claims that decide it hold, *partly* if some do, and *not* if none does.
`weft reproduce --headlines` prints this table, and `make headlines` repeats its runs.
A run is older than today's models if they have changed since and the figure was not rerun.
Where only the quick version has a value, the verdict is *indicative*.
AMP's paper states links of 2 us, and a BDP that takes 5 us.
Its figures 2 to 10 are judged with 5 us, and those of the large fabric with 2 us.
"""
OVERVIEW_COUNTS = """\
The paper of MPTCP_OPN does not say how subflows grow, and no reading gives all of its statements.
LIA without marks is judged, because it loses whole windows, which is the paper's argument.
OPN then has fewer timeouts and shorter times than MPTCP, but longer times than ECMP and RPS with DCTCP.
With DCTCP's cuts for all multipath schemes no flow times out, so that the reason for OPN is gone.
Where paths are slow, OPN's short flows are then far ahead under all workloads; `opn/fig13` and `opn/fig15` show both.

## Statements by paper, origin and cause

- A claim of kind **judged** tests one reading of a statement, which was fixed before the run.
  A claim that is **shown** is another reading and has no verdict.
- The **origin** of a statement is the paper, the paper's statement tested on Linux, or Weft.
- The **cause** of a failure is one of four.
  A *contradiction* is within the paper; the page computes the sum that proves it.
  A value is *not stated*; the page names the one that is needed.
  Weft *differs* from the paper's experiment, and an experiment shows that it matters.
  A cause of these two kinds names a run in which the claim holds, and `make causes` repeats all of them.
  A cause is *open* if none of these is known.
- A statement counts once, whatever the number of claims that judge it.
"""
OVERVIEW_HEADING = """\
## One headline for each figure

The column before the last counts the figure's statements of all origins that hold.
"Older than today's models": models have changed since the run, as the figure's page says.
"""


if __name__ == "__main__":
    RESULTS.mkdir(exist_ok=True)
    match sys.argv[1:]:
        case ["--older", change, *names]:
            for name in names:
                mark_older(name, change)
        case ["--headlines", kept_in]:
            for each in run_headlines(Path(kept_in)):
                take_over(each)
        case given:
            for path in given:
                take_over(Path(path))
    annotate_all()
    HEADLINE_TABLE.write_text(f"{json.dumps(headlines(), indent=2, ensure_ascii=False)}\n", encoding="utf-8")
    OVERVIEW.write_text(overview(), encoding="utf-8")
