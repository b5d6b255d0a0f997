"""A derived program laid against its base: the linear walk of common/workshop/course/derived_file.hpp, once more.

The site must be built without a compiler, so it cannot ask the C++ walk. tests/site/pairs.py compares the two."""

from __future__ import annotations

import re
from dataclasses import dataclass

_HEADER = re.compile(r"// DERIVES FROM (\S+) new<=(\d+) changed<=(\d+)\s*$")
_REASON = re.compile(r"\s*// (NEW|CHANGED):\s*(.*)$")
_TAG = re.compile(r"\s*// (NEW|CHANGED)$")


@dataclass
class Row:
    """One line of the listing; line numbers begin with 1, None where a side has no line."""

    kind: str  # "same", "new", "changed", "gone"; "reason" is a new line that is only a comment
    base: int | None
    derived: int | None
    text: str = ""  # of the derived line, without tag; of a reason, what it says


def header_of(first_line: str) -> tuple[str, int, int] | None:
    """(base, new lines allowed, changed lines allowed), or None where the file is not derived."""
    match = _HEADER.match(first_line)
    return (match.group(1), int(match.group(2)), int(match.group(3))) if match else None


def _read(line: str) -> tuple[str, str]:
    """(kind, text) of a line: the tag is taken off, blanks are collapsed."""
    if match := _REASON.match(line):
        return "reason", match.group(2)
    kind, text = "same", line.strip()
    if text.startswith("// GONE:"):
        kind, text = "gone", text[len("// GONE:"):]
    elif match := _TAG.search(text):
        kind, text = match.group(1).lower(), text[:match.start()]
    return kind, " ".join(text.split())


def _base_lines(lines: list[str]) -> list[tuple[int, str]]:
    """(number, text) of the base's lines; a base that is itself derived is read without its tags."""
    if header_of(lines[0]) is None:
        return [(i + 1, " ".join(line.split())) for i, line in enumerate(lines)]
    read = [(i + 1, *_read(line)) for i, line in enumerate(lines)][1:]
    return [(number, text) for number, kind, text in read if kind not in ("reason", "gone")]


def align(base: list[str], derived: list[str]) -> list[Row]:
    """Walks both files once. Raises ValueError, with the line, where the derived one breaks the rules."""
    left = _base_lines(base)
    rows: list[Row] = []
    cursor = 0

    def take_empty() -> int:
        place = cursor
        while place < len(left) and not left[place][1]:
            rows.append(Row("same", left[place][0], None))
            place += 1
        return place

    for number, line in enumerate(derived[1:], start=2):
        kind, text = _read(line)
        if kind in ("new", "reason"):
            rows.append(Row(kind, None, number, text))
            continue
        if kind == "same" and not text:
            is_in_both = cursor < len(left) and not left[cursor][1]
            rows.append(Row("same", left[cursor][0] if is_in_both else None, number))
            cursor += is_in_both
            continue
        cursor = take_empty()
        if cursor == len(left) or (left[cursor][1] != text) != (kind == "changed"):
            raise ValueError(f"line {number} does not follow its base")
        rows.append(Row(kind, left[cursor][0], number, text))
        cursor += 1
    cursor = take_empty()
    if cursor < len(left):
        raise ValueError(f"the file ends before line {left[cursor][0]} of its base")
    return rows
