"""Lines of code as rows that wrap below themselves, indented, where the screen is narrow."""

from __future__ import annotations

import re

# Columns: a tab, two spaces after a word, or a line that begins far to the right.
_COLUMNS = re.compile(r"\t|\S  +\S|^ {9,}\S")


def is_aligned(line: str) -> bool:
    """True for a line of a table that spaces have aligned: cut in two it could not be read."""
    return _COLUMNS.search(line) is not None


def rows(content: str, text: str, may_align: bool) -> str:
    """A row for each line of `content`, the HTML of `text`; no element of it spans two lines.

    @param text       Without a line break at its end.
    @param may_align  Output or plain text, whose tables keep their lines whole on a narrow screen.
    """
    made = []
    for line, code in zip(text.split("\n"), content.rstrip("\n").split("\n"), strict=True):
        indent = len(line) - len(line.lstrip(" "))
        kind = "row aligned" if may_align and is_aligned(line) else "row"
        style = f' style="--in: {indent}"' if indent else ""
        made.append(f'<span class="{kind}"{style}>{code}\n</span>')
    return "".join(made)
