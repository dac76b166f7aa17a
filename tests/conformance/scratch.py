"""A scratch copy of the repository in which code is changed and tested."""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
FAST_BUILDS = {
    "CARGO_INCREMENTAL": "1",
    "CARGO_PROFILE_TEST_OPT_LEVEL": "1",
    "CARGO_PROFILE_DEV_OPT_LEVEL": "1",
    "CARGO_PROFILE_TEST_DEBUG": "0",
    "CARGO_PROFILE_DEV_DEBUG": "0",
}
"""Settings of cargo with which a change compiles in seconds."""


def environment(folder: Path) -> dict[str, str]:
    """Returns the environment of cargo for the copy in a folder, with its builds next to the copy."""
    return {**os.environ, **FAST_BUILDS, "CARGO_TARGET_DIR": str(folder / "target"), "RUST_BACKTRACE": "0"}


@contextmanager
def copy_of_head(folder: Path) -> Iterator[Path]:
    """Yields a copy of the last commit, in `folder/copy`, and removes it afterwards."""
    copy = folder.resolve() / "copy"
    git = ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--force", "--detach", str(copy), "HEAD"], check=True)
    try:
        yield copy
    finally:
        subprocess.run([*git, "remove", "--force", str(copy)], check=True)
