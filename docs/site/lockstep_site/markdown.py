"""From Markdown to a page: rendered by cmark-gfm, as GitHub does, then given what a book needs."""

from __future__ import annotations

import re
import subprocess
from html import escape

from lxml import html

from . import highlight, panels, rows
from .pages import Heading, Page

_EXTENSIONS = ["table", "strikethrough", "autolink", "tasklist"]


def render(text: str) -> html.HtmlElement:
    """The Markdown's elements, inside one <div>."""
    command = ["cmark-gfm", "--unsafe", "--validate-utf8"]
    for extension in _EXTENSIONS:
        command += ["-e", extension]
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=True)
    return html.fragment_fromstring(done.stdout.decode(), create_parent="div")


def inner_html(element: html.HtmlElement) -> str:
    """What is inside of an element, as HTML."""
    parts = [element.text or ""] + [html.tostring(child, encoding="unicode") for child in element]
    return "".join(parts)


def render_inline(text: str) -> str:
    """One paragraph of Markdown, without the <p>. A number at its start does not begin a list."""
    text = re.sub(r"^(\d+)\. ", r"\1\\. ", text)
    return "".join(inner_html(paragraph) for paragraph in render(text).iter("p"))


def anchor_of(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def fill(page: Page, text: str) -> None:
    """Renders `text` into `page`: body, title, headings, and what a lesson says about itself."""
    body = render(text)
    panels.take_marks(body)
    html.etree.strip_tags(body, html.etree.Comment)
    _take_headings(page, body)
    _take_navigation_line(body)
    _take_facts(page, body)
    _mark_code(body)
    _mark_excerpts(body)
    for table in list(body.iter("table")):
        _drop_empty_headers(table)
        _wrap(table, "scroll", tabindex="0")
    for block in body.iter("details"):
        if block.find("summary") is not None and block.find("summary").text_content().startswith("Predict"):
            block.set("class", "predict")
    paragraph = body.find("p")
    page.summary = " ".join(paragraph.text_content().split()) if paragraph is not None else ""
    page.body = body


def _take_headings(page: Page, body: html.HtmlElement) -> None:
    seen: dict[str, int] = {}
    for element in list(body.iter("h1", "h2", "h3", "h4")):
        text = element.text_content().strip()
        anchor = anchor_of(text)
        count = seen.get(anchor, 0)
        seen[anchor] = count + 1
        if count:
            anchor = f"{anchor}-{count}"
        if element.tag == "h1" and not page.headings:
            page.title = text
            page.data["title_anchor"] = anchor
            page.data["title_html"] = inner_html(element)
            element.drop_tree()
        else:
            element.set("id", anchor)
            page.headings.append(Heading(int(element.tag[1]), anchor, text))
            link = html.fragment_fromstring(f'<a class="anchor" href="#{anchor}" aria-label="Link to this section">#</a>')
            element.append(link)
    page.title = re.sub(r"^(\d\d(?:\.\d)?) ", "", page.title) if page.kind == "chapter" else page.title


def _take_navigation_line(body: html.HtmlElement) -> None:
    """Lessons begin with links to their neighbours, for readers on GitHub. The site has its own."""
    first = body.find("p")
    if first is not None and re.match(r"(Previous|Next|The course)\b.*Next: ?|Previous: ", first.text_content().strip()):
        first.drop_tree()


def _take_facts(page: Page, body: html.HtmlElement) -> None:
    """Turns "**Goal:** ... **Time:** ... **You need:** ..." into a list of facts."""
    for paragraph in body.findall("p")[:2]:
        first = paragraph[0] if len(paragraph) else None
        if first is None or (paragraph.text or "").strip() or first.tag != "strong" or first.text_content() != "Goal:":
            continue
        facts: list[tuple[str, str]] = []
        for child in paragraph:
            label = child.text_content().strip()
            if child.tag == "strong" and label.endswith(":"):
                facts.append((label[:-1], escape(child.tail or "", quote=False)))
            else:
                name, value = facts[-1]
                facts[-1] = (name, value + html.tostring(child, encoding="unicode"))
        rows = "".join(f"<div><dt>{name}</dt><dd>{value.strip()}</dd></div>" for name, value in facts)
        box = html.fragment_fromstring(f'<dl class="facts">{rows}</dl>')
        page.facts = {name: " ".join(html.fromstring(f"<p>{value}</p>").text_content().split()) for name, value in facts}
        paragraph.getparent().replace(paragraph, box)
        return


def _mark_code(body: html.HtmlElement) -> None:
    for block in list(body.iter("pre")):
        inner = block.find("code")
        if inner is None:
            continue
        language = (inner.get("class") or "").removeprefix("language-").split(" ")[0] or (block.get("lang") or "")
        text = inner.text_content().rstrip("\n")
        if language in ("", "text") and highlight.is_session(text):
            content, kind = highlight.session(text), "session"
        else:
            content, kind = highlight.code(text, language).rstrip("\n"), "listing" if language not in ("", "text") else "plain"
        lines = rows.rows(content, text, may_align=kind != "listing")
        box = html.fragment_fromstring(f'<div class="code {kind}"><pre tabindex="0"><code>{lines}</code></pre></div>')
        box.tail = block.tail
        block.getparent().replace(block, box)


def _mark_excerpts(body: html.HtmlElement) -> None:
    """The line above an excerpt, which links to its file, becomes the excerpt's title."""
    for paragraph in list(body.iter("p")):
        after = paragraph.getnext()
        links = paragraph.findall("a")
        if after is None or len(links) != 1 or "code" not in (after.get("class") or "").split():
            continue
        alone = not (paragraph.text or "").strip() and not (links[0].tail or "").strip() and len(paragraph) == 1
        if alone and "#L" in (links[0].get("href") or ""):
            paragraph.set("class", "from")
            after.set("class", after.get("class") + " excerpt")


def _drop_empty_headers(table: html.HtmlElement) -> None:
    """Markdown has no table without a header: an empty one is none, and an empty cell in one heads no column."""
    cells = list(table.iterfind("thead/tr/th"))
    if cells and not any(cell.text_content().strip() for cell in cells):
        table.find("thead").drop_tree()
    for cell in cells:
        if not cell.text_content().strip():
            cell.tag = "td"


def _wrap(element: html.HtmlElement, name: str, **attributes: str) -> None:
    box = html.Element("div", {"class": name, **attributes})
    parent = element.getparent()
    box.tail, element.tail = element.tail, None
    parent.replace(element, box)
    box.append(element)

