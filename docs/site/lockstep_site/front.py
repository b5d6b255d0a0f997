"""The front page: the README's sections, with the chapters as cards in place of their table."""

from __future__ import annotations

import re
from typing import Callable

from lxml import html

from . import markdown
from .pages import Page


def _sections(body: html.HtmlElement) -> dict[str, list[html.HtmlElement]]:
    """The elements below each heading of level 2, by the heading's anchor; "" for what stands above all."""
    found: dict[str, list[html.HtmlElement]] = {"": []}
    current = ""
    for element in body:
        if element.tag == "h2":
            current = element.get("id") or ""
            found[current] = []
        else:
            found[current].append(element)
    return found


def _teaches(elements: list[html.HtmlElement]) -> dict[str, tuple[str, str]]:
    """What the README's table says of each chapter: number -> (name, what it teaches)."""
    rows = {}
    for element in elements:
        for row in element.iter("tr"):
            cells = row.findall("td")
            if len(cells) == 2 and (match := re.match(r"(\d\d) (.*)", cells[0].text_content())):
                rows[match.group(1)] = (match.group(2), markdown.inner_html(cells[1]))
    return rows


def _first(elements: list[html.HtmlElement], is_meant: Callable[[html.HtmlElement], bool]) -> str:
    """The first of them that is meant, as HTML; "" if none is."""
    return next((html.tostring(element, encoding="unicode", with_tail=False) for element in elements
                 if is_meant(element)), "")


def prepare(page: Page, chapters: list[Page], panels: list[Page]) -> None:
    """Gives the README's page what front.html shows. Its links have been rewritten before."""
    sections = _sections(page.body)
    rows = _teaches(sections.get("chapters", []))
    by_number = {chapter.number: chapter for chapter in chapters}
    cards = []
    for number, (name, teaches) in rows.items():
        chapter = by_number.get(number)
        title = chapter.title if chapter else name.replace("(planned)", "").strip()
        cards.append({"number": number, "title": title, "teaches": teaches, "url": chapter.url if chapter else "",
                      "time": re.split(r" with |[,.:(]", chapter.facts.get("Time", ""))[0] if chapter else "planned"})
    page.kind = "front"
    page.data["cards"] = cards
    page.data["panels"] = panels
    page.data["figure"] = _first(sections.get("chapters", []), lambda element: element.tag == "figure")
    page.data["commands"] = _first(sections.get("two-commands", []), lambda element: "code" in element.classes)
    page.data["parts"] = [
        (anchor, next(heading.text for heading in page.headings if heading.anchor == anchor),
         "".join(html.tostring(element, encoding="unicode") for element in elements))
        for anchor, elements in sections.items() if anchor and anchor != "chapters"]
