"""Pages, docstrings, comments, messages and commit subjects follow `docs/style.md`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.prose import baseline
from tests.prose.identifiers import identifiers
from tests.prose.passages import ROOT, files, of_c, of_page, of_python, of_rust
from tests.prose.rules import DATED, LISTS, NAMES, RULES, Finding, findings

STYLE = "docs/style.md"
MAX_SUBJECT = 72
RENEW = "WEFT_PROSE=renew .venv/bin/python -m pytest tests/test_prose.py"


@pytest.fixture(scope="module")
def found() -> list[Finding]:
    return [finding for file in files() for finding in findings(file)]


def counts(found: list[Finding]) -> baseline.Counts:
    by_rule: baseline.Counts = {rule: {} for rule in NAMES}
    for finding in found:
        by_file = by_rule[finding.rule]
        by_file[finding.file] = by_file.get(finding.file, 0) + 1
    return by_rule


def explain(found: list[Finding], allowed: baseline.Counts, refused: list[tuple[str, str]]) -> str:
    lines = []
    for rule, file in refused:
        listed = [str(finding) for finding in found if (finding.rule, finding.file) == (rule, file)]
        lines += [f"{file}: {len(listed)} findings ({rule}); allowed: {allowed[rule].get(file, 0)}", *listed]
    return "\n".join(lines)


def test_prose_follows_the_style(found: list[Finding]) -> None:
    allowed, now = baseline.load(), counts(found)
    if os.environ.get("WEFT_PROSE") == "renew":
        refused = baseline.raised(allowed, now) if baseline.FILE.exists() else []
        baseline.save(baseline.lowered(allowed, now, refused))
        if refused:
            pytest.fail("the baseline only falls:\n" + explain(found, allowed, refused), pytrace=False)
        return
    more = [(rule, file) for rule in NAMES for file, n in now[rule].items() if n > allowed[rule].get(file, 0)]
    if more:
        end = f"\n{STYLE} has the rules. If a file was moved or divided: {RENEW}"
        pytest.fail(explain(found, allowed, more) + end, pytrace=False)
    fewer = sum(now[rule].get(file, 0) < n for rule in NAMES for file, n in allowed[rule].items())
    if fewer:
        warnings.warn(f"{fewer} numbers of the baseline can fall: {RENEW}", stacklevel=1)


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


def some(**terms: int) -> baseline.Counts:
    return {rule: {} for rule in NAMES} | {"terms": terms}


@pytest.mark.parametrize(
    ("before", "after", "refused"),
    [
        (some(a=3, b=1), some(a=2, b=1), []),
        (some(a=3, b=1), some(a=2, b=2), [("terms", "b")]),
        (some(a=3), some(b=3), []),
        (some(a=3), some(a=1, b=2), []),
        (some(a=3), some(a=1, b=3), [("terms", "b")]),
        (some(), some(a=1), [("terms", "a")]),
    ],
)
def test_the_baseline_only_falls(
    before: baseline.Counts, after: baseline.Counts, refused: list[tuple[str, str]]
) -> None:
    assert baseline.raised(before, after) == refused
    after_renewal = baseline.lowered(before, after, refused)["terms"]
    assert sum(after_renewal.values()) <= sum(before["terms"].values())
    assert after_renewal == after["terms"] or refused


COMMITS = tomllib.loads((LISTS / "commits.toml").read_text(encoding="utf-8"))
VERBS = frozenset(COMMITS["verbs"])


def faults(subject: str) -> list[str]:
    """The faults of a commit's subject."""
    if subject in COMMITS["accepted"]:
        return []
    found = [f"{len(subject)} characters; at most {MAX_SUBJECT}"] if len(subject) > MAX_SUBJECT else []
    words = re.sub(r"^[\w./, -]{1,30}: ", "", subject).split()
    if not words or words[0].lower() not in VERBS:
        found.append(f"begins with {words[0] if words else ''!r}, not with a verb of tests/prose/commits.toml")
    return found


def test_faults_of_subjects() -> None:
    assert faults("flow: rename Course to FlowSimulation") == []
    assert faults('Revert "Hot spots are different hosts"') == []
    assert len(faults("Hot spots are different hosts")) == 1
    assert len(faults("flow: renamed Course, which was the name of a simulation, to FlowSimulation")) == 2


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
    wrong = [f"{line}: {fault}" for line in subjects(ROOT) for fault in faults(line.partition(" ")[2])]
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
