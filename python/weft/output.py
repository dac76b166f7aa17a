"""Folders and files for results: new ones, either complete or absent."""

from __future__ import annotations

import errno
import fcntl
import itertools
import os
import re
import shutil
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from weft.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Iterator


def choose_folder(given: Path | None, default: str) -> Path:
    """Returns the folder for results: the given one, or else `default`, or else `default-2` and so on.

    Raises:
        OutputError: The given folder exists, or its parent cannot be written.
    """
    refuse_standard_output(given)
    if given is None:
        default = file_name(default)
        names = itertools.chain([default], (f"{default}-{n}" for n in itertools.count(2)))
        folder = next(path for path in map(Path, names) if not os.path.lexists(path))
    else:
        folder = given
        if os.path.lexists(folder):
            raise OutputError(f"--out {folder}: exists already; use a new folder")
    try:
        folder.lstat()  # lexists() treats an invalid name as an absent one
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise OutputError(f"{folder}: cannot create: {reason}; use --out DIR") from None
    parent = next(path for path in folder.absolute().parents if path.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise OutputError(f"{folder}: cannot create: {parent} is not a writable folder; use --out DIR")
    return folder


def refuse_standard_output(given: Path | None) -> None:
    """Refuses `-`, which other programs take for standard output.

    Raises:
        OutputError: The path is `-`.
    """
    if given == Path("-"):
        raise OutputError("--out -: results are not written to standard output; use the name of a new folder or file")


def file_name(name: str) -> str:
    """Converts a user's name to a file name.

    It has no separators and nothing that a shell interprets, and leaves room for a number.
    """
    return "-".join(re.findall(r"[\w.]*\w", name))[:60]


PREFIX = ".weft-"
"""Prefix of the names of staging folders, as in the simulator."""


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Creates a staging folder, which is renamed to `folder` if all went well and is removed otherwise.

    Also removes staging folders of killed runs with the same parent.

    Raises:
        OutputError: The folder cannot be created.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(folder.parent)
        with _staging(folder.parent) as (staged, unfinished):
            yield unfinished
            staged.rename(folder)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written: {error.strerror or error}") from None


def choose_file(given: Path | None, default: str, suffix: str) -> Path:
    """Returns the file for results: the given one, or `default` with the suffix, or `default-2` and so on.

    Raises:
        OutputError: The given file exists, or its folder cannot be written.
    """
    refuse_standard_output(given)
    if given is None:
        names = itertools.chain([default], (f"{default}-{n}" for n in itertools.count(2)))
        return next(path for path in (Path(f"{name}{suffix}") for name in names) if not os.path.lexists(path))
    try:
        parent = given.absolute().parent
        writable = parent.is_dir() and os.access(parent, os.W_OK | os.X_OK)
        there = writable and _exists(given)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise OutputError(f"--out {given}: cannot create: {reason}; use another file") from None
    if there:
        raise OutputError(f"--out {given}: exists already; use a new file")
    if not writable:
        raise OutputError(f"--out {given}: cannot create: {parent} is not a writable folder; use another file")
    return given


def _exists(path: Path) -> bool:
    """Returns whether the path exists. Unlike lexists() it raises an error for an invalid name."""
    try:
        path.lstat()
    except FileNotFoundError:
        return False
    return True


@contextmanager
def new_file(file: Path) -> Iterator[Path]:
    """Creates a staging file, which is renamed to `file` if all went well and is removed otherwise.

    Raises:
        OutputError: `file` now exists, or cannot be written.
    """
    try:
        with locked_folder(file.absolute().parent) as unfinished:
            new = unfinished / "new"
            yield new
            try:
                os.link(new, file)  # unlike a rename, this never replaces a file
            except FileExistsError:
                raise
            except OSError:  # the file system has no links
                new.rename(file)
    except (OSError, ValueError) as error:
        reason = (error.strerror or error) if isinstance(error, OSError) else error
        raise OutputError(f"{file}: cannot be written: {reason}") from None


def write_file(file: Path, text: str) -> None:
    """Writes a new file, all or nothing.

    Raises:
        OutputError: The file now exists, or cannot be written.
    """
    with new_file(file) as new:
        new.write_text(text, encoding="utf-8")


@contextmanager
def locked_folder(parent: Path) -> Iterator[Path]:
    """Creates a folder in `parent` that is removed at the end.

    It is locked while it is in use; the kernel releases a lock when its holder ends.
    """
    with _staging(parent) as (_, inside):
        yield inside


@contextmanager
def _staging(parent: Path) -> Iterator[tuple[Path, Path]]:
    """Creates a folder in `parent` that is removed at the end.

    Yields its path and the path of its descriptor.

    Users who may write in `parent` can replace the folder by a link to another one. Files are
    therefore written by the path of the descriptor, which always leads to the folder that was
    created here.
    """
    # Until it is locked, the folder looks abandoned, and another process may lock and remove it.
    while True:
        staging = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        try:
            descriptor = os.open(staging, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except FileNotFoundError:
            continue
        with suppress(BlockingIOError):
            _lock(descriptor)
            if staging.exists():
                break
        os.close(descriptor)
    made = os.fstat(descriptor)
    try:
        if made.st_uid != os.geteuid():
            raise PermissionError(errno.EPERM, "another user has replaced a folder that was just made")
        umask = os.umask(0)
        os.umask(umask)
        os.fchmod(descriptor, 0o777 & ~umask)  # mkdtemp's mode is for the owner only
        inside = Path(f"/proc/self/fd/{descriptor}")
        yield staging, inside if inside.is_dir() else staging
    finally:
        with suppress(OSError):
            there = staging.lstat()
            if (there.st_dev, there.st_ino) == (made.st_dev, made.st_ino):
                shutil.rmtree(staging, ignore_errors=True)
        os.close(descriptor)


def remove_leftovers(parent: Path) -> None:
    """Removes staging folders whose writer has ended."""
    for leftover in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):
            descriptor = os.open(leftover, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if _lock(descriptor):
                    shutil.rmtree(leftover, ignore_errors=True)
            finally:
                os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Returns whether the lock was acquired; False where locks are unsupported.

    Raises:
        BlockingIOError: Another process holds it.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        return False
    return True
