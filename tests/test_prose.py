"""Pages, docstrings, comments, messages and commit subjects follow `docs/style.md`."""

from __future__ import annotations

import re
import shutil
import subprocess
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.prose.identifiers import identifiers
from tests.prose.passages import ROOT, files, of_c, of_page, of_python, of_rust
from tests.prose.rules import ADVICE, DATED, RULES, findings

STYLE = "docs/style.md"
MAX_SUBJECT = 72
LONGER = frozenset({"e33de6d9"})
"""Commits that were merged with a longer subject."""


def test_prose_follows_the_style() -> None:
    found = [finding for file in files() for finding in findings(file)]
    advice = [finding for finding in found if finding.rule in ADVICE]
    if advice:
        warnings.warn("\n".join(map(str, advice)), stacklevel=1)
    if wrong := [str(finding) for finding in found if finding.rule not in ADVICE]:
        pytest.fail("\n".join([*wrong, f"{STYLE} has the rules."]), pytrace=False)


def rules_of(passages: Iterator[object]) -> list[tuple[str, int]]:
    return [(value.rule, value.line) for passage in passages for rule in RULES for value in rule(passage)]  # type: ignore[arg-type]


LONG = " ".join(["Word"] + ["word"] * 30)


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("A link has no home.\n", [("terms", 1)]),
        ("One line.\n\nA link\nis no folder.\n", [("terms", 4)]),
        ("`home` is code: the home directory.\n", []),
        ("```\na home\n```\n", []),
        (f"Short.\n{LONG}.\n", [("sentences", 2)]),
        (f"| {LONG} |\n> {LONG}\n", []),
        (f"- {LONG[:80]}\n- {LONG[:80]}\n", []),
        ("Is this a question? It may be one.\n", []),
        ("What it prints is this.\n", [("terms", 1)]),
        ("---\ntitle: home\n---\n\nText.\n", []),
    ],
)
def test_findings_of_pages(page: str, expected: list[tuple[str, int]]) -> None:
    assert rules_of(of_page("docs/page.md", page)) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('"""That make it again."""\n', [("fragments", 1)]),
        ('"""Returns it."""\n\nX = 1\n"""Of a group."""\n', [("fragments", 4)]),
        ('"""For each flow, its rate."""\n', []),
        ('"""Data.\n\nIs it ours?\n"""\n', [("questions", 3)]),
        (f'"""Data.\n\nArgs:\n    a: {LONG[:90]}\n    b: {LONG[:90]}\n"""\n', []),
        ('x = 1  # nobody reads it\ny = "nobody reads this message"\n', [("terms", 2), ("terms", 1)]),
    ],
)
def test_findings_of_python(source: str, expected: list[tuple[str, int]]) -> None:
    assert rules_of(of_python("python/weft/module.py", source)) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("/// Of a program.\nstruct X;\n", [("fragments", 1)]),
        ("//! Data.\n//!\n//! Is it found?\n", [("questions", 3)]),
        ("/// Data, in bytes.\n/// Nobody reads it.\nx: u8,\n", [("terms", 2)]),
        ("// beside the loop\nlet y = 1; // beside it\n", [("terms", 1), ("terms", 2)]),
        ('let z = "the flow is no flow of ours";\n', [("terms", 1)]),
        ("/// ```\n/// let home = 1;\n/// ```\n", []),
    ],
)
def test_findings_of_rust(source: str, expected: list[tuple[str, int]]) -> None:
    assert rules_of(of_rust("crates/a/src/lib.rs", source)) == expected


@pytest.mark.parametrize(
    ("file", "source", "lines"),
    [
        ("crates/a/src/lib.rs", "let x = y.map(|it| it + 1);\nfn of(x: u8) {}\n// |it|\n", [1, 2]),
        ("crates/a/src/retiring.rs", "", [1]),
        ("crates/a/src/ring.rs", "for link in links {}\n", []),
        ("python/weft/a.py", "x = [it for it in y]\nz = lambda it: it\n", [1, 2]),
    ],
)
def test_identifiers(file: str, source: str, lines: list[int]) -> None:
    assert [line for line, _ in identifiers(file, source)] == lines


def test_findings_of_c() -> None:
    source = "int x; /* has not heard\n * of it, nobody has */\n"
    assert rules_of(of_c("crates/weft-bpf/src/a.h", source)) == [("terms", 1), ("terms", 2)]


def test_dated_pages_have_no_findings() -> None:
    pages = [path.relative_to(ROOT).as_posix() for pattern in DATED for path in ROOT.glob(pattern)]
    assert len(pages) > len(DATED)
    assert [finding for page in pages for finding in findings(page)] == []


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
    tracked = [ROOT / page for page in (*files(), "Makefile", "pyproject.toml", "Containerfile")]
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
