"""svg.py COLUMNS dark|light <SCREEN >PICTURE

Draws a screen of a terminal, as tmux capture-pane -e prints it, as an SVG. Text stays text;
block characters become rectangles, so that they meet in each font.
"""

import re
import sys
import unicodedata
from html import escape

WIDE, HIGH, EDGE = 8.4, 18, 12
COLOURS = {  # background, text, and the colours 31, 32 and 35
    "dark": ("#0d1117", "#e6edf3", {"31": "#ff7b72", "32": "#3fb950", "35": "#d2a8ff"}),
    "light": ("#ffffff", "#1f2328", {"31": "#cf222e", "32": "#1a7f37", "35": "#8250df"}),
}


def number(n):
    return f"{n:.1f}".removesuffix(".0")


def runs(line, style):
    """Yields the parts of a line with one style: column, width, text, colour, bold. The style
    holds from one line to the next.
    """
    at = 0
    colour, bold = style
    for part in re.split(r"(\x1b\[[0-9;]*m|[▁-█]+|░+| {2,})", line):
        if part.startswith("\x1b"):
            for code in part[2:-1].split(";"):
                if code in ("", "0"):
                    colour, bold = "", False
                elif code == "1":
                    bold = True
                elif code == "39":
                    colour = ""
                elif code in ("31", "32", "35"):
                    colour = code
                elif code != "49":
                    sys.exit(f"unknown style {part!r}")
        elif part:
            columns = sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in part if not unicodedata.combining(c))
            yield at, columns, part, colour, bold
            at += columns
    style[:] = colour, bold


def draw(x, y, columns, text, fill, bold):
    if text[0] == "░":
        return f'<rect x="{number(x)}" y="{y}" width="{number(columns * WIDE)}" height="{HIGH - 3}"{fill} opacity=".22"/>'
    if "▁" <= text[0] <= "█":
        if set(text) == {"█"}:
            return f'<rect x="{number(x)}" y="{y}" width="{number(columns * WIDE)}" height="{HIGH - 3}"{fill}/>'
        bars = []
        for i, c in enumerate(text):
            high = (HIGH - 3) * (ord(c) - ord("▁") + 1) / 8
            bars.append(f"M{number(x + i * WIDE)} {number(y + HIGH - 3 - high)}h{WIDE}v{number(high)}h-{WIDE}z")
        return f'<path d="{"".join(bars)}"{fill}/>'
    blanks = len(text) - len(text.lstrip(" "))
    text, columns = text.strip(" "), columns - blanks - (len(text) - len(text.rstrip(" ")))
    if not text:
        return ""
    weight = ' font-weight="700"' if bold else ""
    return (
        f'<text x="{number(x + blanks * WIDE)}" y="{y + 12}" textLength="{number(columns * WIDE)}"{fill}{weight}>'
        f"{escape(text, quote=False)}</text>"
    )


def main():
    columns, (paper, ink, colours) = int(sys.argv[1]), COLOURS[sys.argv[2]]
    lines = sys.stdin.read().rstrip().split("\n")
    wide, high = number(columns * WIDE + 2 * EDGE), len(lines) * HIGH + 2 * EDGE
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" fill="{ink}"'
        ' font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace" font-size="14">'
    )
    print(f'<rect width="100%" height="100%" rx="6" fill="{paper}"/>')
    style = ["", False]
    for row, line in enumerate(lines):
        parts = []
        for at, n, text, colour, bold in runs(line, style):
            fill = f' fill="{colours[colour]}"' if colour else ""
            parts.append(draw(EDGE + at * WIDE, EDGE + row * HIGH, n, text, fill, bold))
        if any(parts):
            print("".join(parts))
    print("</svg>")


main()
