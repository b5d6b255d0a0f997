"""Links between Markdown files become links between the site's pages; links to code open highlighted source pages."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field

from lxml import html

from .pages import Page, relative
from .repository import Repository

_RANGE = re.compile(r"L(\d+)(?:-L(\d+))?$")
_PICTURES = (".svg", ".png", ".jpg")


@dataclass
class Wanted:
    """What the pages link to, beside one another."""

    sources: dict[str, set[str]] = field(default_factory=dict)  # path -> line anchors, "L40" or "L40-L78"
    folders: set[str] = field(default_factory=set)
    pictures: set[str] = field(default_factory=set)

    def source(self, path: str, anchor: str = "") -> str:
        """The address of a source page, which will be made."""
        anchors = self.sources.setdefault(path, set())
        if _RANGE.match(anchor):
            anchors.add(anchor)
        return f"source/{path}.html" + (f"#{anchor}" if anchor else "")


class Resolver:
    """Knows the address of everything that a Markdown file may link to."""

    def __init__(self, repository: Repository, pages: list[Page], problems: list[str]):
        self.repository = repository
        self.wanted = Wanted()
        self.problems = problems
        self._pages = {page.source: page for page in pages if page.source}

    def address(self, source: str, link: str) -> str | None:
        """Where `link`, written in the Markdown file `source`, leads to: an address from the site's root."""
        path, mark, anchor = link.partition("#")
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), path)) if path else source
        target = "" if target == "." else target
        if target in self._pages:
            return self._pages[target].url + mark + anchor
        if posixpath.join(target, "README.md") in self._pages and target in self.repository.folders:
            return self._pages[posixpath.join(target, "README.md")].url + mark + anchor
        if target in self.repository.file_set:
            if target.endswith(_PICTURES):
                self.wanted.pictures.add(target)
                return target
            if target.startswith("docs/site/panels/") and target.endswith(".html"):
                return target.removeprefix("docs/site/")  # a panel is a page of the site
            return self.wanted.source(target, anchor)
        if target in self.repository.folders:
            self.wanted.folders.add(target)
            return f"source/{target}/index.html"
        return None

    def rewrite(self, page: Page) -> None:
        """Points all links and pictures of a page's body at the site."""
        if page.body is None or not page.source:
            return
        for element in page.body.iter("a"):
            if element.get("href") is not None:  # else it is only a place to link to
                self._rewrite_link(page, element)
        for element in list(page.body.iter("img")):
            self._rewrite_picture(page, element)

    def _rewrite_link(self, page: Page, element: html.HtmlElement) -> None:
        link = element.get("href")
        if re.match(r"[a-z]+:", link):
            element.set("rel", "external")
            return
        if link.startswith("#"):
            return
        address = self.address(page.source, link)
        if address is None:
            self._report(page, link)
            element.tag = "span"
            del element.attrib["href"]
            return
        element.set("href", relative(address, page.url))

    def _rewrite_picture(self, page: Page, element: html.HtmlElement) -> None:
        link = element.get("src") or ""
        address = self.address(page.source, link)
        if address is None or not address.endswith(_PICTURES):
            self._report(page, link)
            return
        element.set("data-picture", address)

    def _report(self, page: Page, link: str) -> None:
        self.problems.append(f"{page.source}: {link} leads nowhere")
