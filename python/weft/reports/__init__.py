"""`weft.report`, `weft report`: an HTML page of runs and sweeps that needs no network."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path


def write_report(
    folders: Iterable[str | PathLike[str]] | str | PathLike[str], file: str | PathLike[str], *, of: str | None = None
) -> Path:
    """Writes one page about runs or sweeps, with plots, the fabric and a timeline, and returns its path.

    Args:
        folders: Folders of runs or sweeps.
        file: A new file, whose name usually ends in ".html".
        of: The measure with which a comparison opens, such as "p99 slowdown"; the page can show the others.

    Raises:
        UsageError: A folder is neither, or the page has no such measure.
        OutputError: The file exists, or cannot be written.
        RequirementError: A package of the extra `report` is missing.
    """
    from weft.extras import require
    from weft.output import choose_file, write_file

    require("weft.report", "report")
    from weft.reports import inputs, page
    from weft.reports.factors import Wishes

    chosen = choose_file(Path(file), "weft-report", ".html")
    given = [folders] if isinstance(folders, str) or not hasattr(folders, "__iter__") else folders
    read = inputs.read([Path(folder) for folder in given])
    write_file(chosen, page.write(read, wishes=Wishes(of=of)))
    return chosen
