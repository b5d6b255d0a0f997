"""The frame around every page: header, navigation, contents, foot. Templates are Jinja's, in docs/site/templates."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from .markdown import inner_html
from .pages import Page, Section, neighbours, relative

_TEMPLATES = {"front": "front.html", "pair": "pair.html", "source": "source.html", "folder": "folder.html",
              "reference": "reference.html", "reference-index": "reference_index.html", "names": "names.html",
              "panels": "panels.html", "panel": "panel.html", "contents": "contents.html", "chapter": "chapter.html"}


class Frame:
    """Writes pages into the site's folder."""

    def __init__(self, templates: Path, out: Path, sections: list[Section], version: str):
        self._environment = Environment(loader=FileSystemLoader(templates), undefined=StrictUndefined, autoescape=True,
                                        trim_blocks=True, lstrip_blocks=True)
        self._out = out
        self._sections = sections
        self._version = version

    def write(self, page: Page) -> None:
        section = next((section for section in self._sections if any(page is other for other in section.pages)), None)
        before, after = neighbours(section, page) if section and section.key != "reference" else (None, None)
        template = self._environment.get_template(_TEMPLATES.get(page.kind, "text.html"))
        text = template.render(
            page=page, section=section, sections=self._sections, before=before, after=after, version=self._version,
            body=Markup(inner_html(page.body)) if page.body is not None else "",
            contents=[heading for heading in page.headings if heading.level in (2, 3)],
            link=lambda target: relative(target, page.url), html=Markup, **page.data)
        file = self._out / page.url
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
