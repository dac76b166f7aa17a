"""A Matplotlib figure that a notebook shows."""

from __future__ import annotations

from io import BytesIO

from matplotlib.figure import Figure

DOTS_PER_INCH = 144
"""For screens of any density."""


class NotebookFigure(Figure):
    """A figure that a notebook shows as the last value of a cell.

    Of a plain one it would print the name, until something has drawn with `matplotlib.pyplot`.
    """

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """The image, and its size in pixels as it is to be shown."""
        image = BytesIO()
        self.savefig(image, format="png", dpi=DOTS_PER_INCH)
        width, height = self.get_size_inches() * self.dpi
        return image.getvalue(), {"width": round(width), "height": round(height)}
