"""The version of a build: the release, or the commits since the last release and the commit."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

import weft
from tests.command import weft as command
from weft import version

ROOT = Path(__file__).parent.parent


class Clone:
    """A repository whose project has a version."""

    def __init__(self, root: Path, given: str) -> None:
        self.root = root
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit(given)

    def git(self, *arguments: str) -> str:
        who = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
        command = ["git", *who, *arguments]
        done = subprocess.run(command, cwd=self.root, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, given: str) -> str:
        (self.root / "pyproject.toml").write_text(f'[project]\nversion = "{given}"\n')
        self.git("add", ".")
        self.git("commit", "--quiet", "--allow-empty", "--message=change")
        return f"g{self.git('rev-parse', '--short=7', 'HEAD')}"


def test_commits_are_counted_from_the_last_release(tmp_path: Path) -> None:
    clone = Clone(tmp_path, "0.2.0.dev0")
    commit = clone.commit("0.2.0.dev0")
    assert version.describe(tmp_path) == f"0.2.0.dev2+{commit}"
    clone.commit("0.2.0")
    clone.git("tag", "v0.2.0")
    assert version.describe(tmp_path) == "0.2.0"
    (tmp_path / "pyproject.toml").open("a").write("# changed\n")
    assert re.fullmatch(r"0\.2\.0\.post0\+g[0-9a-f]{7,}\.dirty", str(version.describe(tmp_path)))
    commit = clone.commit("0.3.0.dev0")
    clone.git("tag", "another")
    assert version.describe(tmp_path) == f"0.3.0.dev1+{commit}"


def test_a_folder_without_git_has_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Clone(tmp_path, "0.2.0.dev0")
    inner = tmp_path / "inside"
    inner.mkdir()
    (inner / "pyproject.toml").write_text('[project]\nversion = "0.2.0.dev0"\n')
    assert version.describe(inner) is None  # packed sources inside of another repository
    monkeypatch.setenv("PATH", str(inner))
    assert version.describe(tmp_path) is None  # no program `git`


def test_variables_of_git_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clone = Clone(tmp_path, "0.2.0.dev0")
    found = version.describe(tmp_path)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert version.describe(tmp_path) == found
    monkeypatch.delenv("GIT_DIR")
    assert str(found).endswith(clone.git("rev-parse", "--short=7", "HEAD"))


def test_results_name_the_build(spec: Path) -> None:
    here = version.describe(ROOT)
    if here is not None:
        assert here == weft.__version__
    assert command("run", spec.name, "--out", "run", cwd=spec.parent).code == 0
    assert command("sweep", spec.name, "--seeds", "2", "--out", "sweep", cwd=spec.parent).code == 0
    assert command("report", "sweep", "-o", "page.html", cwd=spec.parent).code == 0
    for file in ("run/manifest.json", "sweep/sweep.json"):
        assert json.loads((spec.parent / file).read_text())["version"] == weft.__version__
    assert weft.run(weft.load(spec)).manifest["version"] == weft.__version__
    assert f"Weft {weft.__version__}. " in (spec.parent / "page.html").read_text()
