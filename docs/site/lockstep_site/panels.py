"""Panels: small programs that draw. `<!-- panel: ring -->` in a lesson, above a still picture inside a link to the panel,
puts panels/ring.html there; site.js shows it in a frame. Each panel also has a page of its own, with the site's header.

A panel itself lies in panels/bare, unchanged but for its links: its styles would not go with those of the site."""

from __future__ import annotations

import posixpath
import re
import shutil
from pathlib import Path

from lxml import html

from .links import Resolver
from .pages import Page, relative
from .repository import Repository

FOLDER = "docs/site/panels/"
_MARK = re.compile(r"panel: *(\S+)")


def take_marks(body: html.HtmlElement) -> None:
    """Gives the element below each mark the panel's name; comments are dropped later."""
    for comment in body.iter(html.etree.Comment):
        match = _MARK.fullmatch((comment.text or "").strip())
        below = comment.getnext()
        if match and below is not None:
            below.set("data-panel", match.group(1))


def mark_problems(repository: Repository, source: str) -> list[str]:
    """The marks in the Markdown file `source` that name no panel, or have no picture and link of their panel below."""
    found, lines = [], repository.lines(source)
    names = [Path(path).stem for path in repository.files if path.startswith(FOLDER) and path.endswith(".html")]
    for number, line in enumerate(lines, 1):
        match = re.fullmatch(rf"<!-- {_MARK.pattern} -->", line.strip())
        if not match:
            continue
        name, below = match.group(1), lines[number] if number < len(lines) else ""
        if name not in names:
            found.append(f"{source}:{number}: there is no panel {name}; {FOLDER} has {', '.join(names) or 'none'}")
        elif not re.fullmatch(rf"\[<img [^>]*>\]\([./]*{FOLDER}{name}\.html\)", below.strip()):
            found.append(f"{source}:{number}: the line below is not [<img src=\"...\" alt=\"...\">](...{FOLDER}{name}.html)")
    return found


class Panels:
    """The panels of the repository, and the page of each."""

    def __init__(self, repository: Repository):
        self.repository = repository
        self.pages = {Path(path).stem: self._page_of(path) for path in repository.files
                      if path.startswith(FOLDER) and path.endswith(".html")}
        self._placed: list[tuple[Page, Page]] = []  # (panel, where it stands), as the book is read

    def _page_of(self, path: str) -> Page:
        tree = html.fromstring(self.repository.text(path))
        said = {tag.get("name"): tag.get("content") or "" for tag in tree.iter("meta")}
        name = Path(path).stem
        page = Page(url=f"panels/{name}.html", section="panels", kind="panel", source=path, summary=said.get("description", ""),
                    title=(tree.findtext(".//title") or name).split(" · ")[0].strip())
        texts = [" ".join(element.text_content().split()) for element in tree.xpath("//*[@class='lead'] | //h2 | //main//li")]
        page.data = {"ideas": said.get("keywords", ""), "text": " ".join([page.summary, *texts]), "places": []}
        still = FOLDER + name + ".svg"
        image = f'<img src="{name}.svg" alt="{page.title}: {page.summary}">' if still in self.repository.file_set else page.title
        page.body = html.fragment_fromstring(f'<div><p data-panel="{name}"><a href="{name}.html">{image}</a></p></div>')
        return page

    def place(self, page: Page) -> None:
        """Makes a box of each marked picture of `page`, and notes where it is. Links and pictures are already the site's."""
        if page.body is None:
            return
        heading = ""
        for element in list(page.body.iter("h2", "h3", "p")):
            heading = element.get("id") or heading
            panel = self.pages.get(element.get("data-panel") or "")
            if panel is None:
                continue
            element.tag = "div"
            element.set("class", "panel" if panel is page else "panel in-lesson")
            element.set("data-src", relative(f"panels/bare/{element.get('data-panel')}.html", page.url))
            element.set("data-title", panel.title)
            for figure in element.iter("figure"):
                figure.attrib.pop("tabindex", None)  # the link around it can be reached already
            if panel is page:
                element.find("a").set("href", element.get("data-src"))
                continue
            self._placed.append((panel, page))
            panel.data["places"].append((page, f"{page.url}#{heading}"))
            caption = html.fragment_fromstring(f'<p class="own-page"><a href="{relative(panel.url, page.url)}"></a></p>')
            caption[0].text = f"{panel.title}, on a page of its own"
            element.append(caption)

    def of(self, page: Page) -> list[Page]:
        """The panels that stand in `page`."""
        return [panel for panel, place in self._placed if place is page]

    def in_order(self) -> list[Page]:
        """A page that lists all, then the panels as the lessons come to them."""
        order = [panel for panel, _ in self._placed]
        listed = sorted(self.pages.values(), key=lambda panel: order.index(panel) if panel in order else len(order))
        overview = Page(url="panels/index.html", title="Moving pictures", section="panels", kind="panels")
        overview.data["panels"] = listed
        return [overview, *listed] if listed else []

    def unplaced(self) -> list[str]:
        return [f"{page.source}: no lesson shows this panel: write <!-- panel: {name} --> above its picture"
                for name, page in self.pages.items() if not page.data["places"]]

    def copy(self, resolver: Resolver, out: Path) -> None:
        """Copies the panels. In the repository their links name files, here the pages of these."""
        folder = out / "panels" / "bare"
        folder.mkdir(parents=True)
        for path in self.repository.files:
            if not path.startswith(FOLDER) or path.endswith((".md", ".svg")):
                continue
            target = folder / path.removeprefix(FOLDER)
            if not path.endswith(".html"):
                shutil.copyfile(self.repository.root / path, target)
                continue
            here = f"panels/bare/{target.name}"
            text = re.sub(r'(?<=href=")\.\./[^"]+', lambda match: _at_home(resolver, path, match.group(0), here),
                          self.repository.text(path))
            target.write_text(text, encoding="utf-8")


def _at_home(resolver: Resolver, path: str, link: str, url: str) -> str:
    """Where a link of a panel leads to in the site; as it is where it names a page of the site already."""
    address = resolver.address(path, link)
    return relative(address, url) if address else posixpath.join("..", link)
