"""Source pages: the files that the lessons link to, highlighted, with the linked lines to jump to."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass

from . import highlight
from .links import Wanted
from .pages import Page
from .repository import Repository

_MOST_BYTES = 400_000


@dataclass
class Line:
    number: int
    code: str
    anchors: list[str]  # of the ranges that begin here: "L40-L78"


def source_page(repository: Repository, path: str, anchors: set[str], problems: list[str]) -> Page:
    """One file as a page. An anchor beyond its end is a problem."""
    page = Page(url=f"source/{path}.html", title=posixpath.basename(path), section="source", kind="source")
    page.data = {"path": path, "folder": posixpath.dirname(path), "lines": [], "is_cut": False}
    try:
        text = repository.text(path)
    except UnicodeDecodeError:
        text = "(not a text file)\n"
    if len(text) > _MOST_BYTES:
        text, page.data["is_cut"] = text[:_MOST_BYTES].rsplit("\n", 1)[0], True
    lines = [Line(i + 1, code, []) for i, code in enumerate(highlight.file_lines(path, text))]
    for anchor in sorted(anchors):
        numbers = [int(number) for number in re.findall(r"\d+", anchor)]
        if max(numbers) > len(lines) or numbers != sorted(numbers):
            problems.append(f"{path}#{anchor}: the file has {len(lines)} lines")
        elif "-" in anchor:
            lines[numbers[0] - 1].anchors.append(anchor)
    page.data["lines"] = lines
    page.data["width"] = len(str(len(lines)))
    return page


def folder_page(repository: Repository, folder: str, wanted: Wanted) -> Page:
    """The names in a folder; those that have a page are links."""
    folders, files = repository.children(folder)
    page = Page(url=f"source/{folder}/index.html", title=folder + "/", section="source", kind="folder")
    names = [(f"{name}/", f"source/{folder}/{name}/index.html" if f"{folder}/{name}" in wanted.folders else "")
             for name in folders]
    names += [(name, f"source/{folder}/{name}.html" if f"{folder}/{name}" in wanted.sources else "") for name in files]
    page.data = {"path": folder, "names": names}
    return page
