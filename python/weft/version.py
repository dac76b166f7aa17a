"""The version of this build: `0.2.0` if it is a release, otherwise such as `0.2.0.dev993+g9988197`.

A tag such as `v0.2.0` makes a release of the commit. Other commits are counted from the last release on. `.dirty` at
the end means changes that are not committed. In a clone Git tells, so that a new commit compiles nothing again. A wheel
and packed sources contain the answer of Git in a file. Without both, the commit is unknown: `0.2.0.dev0`.
"""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from importlib import metadata
from pathlib import Path

FILE = Path(__file__).with_name("version.txt")
"""Written when a wheel or sources are packed; not in the repository."""

_TIMEOUT_S = 10


def describe(root: Path) -> str | None:
    """Returns the version of a clone, or None if the folder is not the root of a clone of Weft."""
    if not (root / ".git").exists() or not (root / "pyproject.toml").exists():
        return None
    given = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    try:
        dirty = _git(root, "describe", "--always", "--exclude=*", "--abbrev=7", "--dirty")
        tagged = _git(root, "describe", "--tags", "--match=v[0-9]*", "--long", "--always")
        tag = re.fullmatch(r"v(.*)-(\d+)-g[0-9a-f]+", tagged)
        commits = int(tag[2]) if tag else int(_git(root, "rev-list", "--count", "HEAD"))
    except (OSError, subprocess.SubprocessError):
        return None
    commit, _, changed = dirty.partition("-")
    if tag and tag[1] == given and commits == 0 and not changed:
        return tag[1]
    number, development, _ = given.partition(".dev")
    return f"{number}{development or '.post'}{commits}+g{commit}{'.dirty' if changed else ''}"


def _git(root: Path, *arguments: str) -> str:
    # In a hook Git's variables name the repository of the hook. Without locks other programs never wait.
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", *arguments],  # noqa: S607
        cwd=root,
        env=env | {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=True,
        timeout=_TIMEOUT_S,
    )
    return done.stdout.strip()


def _find() -> str:
    root = Path(__file__).parents[2]
    found = describe(root)
    if found is not None:
        return found
    if FILE.exists():
        return FILE.read_text(encoding="ascii").strip()
    return metadata.version("weft-sim")


def __getattr__(name: str) -> str:
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = _find()
    return found
