"""The numbers of `docs/validation/findings.md` match the stored claims, the decisions and the commands on the page."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest

from weft_papers.paper import find_figures

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "validation" / "findings.md"
STORED = ROOT / "docs" / "claims"
NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?![\w-])")
TYPOGRAPHY = re.compile(r"`[^`]*`|\]\([^)]*\)|\[decision \d+|\bx 8\b|\bp99\b|\bprofile\b|\b2:1\b")
"""Text whose digits are names."""


def stored(figure: str) -> Any:
    return json.loads((STORED / f"{figure.replace('/', '-')}.json").read_text(encoding="utf-8"))


def lines() -> list[str]:
    """The lines of the page outside its front matter, its headings and its blocks of code."""
    text = re.sub(r"^```.*?^```$", "", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return [line.strip() for line in text.splitlines() if not line.startswith("#")]


def sources(line: str) -> list[Path]:
    """The stored claims and the module of each figure, the decisions and the notebook entries that a line names."""
    names = re.findall(r"`([a-z-]+/[a-z0-9-]+)`", line)
    claims = [STORED / f"{name.replace('/', '-')}.json" for name in names]
    modules = [Path(inspect.getfile(cast(ModuleType, find_figures(name)[0].module()))) for name in names]
    return [
        *claims,
        *modules,
        *(PAGE.parent / link for link in re.findall(r"\]\((\.\./\.\./research/(?:decisions|notebook)/[^)]+)\)", line)),
    ]


NUMBERED = [line for line in lines() if NUMBER.search(TYPOGRAPHY.sub(" ", line))]


@pytest.mark.parametrize("line", NUMBERED, ids=lambda line: line[:40])
def test_numbers_are_in_the_sources_that_their_line_names(line: str) -> None:
    texts = [source.read_text(encoding="utf-8") for source in sources(line)]
    # "15 of 16" has a test of its own; sizes of a burst and a flow are conditions of the spec below them.
    counted = {"15", "16"} if "wins 15 of 16" in line else set()
    conditions = {"64", "128"} if not texts else set()
    known = {number for text in texts for number in NUMBER.findall(text)} | counted | conditions
    missing = set(NUMBER.findall(TYPOGRAPHY.sub(" ", line))) - known
    assert missing == set(), f"{line}: {missing}"


def test_a_wrong_number_is_found() -> None:
    line = next(line for line in NUMBERED if "`amp/fig08`" in line)
    with pytest.raises(AssertionError, match=r"123\.4"):
        test_numbers_are_in_the_sources_that_their_line_names(f"{line} 123.4 ms")


def test_spraying_wins_web_search_and_incast() -> None:
    (claim,) = stored("beyond/all-schemes")["claims"]
    best = [part for part in claim["measured"].split("; ") if part.startswith(("web search", "incast"))]
    wins = sum("DCTCP, RPS" in part for part in best)
    assert f"wins {wins} of {len(best)} such results" in PAGE.read_text(encoding="utf-8")
    (other,) = (part for part in best if "DCTCP, RPS" not in part)
    assert "OPN" in other
    assert "spines at 100 Mbps" in other


def measured(figure: str, claim: str) -> str:
    (found,) = (entry["measured"] for entry in stored(figure)["claims"] if entry["claim"].startswith(claim))
    return str(found)


def test_the_advice_on_transports_is_that_of_the_claims() -> None:
    """The numbers in the table of `which-transport.md`, and the order of the schemes that it names."""
    page = (ROOT / "docs" / "explanation" / "which-transport.md").read_text(encoding="utf-8")
    slow = measured("beyond/failures", "Packet spraying suffers most")
    flowlets, sprayed = (
        sorted(float(value) for value in re.findall(rf"{name} ([\d.]+)", slow)) for name in ("flowlets", "RPS")
    )
    kept = [
        f"{values[0]:.0%} to {values[1]:.0%}".replace("%", "", 1).replace("%", " %") for values in (flowlets, sprayed)
    ]
    assert f"flowlets keep {kept[0]} of the goodput, and spraying {kept[1]} |" in page
    assert min(flowlets) > max(float(value) for value in re.findall(r"(?:ECMP|RPS|x 8|MMPTCP) ([\d.]+)", slow))
    failed = measured("beyond/failures", "With 10 % of the links down, multipath recovers sooner")
    tree, leaves = (
        {name: float(value) for name, value in re.findall(r"(ECMP|RPS|flowlets|AMP x 8) (?:at least )?([\d.]+)", part)}
        for part in failed.split("; leaf-spine")
    )
    assert min(tree, key=tree.__getitem__) == "RPS"
    assert min(leaves, key=leaves.__getitem__) == "AMP x 8"
    credit = measured("beyond/sprayed", "Incast: credit of the receiver")
    assert {float(value) for value in re.findall(r"(?:RCCC|NDP) ([\d.]+)", credit)} == {1.02}
    assert "the last flow ends within 1.02 times the optimum" in page


def test_the_page_is_short() -> None:
    assert len(" ".join(lines()).split()) <= 900


def test_results_that_are_older_than_decision_18_are_named() -> None:
    """Those of the simulator's sweeps; runs on a kernel do not depend on the simulator."""
    decision = next((ROOT / "research" / "decisions").glob("0018-*.md")).read_text(encoding="utf-8")
    decided = re.search(r"^- Date: (\S+)$", decision, re.MULTILINE)
    assert decided is not None
    files = [
        file for paper in ("beyond", "warp") for file in STORED.glob(f"{paper}-*.json") if "linux" not in file.stem
    ]
    older = {file.stem.replace("-", "/", 1) for file in files if json.loads(file.read_text())["date"] < decided[1]}
    sentence = next(
        line for line in PAGE.read_text(encoding="utf-8").splitlines() if "are older than [decision 18]" in line
    )
    assert older == set(re.findall(r"`([\w/-]+)`", sentence.partition("are older")[0]))
