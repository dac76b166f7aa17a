"""The crate in `templates/transport`: a kind of transport that needs no change of Weft's sources."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEMPLATE = ROOT / "templates" / "transport"


def test_no_file_of_the_tree_names_the_transport() -> None:
    command = ["git", "grep", "--ignore-case", "--files-with-matches", "-E", "stop[-_ ]?and[-_ ]?wait"]
    named = subprocess.run([*command, "--", "crates", "python"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (named.returncode, named.stdout) == (1, "")
    files = [path for path in TEMPLATE.rglob("*.rs") if "target" not in path.parts]
    lines = sum(len(path.read_text().splitlines()) for path in files if path.name in ("lib.rs", "protocol.rs"))
    assert 0 < lines < 200, "CONTRIBUTING calls it short"


@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")
def test_a_copy_builds_runs_and_follows_its_formula(tmp_path: Path) -> None:
    copy = tmp_path / "stop-and-wait"
    shutil.copytree(TEMPLATE, copy, ignore=shutil.ignore_patterns("target"))
    manifest = copy / "Cargo.toml"
    manifest.write_text(manifest.read_text().replace("../../crates", str(ROOT / "crates")))
    shutil.copy(ROOT / "Cargo.lock", copy)
    variables = os.environ | {"CARGO_TARGET_DIR": str(ROOT / "target"), "CARGO_TERM_COLOR": "never"}
    command = ["cargo", "test", "--offline", "--quiet", "--test", "formula"]
    done = subprocess.run(command, cwd=copy, env=variables, capture_output=True, text=True, timeout=3600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"3 passed; 0 failed", done.stdout)
