"""Pages of the documentation site that are not in `docs`: MkDocs calls these functions (`mkdocs.yml`, `make site`)."""

from __future__ import annotations

import json
import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File

import site_claims
import site_math
from generate_claims import result
from weft_papers import FIGURES
from weft_papers.paper import title

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

    from weft_papers.figure import Figure

ROOT = Path(__file__).parent.parent
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
}
"""Pages outside `docs`, by their path in the repository."""
PLOTS = ROOT / "target" / "gallery"
"""The folder of the plots, which the tests of the figures' quick versions make."""
ICON = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="#4051b5" stroke-width="3">
<path d="M4 20V14L20 8V4M20 20V14L4 8V4"/></svg>
"""


def on_config(config: MkDocsConfig) -> None:
    """Lists the pages of claims, so that a new one needs no line in `mkdocs.yml`, and draws equations."""
    fence = {"name": "math", "class": "math", "format": site_math.draw}
    config.mdx_configs["pymdownx.superfences"] = {"custom_fences": [fence]}
    claims = [site_claims.INDEX, *map(site_claims.page, site_claims.papers())]
    _fill(config, "Validation and results", "Claims of the papers", claims)


def _fill(config: MkDocsConfig, section: str, entry: str, pages: list[str]) -> None:
    assert config.nav is not None  # noqa: S101 - mkdocs.yml has one
    entries = next(part[section] for part in config.nav if section in part)
    next(part for part in entries if entry in part)[entry] = pages


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages outside `docs`, the generated ones, and the plots."""
    for path, uri in PAGES.items():
        files.append(File.generated(config, uri, content=(ROOT / path).read_text(encoding="utf-8")))
    files.append(File.generated(config, "command.md", content=_command()))
    for uri, text in site_claims.pages():
        files.append(File.generated(config, uri, content=text))
    files.append(File.generated(config, "validation/plots.md", content="\n".join(_gallery())))
    files.append(File.generated(config, "favicon.svg", content=ICON))
    for figure in FIGURES:
        if _plot(figure).exists():
            files.append(File.generated(config, f"validation/plots/{_file(figure)}", abs_src_path=str(_plot(figure))))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turns links between files of the repository into links between pages, and indents lists as MkDocs wants it."""
    del config, files
    uri = page.file.src_uri
    path = next((path for path, source in PAGES.items() if source == uri), f"docs/{uri}")
    own = _indented(_linked(markdown, posixpath.dirname(path), posixpath.dirname(uri)))
    return f"{own}\n{_results_of_gallery()}" if path == "README.md" else own


def _results_of_gallery() -> str:
    """Returns the first part of the gallery, which the site's front page shows below README."""
    gallery = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    shown = gallery.partition("\n## Results at full size\n")[2].partition("\n## ")[0]
    return f"## Results at full size\n{_linked(shown, 'docs', '')}\n\n[All pictures](gallery.md)\n"


def _linked(markdown: str, folder: str, at: str) -> str:
    def link(match: re.Match[str]) -> str:
        text, target, anchor = match.groups()
        path = posixpath.normpath(posixpath.join(folder, target))
        # A notebook has a page (`site_notebooks.py`).
        page = path.removesuffix(".ipynb") + ".md" if path.endswith(".ipynb") else path
        inside = page.removeprefix("docs/") if page.startswith("docs/") else None
        uri = PAGES.get(path, inside)
        if path == "docs/claims":
            uri = site_claims.INDEX
        # A target without a page is a file of the repository.
        return text if uri is None else f"[{text}]({posixpath.relpath(uri, at or '.')}{anchor or ''})"

    return re.sub(r"\[([^\]]+)\]\(([^)#:\s]+)(#[^)\s]+)?\)", link, markdown)


def _indented(markdown: str) -> str:
    parts = re.split(r"^(```.*?^```)$", markdown, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else re.sub(r"(?m)^ {2,3}(?=\S)", "    ", part) for part in parts)


def _command() -> str:
    import typer
    from typer.cli import get_docs_for_click

    from weft import cli

    command = cli.command()
    text: str = get_docs_for_click(obj=command, ctx=typer.Context(command), name="weft", title="The command `weft`")
    return text


def _gallery() -> Iterator[str]:
    yield "---\nsearch:\n  exclude: true\n---\n\n# Plots of the papers\n"
    yield (
        "All figures that `weft reproduce` makes. The plots here are those of the quick versions, one seed and less "
        "time, as the tests draw them. The verdicts are those of the full size, which "
        "[Claims](../claims.md) lists one by one.\n"
    )
    for paper in dict.fromkeys(figure.paper for figure in FIGURES):
        yield f"## {title(paper)}\n"
        for figure in (figure for figure in FIGURES if figure.paper == paper):
            yield from _shown(figure)


def _shown(figure: Figure) -> Iterator[str]:
    yield f"### {figure.title}\n"
    if _plot(figure).exists():
        yield f"[![{figure.title}](plots/{_file(figure)})](plots/{_file(figure)})\n"
    else:
        yield f"*Not drawn where this page was made.* `weft reproduce {figure.name} --quick` draws it.\n"
    verdicts = result(figure.name)
    if not verdicts.exists():
        yield f"`weft reproduce {figure.name}`. There are no verdicts of the full size yet.\n"
        return
    document: dict[str, Any] = json.loads(verdicts.read_text(encoding="utf-8"))
    judged = [claim["holds"] for claim in document["claims"] if claim["holds"] is not None]
    yield f"{document['caption']}\n"
    target = f"../{site_claims.page(figure.paper)}#{site_claims.anchor(figure.name)}"
    verdict = f"[{sum(judged)} of {len(judged)} claims hold]({target}), {document['scale']}"
    yield f"`weft reproduce {figure.name}`: {verdict}.\n"


def _name(figure: Figure) -> str:
    return figure.name.replace("/", "-")


def _file(figure: Figure) -> str:
    return f"{_name(figure)}.png"


def _plot(figure: Figure) -> Path:
    return PLOTS / _file(figure)
