"""The index of the search: an entry per section of each page. A script and no JSON file, since pages that were opened
from a disk may load scripts only."""

from __future__ import annotations

import json

from .pages import Page, Section

_MOST_CHARACTERS = 4000  # of one section


def _sections(page: Page) -> list[tuple[str, str, str]]:
    """(anchor, heading, text) of each section, in order."""
    found = [["", "", []]]
    for element in page.body:
        if element.tag in ("h2", "h3", "h4") and element.get("id"):
            heading = "".join(element.itertext()).rstrip("#")
            found.append([element.get("id"), heading, []])
        else:
            found[-1][2].append(" ".join(" ".join(element.itertext()).split()))
    return [(anchor, heading, " ".join(texts)[:_MOST_CHARACTERS]) for anchor, heading, texts in found]


def entries_of(page: Page, section: Section) -> list[list[str]]:
    if page.body is None:
        return []
    title = f"{page.number} {page.title}".strip()
    if page.kind == "panel":
        return [[page.url, section.title, title, "", page.data["text"], page.data["ideas"]]]
    return [[page.url + (f"#{anchor}" if anchor else ""), section.title, title, heading, text]
            for anchor, heading, text in _sections(page) if heading or text]


def script(entries: list[list[str]]) -> str:
    """Sets window.searchIndex; each entry is [address, part of the book, page, heading, text], and of a panel also
    the ideas that it is about."""
    lines = ",\n".join(json.dumps(entry, ensure_ascii=False, separators=(",", ":")) for entry in entries)
    return f"window.searchIndex = [\n{lines}\n];\n"


