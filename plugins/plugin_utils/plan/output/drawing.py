"""Drawing of the plan's pictures (SVG). Text is not measured: its width is estimated."""

from __future__ import annotations

from textwrap import wrap
from xml.sax.saxutils import escape

INK, FAINT, PAPER, FRAME, GROUND = "#1d2733", "#5c6875", "#ffffff", "#c9d1d9", "#f5f7f9"
MARGIN = 28
WIDE = 0.6  # mean width of a character, of its size: DejaVu Sans, the widest of the fonts


class Drawing:
    """Text, boxes and lines. The same calls give the same SVG."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.elements: list[str] = []

    def text(
        self, x: float, y: float, words: str, *, size: int = 12, fill: str = INK, bold: bool = False, end: bool = False
    ) -> None:
        """Write text that begins at ``x``, or with ``end`` ends there."""
        more = (' font-weight="bold"' if bold else "") + (' text-anchor="end"' if end else "")
        self.elements.append(f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{fill}"{more}>{escape(words)}</text>')

    @staticmethod
    def fits(width: float, size: int) -> int:
        """Return how many characters of a text of ``size`` fit into ``width``."""
        return max(1, int(width / (WIDE * size)))

    def paragraph(self, x: float, y: float, words: str, *, size: int, fill: str = INK) -> float:
        """Write text in as many lines as it needs before the right margin. Return where the next one begins."""
        for number, line in enumerate(
            wrap(words, self.fits(self.width - MARGIN - x - 12, size), break_on_hyphens=False)
        ):
            self.text(x + (12 if number else 0), y, line, size=size, fill=fill)
            y += size + 5
        return y

    def box(self, x: float, y: float, w: float, h: float, *, fill: str, stroke: str = "none", radius: int = 3) -> None:
        """Draw a box with rounded corners."""
        place = f'x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}"'
        self.elements.append(f'<rect {place} rx="{radius}" fill="{fill}" stroke="{stroke}"/>')

    def line(self, x1: float, y1: float, x2: float, y2: float, colour: str, *, width: int = 2, dash: str = "") -> None:
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        ends = f'x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"'
        self.elements.append(f'<line {ends} stroke="{colour}" stroke-width="{width}"{dashed}/>')

    def dot(self, x: float, y: float, colour: str, *, fill: str = PAPER) -> None:
        """Draw the dot at the end of a line."""
        self.elements.append(
            f'<circle cx="{x:g}" cy="{y:g}" r="4.5" fill="{fill}" stroke="{colour}" stroke-width="2"/>'
        )

    def document(self, title: str, height: int) -> str:
        """Return the picture as SVG."""
        size = f'width="{self.width}" height="{height}" viewBox="0 0 {self.width} {height}"'
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" {size}',
                '     font-family="DejaVu Sans, Verdana, Helvetica, Arial, sans-serif">',
                f"<title>{escape(title)}</title>",
                f'<rect width="{self.width}" height="{height}" fill="{PAPER}"/>',
                *self.elements,
                "</svg>",
                "",
            ]
        )


def cut(words: str, length: int) -> str:
    """Return the words, cut to ``length`` characters."""
    return words if len(words) <= length else f"{words[: length - 3]}..."
