"""Output of the command: a progress bar on standard error, tables and JSON on standard output."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
import sys
import textwrap
import threading
import time
from typing import TYPE_CHECKING, Any, Self

from weft.errors import OutputError, WeftError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rich.progress import Progress

BAR_AFTER = 1.0
"""Seconds before a bar appears; shorter work needs none."""


class OutputClosedError(WeftError):
    """The reader of standard output has closed it.

    Not a BrokenPipeError, which typer turns into an exit code.
    """


LINE_EVERY_S = 60.0
"""Seconds between two lines of progress if standard error is not a terminal."""


class ProgressBar:
    """A bar on standard error that appears after some time. Without a terminal it may print lines instead."""

    def __init__(self, label: str, *, lines: bool = False) -> None:
        """Creates a bar that shows nothing yet.

        Args:
            label: The name of the work.
            lines: Print a line per minute if standard error is not a terminal.
        """
        self._label = one_line(label)
        self._begun = time.monotonic()
        self._bar: Progress | None = None
        self._lines = lines and sys.stderr is not None and not sys.stderr.isatty()
        self._state = (0.0, "")
        self._ended = threading.Event()

    def __enter__(self) -> Self:
        if self._lines:
            threading.Thread(target=self._print_lines, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._bar is not None:
            self._bar.stop()

    def _print_lines(self) -> None:
        while not self._ended.wait(LINE_EVERY_S):
            fraction, note = self._state
            minutes = (time.monotonic() - self._begun) / 60
            print_error(f"{self._label}: {note or 'working'}, {fraction:.0%} after {minutes:.0f} min")

    def show(self, fraction: float, note: str = "") -> None:
        """Shows how much is done, 0 to 1, and a note on the current step."""
        self._state = (fraction, note)
        if self._bar is None:
            if time.monotonic() - self._begun < BAR_AFTER or sys.stderr is None or not sys.stderr.isatty():
                return
            self._bar = self._start()
        self._bar.update(self._bar.task_ids[0], completed=fraction, note=note)

    def _start(self) -> Progress:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
        from rich.progress import TimeRemainingColumn as Remaining

        bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            Remaining(),
            TextColumn("{task.fields[note]}", markup=False),
            console=Console(stderr=True),
            transient=True,
        )
        bar.add_task(self._label, total=1.0, note="")
        bar.start()
        return bar


def warn(line: str) -> None:
    """Prints a warning of one line on standard error."""
    print_error(f"warning: {line}")


def print_json(document: object) -> None:
    """Prints one JSON document; characters that the output cannot show are escaped."""
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(document, indent=2, allow_nan=False)
    _write(text + "\n")


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Prints a table; columns without text are aligned to the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    cells = [list(row) for row in rows]
    table = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD)
    for index, column in enumerate(columns):
        numbers = bool(cells) and all(not isinstance(row[index], str) for row in cells)
        table.add_column(column, justify="right" if numbers else "left", overflow="fold")
    for row in cells:
        table.add_row(*(_cell(value) for value in row))
    # Only a terminal has a width; lines for a file or a pipe are not folded. Rich would end the
    # process if the reader of a pipe has closed it, so Rich writes to a string.
    terminal = sys.stdout is not None and sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if terminal else 200
    text = io.StringIO()
    Console(file=text, width=width, force_terminal=terminal).print(table)
    _write(text.getvalue())


def print_paragraph(heading: str, rows: Mapping[str, str]) -> None:
    """Prints a heading and, indented, a name and a text per row."""
    width = max(60, min(100, shutil.get_terminal_size().columns))
    print_line(heading)
    for name, text in rows.items():
        print_line(textwrap.fill(text, width, initial_indent=f"  {name:10}", subsequent_indent=" " * 12))
    print_line("")


def print_line(text: str) -> None:
    """Prints a line."""
    _write(text + "\n")


def flush() -> None:
    """Checks that everything that was printed has arrived.

    Raises:
        OutputError: Standard output cannot be written.
        OutputClosedError: The reader of a pipe has closed it, as `head` does.
    """
    _write("")


def _write(text: str) -> None:
    if sys.stdout is None:
        raise OutputError("standard output: closed; redirect it to a file, a pipe or a terminal")
    try:
        try:
            sys.stdout.write(text)
        except UnicodeEncodeError as error:
            # An output that is not UTF-8 gets the lines of tables as `-` and other characters as `?`.
            plain = re.sub("[\u2500-\u257f]", "-", text)
            sys.stdout.write(plain.encode(error.encoding, "replace").decode(error.encoding))
        sys.stdout.flush()
    except BrokenPipeError:
        raise OutputClosedError from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise OutputError(f"standard output: cannot be written: {reason}") from None


def print_error(line: str) -> None:
    """Prints one line on standard error, whatever characters the text contains."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            sys.stderr.write(one_line(f"weft: {line}") + "\n")


def one_line(text: str) -> str:
    """Returns the text without line breaks and other characters that cannot be printed."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _cell(value: object) -> str:
    from rich.markup import escape

    if isinstance(value, float):
        return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return escape(str(value))
