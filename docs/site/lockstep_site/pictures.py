"""Pictures in light and dark. An SVG of this course asks the system which one it should be. The site has a switch of its
own, so each picture is written twice, once with the colours of either, and the style sheet shows one of them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lxml import html

from .pages import Page, relative

_DARK = re.compile(r"@media \(prefers-color-scheme: dark\)\s*\{")
_VIEW_BOX = re.compile(r'viewBox="[\d.]+ [\d.]+ ([\d.]+) ([\d.]+)"')


def split(svg: str) -> tuple[str, str, str] | None:
    """The text before the rules for dark, these rules, and the text behind; None where there are none."""
    match = _DARK.search(svg)
    if not match:
        return None
    depth, end = 1, match.end()
    while depth:
        depth += {"{": 1, "}": -1}.get(svg[end], 0)
        end += 1
    return svg[:match.start()], svg[match.end():end - 1], svg[end:]


def light_and_dark(svg: str) -> tuple[str, str]:
    """The picture in either set of colours, whatever the system says."""
    parts = split(svg)
    if parts is None:
        return svg, svg
    before, rules, behind = parts
    return before + behind, before + rules + behind


@dataclass
class Picture:
    """A picture's address for each set of colours, and its size."""

    light: str
    dark: str
    width: str = ""
    height: str = ""


def picture_of(path: str, svg: str | None) -> Picture:
    """`path` as it lies in the site; `svg` its text, None for other formats."""
    if svg is None:
        return Picture(path, path)
    match = _VIEW_BOX.search(svg)
    width, height = match.groups() if match else ("", "")
    dark = path[:-len(".svg")] + ".dark.svg" if _DARK.search(svg) else path
    return Picture(path, dark, width, height)


def show(page: Page, pictures: dict[str, Picture]) -> None:
    """Puts a figure with both pictures in place of each <img> that links.py has marked."""
    if page.body is None:
        return
    for element in list(page.body.iter("img")):
        picture = pictures.get(element.get("data-picture") or "")
        if picture is None:
            continue
        figure = figure_of(picture, page.url, element.get("alt") or "")
        figure.tail = element.tail
        parent = element.getparent()
        alone = parent.tag == "p" and len(parent) == 1 and not (parent.text or element.tail or "").strip()
        if alone:
            figure.tail = parent.tail
            parent.getparent().replace(parent, figure)
        else:
            parent.replace(element, figure)


def figure_of(picture: Picture, page_url: str, alternative: str) -> html.HtmlElement:
    """Both pictures in a <figure> that scrolls sideways where the screen is narrow; hidden ones are not read aloud."""
    figure = html.Element("figure", {"class": "picture", "tabindex": "0"})
    both = [(picture.light, "only-light"), (picture.dark, "only-dark")] if picture.light != picture.dark else [
        (picture.light, "")]
    for address, name in both:
        image = html.Element("img", {"src": relative(address, page_url), "alt": alternative, "loading": "lazy"})
        if name:
            image.set("class", name)
        if picture.width:
            image.set("width", picture.width)
            image.set("height", picture.height)
        figure.append(image)
    return figure
