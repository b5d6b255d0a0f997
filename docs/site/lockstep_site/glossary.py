"""Terms of the glossary: each gets an anchor there, and a link at its first use on each page."""

from __future__ import annotations

import re

from lxml import html

from .pages import Page, relative

GLOSSARY = "docs/glossary.md"
_SECTIONS = {"chapters", "guides", "labs", "exercises", "clusters"}
# Words that pages also use in their everyday sense, so that a link would often explain the wrong one.
_EVERYDAY = {
    "count", "bytes", "context", "window", "stride", "request", "store", "stage", "step", "port", "head", "token",
    "buffer", "channel", "root", "agent", "hub", "progress", "thread", "block", "grid", "event", "binding", "forward",
    "backward", "layer", "generation", "scaling", "segment", "loss", "latency", "bandwidth", "bank", "lane", "judge",
    "barrier", "peer", "reduce", "frame", "kernel", "tree", "star", "mesh", "ring", "rung", "ladder", "transport",
    "sampler", "epoch", "socket", "TCP", "digest", "MPI", "stream", "gather", "scatter", "algorithm bandwidth", "batch",
    "sample", "target", "view", "job", "guard", "handle", "tile", "weight", "parameter", "race", "launch", "padding",
    "shuffle", "schedule", "validation", "query", "key", "value",
}
_NOT_INSIDE = {"a", "code", "pre", "h1", "h2", "h3", "h4", "summary", "figure", "th", "strong", "button", "svg"}


class Glossary:
    """The terms of docs/glossary.md, with what they mean and where they stand."""

    def __init__(self, page: Page | None):
        self._url = page.url if page else ""
        self._entries: dict[str, tuple[str, str]] = {}  # term in lower case -> (anchor, meaning)
        self._exact: dict[str, str] = {}  # the spelling of those with capitals inside: "zero" is not ZeRO
        self.rows: list[list[str]] = []  # for the search: (address, part of the book, page, term, meaning)
        if page is not None and page.body is not None:
            self._read(page.body)
        words = sorted((term for term in self._entries), key=len, reverse=True)
        joined = "|".join(re.escape(word) for word in words)
        self._pattern = re.compile(rf"(?<![\w-])({joined})(?:s|es)?(?![\w-])", re.IGNORECASE) if words else None

    def _read(self, body: html.HtmlElement) -> None:
        for row in body.iter("tr"):
            cells = row.findall("td")
            if len(cells) != 2:
                continue
            name, meaning = (" ".join(cell.text_content().split()) for cell in cells)
            anchor = next((place.get("id") for place in cells[0].iter("a") if place.get("id")), None)
            if anchor is None:
                raise ValueError(f"{GLOSSARY}: the row of '{name}' has no <a id=\"...\"></a>, which links need")
            self.rows.append([f"{self._url}#{anchor}", "Glossary", "Glossary", name, meaning])
            if "(of" in name:  # one of several meanings: which one, a link could not know
                continue
            for term in re.sub(r"\(([^)]*)\)", r", \1", name).split(", "):
                if (term := term.strip()) and term not in _EVERYDAY and "_" not in term:
                    self._entries.setdefault(term.lower(), (anchor, meaning))
                    if term[1:] != term[1:].lower():
                        self._exact[term.lower()] = term

    def link(self, page: Page) -> None:
        """Links the first use of each term in the running text of `page`."""
        if page.body is None or page.section not in _SECTIONS or page.source == GLOSSARY or self._pattern is None:
            return
        self._walk(page, page.body, self._linked_by_hand(page.body))

    def _linked_by_hand(self, body: html.HtmlElement) -> set[str]:
        """The anchors of the glossary to which the author has linked already."""
        name = self._url.rpartition("/")[2]
        addresses = (link.get("href", "").partition("#") for link in body.iter("a"))
        return {anchor for address, _, anchor in addresses if anchor and address.endswith(name)}

    def _walk(self, page: Page, element: html.HtmlElement, used: set[str]) -> None:
        """Texts are replaced from the first to the last, as they are read."""
        if element.tag in _NOT_INSIDE or "code" in (element.get("class") or "").split():
            return
        self._replace(page, element, None, used)
        for child in list(element):
            self._walk(page, child, used)
            self._replace(page, element, child, used)

    def _replace(self, page: Page, parent: html.HtmlElement, before: html.HtmlElement | None, used: set[str]) -> None:
        """Splits one text, that at the start of `parent` or behind `before`, at the terms that are linked."""
        text = (parent.text if before is None else before.tail) or ""
        position, place = 0, 0 if before is None else parent.index(before) + 1
        last = before
        for match in self._pattern.finditer(text):
            anchor, meaning = self._entries[match.group(1).lower()]
            if anchor in used or self._exact.get(match.group(1).lower(), match.group(1)) != match.group(1):
                continue
            used.add(anchor)
            link = html.Element("a", {"class": "term", "href": f"{relative(self._url, page.url)}#{anchor}", "title": meaning})
            link.text = match.group(0)
            _set_text(parent, last, text[position:match.start()])
            parent.insert(place, link)
            last, position, place = link, match.end(), place + 1
        _set_text(parent, last, text[position:])


def _set_text(parent: html.HtmlElement, before: html.HtmlElement | None, text: str) -> None:
    if before is None:
        parent.text = text
    else:
        before.tail = text
