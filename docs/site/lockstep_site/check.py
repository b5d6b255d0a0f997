"""Checks a finished site: every link, anchor, picture, script and style sheet that it names is there."""

from __future__ import annotations

import posixpath
import re
import sys
from collections import Counter
from pathlib import Path
from urllib.parse import unquote, urldefrag

from lxml import html

_NAMES = {"a": "href", "link": "href", "img": "src", "script": "src", "iframe": "src", "source": "srcset"}
_INDEXED = re.compile(r'^\["([^"]+)"', re.MULTILINE)


class Checker:
    """Reads each page once, for its anchors and for what it names."""

    def __init__(self, site: Path):
        self.site = site
        self._anchors: dict[str, set[str]] = {}
        self._links: list[tuple[str, str, str]] = []  # (page, element, link)
        self._files = {file.relative_to(site).as_posix() for file in site.rglob("*") if file.is_file()}
        for page in sorted(self._files):
            if page.endswith(".html"):
                self._read(page, site / page)

    def _read(self, page: str, file: Path) -> None:
        tree = html.fromstring(file.read_bytes())
        anchors = Counter(element.get("id") for element in tree.iter() if element.get("id"))
        self._anchors[page] = set(anchors)
        self._links += [(page, "id", anchor) for anchor, count in anchors.items() if count > 1]
        for element in tree.iter(*_NAMES):
            link = element.get(_NAMES[element.tag])
            if link is not None:
                self._links.append((page, element.tag, link))

    def problems(self) -> list[str]:
        found = [problem for link in set(self._links) if (problem := self._problem(*link))]
        index = self.site / "search_index.js"
        if index.exists():
            for link in _INDEXED.findall(index.read_text(encoding="utf-8")):
                if problem := self._problem("search_index.js", "a", link):
                    found.append(problem)
        return sorted(set(found))

    def _problem(self, page: str, tag: str, link: str) -> str | None:
        """What is wrong with one link, or None."""
        if tag == "id":
            return f"{page}: two elements have the id {link}"
        if re.match(r"(https?|mailto|data):", link):
            is_loaded = tag != "a" and not link.startswith("data:")
            return f"{page}: <{tag}> loads {link}: the site must not need a network" if is_loaded else None
        target, anchor = urldefrag(unquote(link))
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), target)) if target else page
        if path not in self._files:
            return f"{page}: <{tag}> {link}: there is no {path}"
        if anchor and path.endswith(".html") and anchor not in self._anchors.get(path, set()):
            return f"{page}: <{tag}> {link}: {path} has no anchor {anchor}"
        return None


def main() -> int:
    """Checks the site in the folder that is named; prints a line for each problem."""
    checker = Checker(Path(sys.argv[1]))
    problems = checker.problems()
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
