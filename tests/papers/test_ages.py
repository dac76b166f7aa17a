"""Stored verdicts have a commit, a day and seeds, and are rerun or marked when the quick version's verdict changes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import generate_claims
import site_claims
from tests.papers import snapshots

STORED = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in generate_claims.RESULTS.glob("*.json")}


@pytest.mark.parametrize("name", sorted(STORED))
def test_a_changed_quick_verdict_is_rerun_or_marked(name: str) -> None:
    document = STORED[name]
    changed = generate_claims.changed(document)
    advice = (
        f"rerun `weft reproduce {document['figure']}` and keep it with `python python/generate_claims.py FOLDER`, or "
        f'mark it: `python python/generate_claims.py --older "CHANGE" {document["figure"]}`'
    )
    assert document["older"] == changed, advice
    assert bool(document["older_than"]) >= bool(changed), advice


def test_stored_documents_say_how_they_were_made() -> None:
    for name, document in STORED.items():
        assert re.fullmatch("[0-9a-f]{8}", document["commit"]), name
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", document["date"]), name
        assert document["scale"].startswith("by equations") == (document["seeds"] == 0), name


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A document of one claim with the verdict of its snapshot, in folders of its own."""
    for attribute in ("RESULTS", "SNAPSHOTS"):
        (tmp_path / attribute).mkdir()
        monkeypatch.setattr(generate_claims, attribute, tmp_path / attribute)
    document: dict[str, Any] = STORED["amp-fig02"] | {
        "quick": {"A": True, "B": False, "gone": True},
        "older": [],
        "older_than": "",
    }
    generate_claims.result("amp/fig02").write_text(json.dumps(document))
    snapshot(A=True, B=False)
    return document


def snapshot(**verdicts: bool | None) -> None:
    claims = [{"claim": claim, "holds": holds} for claim, holds in verdicts.items()]
    path = generate_claims.SNAPSHOTS / snapshots.path("amp/fig02").name
    path.write_text(json.dumps({"claims": claims}))


def test_only_other_verdicts_count_as_changed(stored: dict[str, Any]) -> None:
    assert generate_claims.changed(stored) == []
    snapshot(A=True, B=None, new=True)
    assert generate_claims.changed(stored) == []
    snapshot(A=False, B=True)
    assert generate_claims.changed(stored) == ["A", "B"]


def test_a_mark_names_the_change_and_the_claims(stored: dict[str, Any]) -> None:
    snapshot(A=False, B=False)
    generate_claims.mark_older("amp/fig02", "another RTO")
    marked = json.loads(generate_claims.result("amp/fig02").read_text())
    assert (marked["older_than"], marked["older"]) == ("another RTO", ["A"])
    assert marked["claims"] == stored["claims"]
    assert generate_claims.run(marked).endswith(f"{stored['commit']}, older than today's models")
    text = "\n".join(site_claims._older(marked))  # noqa: SLF001 - the part of the page
    assert "Older than another RTO" in text
    assert "    - A" in text


def test_a_stored_document_has_the_commit_of_its_run() -> None:
    """Not that of the tree which stores it; and a run of changes that are not committed has none."""
    commit = generate_claims.head()
    assert generate_claims.commit_of(f"0.2.0.dev7+g{commit[:7]}") == commit
    for version in (f"0.2.0.dev7+g{commit[:7]}.dirty", "0.2.0.dev7+g0000000", "0.2.0"):
        assert generate_claims.commit_of(version) is None
