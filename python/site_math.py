"""Equations of the documentation site, drawn by Matplotlib when the site is made, so that pages need no script.

GitHub draws a block `math` of Markdown by itself.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.textpath import TextPath

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZE = 16
MARGIN = 2
COMMANDS = {Path.MOVETO: "M", Path.LINETO: "L", Path.CURVE3: "Q", Path.CURVE4: "C", Path.CLOSEPOLY: "Z"}


def draw(source: str, *_: object, **__: object) -> str:
    """Returns an equation of TeX as an SVG element, in the colour of the text around it."""
    font = FontProperties(math_fontfamily="cm")
    # Fractions are as large as the text, as in a block of TeX.
    text = source.strip().replace(r"\frac", r"\dfrac")
    # Matplotlib has only the long names of these relations.
    text = re.sub(r"\\([gl])e\b", r"\\\1eq", text)
    path = TextPath((0, 0), f"${text}$", size=SIZE, prop=font)
    box = path.get_extents()
    left, width = box.x0 - MARGIN, box.width + 2 * MARGIN
    top, height = -box.y1 - MARGIN, box.height + 2 * MARGIN
    return (
        f'<svg class="math" role="img" aria-label="{html.escape(source.strip())}" width="{width:.0f}" '
        f'height="{height:.0f}" viewBox="{left:.1f} {top:.1f} {width:.1f} {height:.1f}">'
        f'<path fill="currentColor" d="{"".join(_outline(path))}"/></svg>'
    )


def _outline(path: Path) -> Iterator[str]:
    """Yields the commands of the outline, whose y axis points down in SVG."""
    for points, code in path.iter_segments():
        pairs = zip(points[::2], points[1::2], strict=True)
        yield COMMANDS[code] + ("" if code == Path.CLOSEPOLY else " ".join(f"{x:.1f} {-y:.1f}" for x, y in pairs))
