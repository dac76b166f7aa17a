"""Where results go: a folder that does not exist yet, complete or not there at all."""

from __future__ import annotations

import itertools
import os
import re
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from weft.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Iterator


def choose_folder(given: Path | None, default: str) -> Path:
    """The folder that will hold results: the given one, or else `default`, or else `default-2` and so on.

    Raises:
        OutputError: The given folder exists, or its place cannot be written to.
    """
    if given is None:
        # Part of the name may be a user's: no separators, nothing that a shell reads, and room for the number.
        default = "-".join(re.findall(r"[\w.]*\w", default))[:60]
        names = itertools.chain([default], (f"{default}-{n}" for n in itertools.count(2)))
        folder = next(path for path in map(Path, names) if not os.path.lexists(path))
    else:
        folder = given
        if os.path.lexists(folder):
            raise OutputError(f"--out {folder}: exists already; allowed: a folder that does not exist yet")
    parent = next(path for path in folder.absolute().parents if path.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise OutputError(f"{folder}: cannot be made in {parent}; allowed: a place that can be written to")
    return folder


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A folder to write to under another name, which becomes `folder` when all went well and else vanishes.

    Raises:
        OutputError: The folder cannot be made.
    """
    unfinished = folder.with_name(f".{folder.name}.{os.getpid()}")
    try:
        unfinished.mkdir(parents=True)
        yield unfinished
        unfinished.rename(folder)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
