"""A Matplotlib figure that a notebook shows."""

from __future__ import annotations

from io import BytesIO

from matplotlib.figure import Figure

DOTS_PER_INCH = 144
"""Resolution for screens of high density."""


class NotebookFigure(Figure):
    """A figure that a notebook shows as the last value of a cell.

    A notebook prints only the name of a plain figure until `matplotlib.pyplot` has drawn something.
    """

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """Returns the image, and the size in pixels at which it is shown."""
        image = BytesIO()
        self.savefig(image, format="png", dpi=DOTS_PER_INCH)
        width, height = self.get_size_inches() * self.dpi
        return image.getvalue(), {"width": round(width), "height": round(height)}
