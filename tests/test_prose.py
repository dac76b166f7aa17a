"""Page types, commit subjects and hints that install. `make prose` checks the grammar of the pages."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
STYLE = "docs/style.md"
MAX_SUBJECT = 72
LONGER = frozenset({"e33de6d9"})
"""Commits that were merged with a longer subject."""
TYPES = ("tutorial", "how-to", "reference", "explanation", "results", "contributing", "decision", "notebook")


def page_type(text: str) -> str | None:
    """The type that a page's front matter names."""
    head = re.match(r"---\n(.*?\n)---\n", text, re.DOTALL)
    named = re.search(r"^type: *(\S+) *$", head[1], re.MULTILINE) if head else None
    return named[1] if named else None


def test_types_of_pages() -> None:
    pages = [page for folder in ("docs", "research") for page in (ROOT / folder).rglob("*.md")]
    assert len(pages) > 100
    wrong = {str(page.relative_to(ROOT)): page_type(page.read_text(encoding="utf-8")) for page in pages}
    assert {page: found for page, found in wrong.items() if found not in TYPES} == {}
    assert page_type("---\ntitle: home\n---\n\ntype: how-to\n") is None


def faults(subject: str) -> list[str]:
    """The faults of a commit's subject."""
    return [f"{len(subject)} characters; at most {MAX_SUBJECT}"] if len(subject) > MAX_SUBJECT else []


def test_faults_of_subjects() -> None:
    assert faults("flow: rename Course to FlowSimulation") == []
    assert len(faults("flow: rename Course, which was the name of a simulation, to FlowSimulation")) == 1


def subjects(root: Path) -> list[str]:
    """The abbreviated hash and the subject of each commit after the one that introduced the style.

    In a shallow clone the oldest commit seems to be that one.
    """
    git = shutil.which("git")
    if git is None or not (root / ".git").exists():
        pytest.skip("not a git repository")

    def ask(*words: str) -> str:
        command = [git, "-c", f"safe.directory={root}", *words]
        return subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout

    first = ask("log", "--diff-filter=A", "--format=%H", "--", STYLE).split()
    if not first:
        pytest.skip(f"{STYLE} is not committed")
    return ask("log", "--no-merges", "--format=%h %s", f"{first[-1]}..HEAD").splitlines()


def test_commit_subjects() -> None:
    wrong = [
        f"{line}: {fault}"
        for line in subjects(ROOT)
        for fault in faults(line.partition(" ")[2])
        if line[:8] not in LONGER
    ]
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)


def test_subjects_of_clones(tmp_path: Path) -> None:
    git = shutil.which("git") or pytest.skip("no git")
    whole, shallow = tmp_path / "whole", tmp_path / "shallow"
    (whole / "docs").mkdir(parents=True)

    def call(*words: str) -> None:
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        subprocess.run([git, *identity, *words], cwd=whole, check=True, capture_output=True)

    call("init")
    call("commit", "--allow-empty", "--message", "Before")
    (whole / STYLE).touch()
    call("add", ".")
    for subject in ("docs: add the style", "one", "two", "three"):
        call("commit", "--allow-empty", "--message", subject)
    call("clone", "--depth", "3", whole.as_uri(), str(shallow))
    assert [line.split()[1] for line in subjects(whole)] == ["three", "two", "one"]
    assert [line.split()[1] for line in subjects(shallow)] == ["three", "two"]
    with pytest.raises(pytest.skip.Exception):
        subjects(tmp_path)


OLD_HINTS = re.compile(r"pip3? install (?:-\S+ )*[\"'\\]*weft(?![\w-])(?!-)")
"""`weft` on PyPI is another project."""


def test_no_hint_installs_another_project() -> None:
    listed = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "Makefile", "pyproject.toml", "Containerfile")
    sources = (
        path for folder in ("crates", "docs", "examples", "python", "tests") for path in (ROOT / folder).rglob("*.*")
    )
    tracked = [*(ROOT / name for name in listed), *(path for path in sources if path.suffix in {".md", ".py", ".rs"})]
    other = [*ROOT.glob("docs/**/*.ipynb"), *ROOT.glob("python/packaging/**/*.*")]
    hints = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in (*tracked, *other)
        if path.is_file() and path != Path(__file__)
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines()
        if OLD_HINTS.search(line)
    ]
    assert hints == []
    assert OLD_HINTS.search('pip install "weft[pandas]"')
    assert OLD_HINTS.search("pip install weft")
    assert not OLD_HINTS.search("pip install weft-0.1.0-*.whl")
