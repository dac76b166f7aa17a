"""A scratch copy of the repository in which code is changed and tested."""

from __future__ import annotations

import fcntl
import os
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
SCRATCH = ROOT / "target" / "scratch"
FAST_BUILDS = {
    "CARGO_INCREMENTAL": "1",
    "CARGO_PROFILE_TEST_OPT_LEVEL": "1",
    "CARGO_PROFILE_DEV_OPT_LEVEL": "1",
    "CARGO_PROFILE_TEST_DEBUG": "0",
    "CARGO_PROFILE_DEV_DEBUG": "0",
    "CARGO_TARGET_DIR": str(SCRATCH / "target"),
    "RUST_BACKTRACE": "0",
}
"""Settings of cargo with which a change compiles in seconds."""
LARGE = "weft-packet"
"""A crate that takes longer to compile than its tests save by optimised code."""


def environment() -> dict[str, str]:
    """Returns the environment of cargo for the copy, with its builds next to the copy."""
    return {**os.environ, **FAST_BUILDS}


@contextmanager
def copy_of_head() -> Iterator[Path]:
    """Yields a copy of the last commit. The next run finds it and its builds, and updates what differs."""
    SCRATCH.mkdir(parents=True, exist_ok=True)
    with (SCRATCH / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        cargo = SCRATCH / ".cargo" / "config.toml"
        cargo.parent.mkdir(exist_ok=True)
        cargo.write_text(f"[profile.test.package.{LARGE}]\nopt-level = 0\n")
        copy = SCRATCH / "copy"
        if not copy.exists():
            git("clone", "--shared", "--no-checkout", str(ROOT), str(copy))
        git("-C", str(copy), "fetch", "--quiet", str(ROOT), "HEAD")
        git("-C", str(copy), "checkout", "--quiet", "--force", "--detach", "FETCH_HEAD")
        yield copy


def git(*arguments: str) -> None:
    """Runs git.

    Raises:
        subprocess.CalledProcessError: git fails.
    """
    subprocess.run(["git", *arguments], check=True)  # noqa: S607
