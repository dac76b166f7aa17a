"""Generates the manual pages of `weft` from the command itself: `make generate`. The wheel installs them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from typer.core import TyperCommand, TyperGroup

from weft import cli

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "python" / "packaging" / "data" / "share" / "man" / "man1"

EXIT_CODES = {
    0: "Done.",
    2: "Bad input: one line on standard error says where it is, what was given and what is allowed.",
    3: "This machine lacks something that the command needs.",
    70: "A bug in Weft.",
    130: "Stopped by Ctrl-C, SIGTERM or SIGHUP. Finished results are kept and marked partial.",
}


def version() -> str:
    """The version of the next release, without a commit: pages change with releases only."""
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])


def generate() -> dict[str, str]:
    """The text of each page, by the name of its file."""
    command = cli.command()
    assert isinstance(command, TyperGroup)  # noqa: S101 - there are several commands
    context = typer.Context(command, info_name="weft")
    names = command.list_commands(context)
    parts = [command.get_command(context, name) for name in names]
    pages = {"weft.1": "\n".join(_page("weft", command, context, [f"weft-{name}" for name in names])) + "\n"}
    for name, part in zip(names, parts, strict=True):
        assert isinstance(part, TyperCommand)  # noqa: S101 - it is listed, and has no commands of its own
        below = typer.Context(part, info_name=name, parent=context)
        pages[f"weft-{name}.1"] = "\n".join(_page(f"weft-{name}", part, below, ["weft"])) + "\n"
    return pages


def _page(name: str, command: TyperCommand | TyperGroup, context: typer.Context, others: list[str]) -> Iterator[str]:
    about = command.get_short_help_str(200)
    yield f'.TH {name.upper()} 1 "" "Weft {version()}" "Weft"'
    yield from (".SH NAME", f"{name} \\- {_escaped(about.removesuffix('.'))}")
    pieces = " ".join(command.collect_usage_pieces(context))
    yield from (".SH SYNOPSIS", f".B {_escaped(context.command_path)}", _escaped(pieces))
    yield ".SH DESCRIPTION"
    for paragraph in (command.help or "").split("\n\n"):
        yield from (".PP", _escaped(" ".join(paragraph.split())))
    for kind in ("argument", "option"):
        records = [
            parameter.get_help_record(context)
            for parameter in command.get_params(context)
            if parameter.param_type_name == kind
        ]
        if any(records):
            yield f".SH {kind.upper()}S"
        for term, text in filter(None, records):
            yield from (".TP", f".B {_escaped(term)}", _escaped(text))
    if isinstance(command, TyperGroup):
        yield ".SH COMMANDS"
        for part in command.commands.values():
            yield from (".TP", f".B {_escaped(part.name or '')}", _escaped(part.get_short_help_str(200)))
    yield ".SH EXIT STATUS"
    for code, text in EXIT_CODES.items():
        yield from (".TP", f".B {code}", _escaped(text))
    yield ".SH SEE ALSO"
    yield "\n".join(f".BR {_escaped(other)} (1)" for other in others)


def _escaped(text: str) -> str:
    text = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-")
    # A line that begins with one of these would be a request.
    return f"\\&{text}" if text.startswith((".", "'")) else text


if __name__ == "__main__":
    PAGES.mkdir(parents=True, exist_ok=True)
    for old in PAGES.glob("*.1"):
        old.unlink()
    for name, text in generate().items():
        (PAGES / name).write_text(text, encoding="utf-8")
