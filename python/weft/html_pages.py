"""Pages of results: HTML that a browser opens from disk and that loads nothing from outside its folder."""

from __future__ import annotations

from weft.stats import digits


def render(template: str, **values: object) -> str:
    """Renders a page from a template in `weft/templates`, with all text escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=PackageLoader("weft", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {"digits": digits, "duration": duration}
    return templates.get_template(template).render(values)


def duration(seconds: float) -> str:
    """Formats a duration, such as "40 s", "12 min" or "1.5 h"."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
