"""The pages of the book: what belongs where, in which order, and under which address."""

from __future__ import annotations

import functools
import posixpath
import re
from dataclasses import dataclass, field

from lxml import html

from .repository import Repository


@dataclass
class Heading:
    level: int
    anchor: str
    text: str


@dataclass
class Page:
    """One page of the site. `source` is the Markdown file it was made from, or empty."""

    url: str
    title: str
    section: str
    source: str = ""
    kind: str = "text"
    body: html.HtmlElement | None = None
    headings: list[Heading] = field(default_factory=list)
    summary: str = ""
    number: str = ""  # of a chapter or an exercise
    facts: dict[str, str] = field(default_factory=dict)  # "Goal", "Time", "You need"
    data: dict = field(default_factory=dict)  # for the template

    @property
    def label(self) -> str:
        """The title as the navigation has it, where there is little room."""
        return _LABELS.get(self.source) or (self.title.split(":")[0] if self.kind == "chapter" else self.title)


@dataclass
class Section:
    """A part of the book, as the navigation lists it."""

    key: str
    title: str
    pages: list[Page] = field(default_factory=list)


# (key, title), in the order of the navigation.
SECTIONS = [
    ("start", "Start"),
    ("chapters", "Chapters"),
    ("pairs", "Side by side"),
    ("panels", "Moving pictures"),
    ("exercises", "Exercises"),
    ("guides", "Guides"),
    ("clusters", "On a cluster"),
    ("teaching", "For instructors"),
    ("labs", "Labs"),
    ("contributing", "For contributors"),
    ("decisions", "Decisions"),
    ("reference", "Reference"),
]

# Pages in an order of their own; all others of a section follow by path.
_FIRST = [
    "README.md", "docs/learner.md", "chapters/README.md", "exercises/README.md", "docs/pytorch.md", "docs/glossary.md",
    "docs/troubleshooting.md", "docs/own_model/README.md", "common/README.md", "docs/clusters/README.md",
    "docs/instructor.md", "docs/grading.md", "docs/release.md", "docs/labs/README.md", "docs/CONTRIBUTING.md",
    "docs/wire_format.md", "docs/measurements/README.md", "docs/adr/README.md",
]

_LABELS = {"README.md": "Front page", "chapters/README.md": "All chapters", "exercises/README.md": "All exercises"}

_PLACES = [  # the first prefix that fits decides the section
    ("README.md", "start"), ("docs/learner.md", "start"), ("chapters/", "chapters"), ("exercises/", "exercises"),
    ("docs/clusters/", "clusters"), ("docs/labs/", "labs"), ("docs/adr/", "decisions"),
    ("docs/instructor.md", "teaching"), ("docs/grading.md", "teaching"), ("docs/release.md", "teaching"),
    ("docs/CONTRIBUTING.md", "contributing"), ("docs/wire_format.md", "contributing"), ("docs/site/", "contributing"),
    ("docs/measurements/", "contributing"), ("docs/", "guides"), ("common/", "guides"), ("", "contributing"),
]


def url_of(path: str) -> str:
    """The address of a Markdown file's page: that of the file itself, so that links keep their shape."""
    folder, name = posixpath.split(path)
    if path == "README.md":
        return "index.html"
    return posixpath.join(folder, "index.html" if name == "README.md" else name[:-len(".md")] + ".html")


def section_of(path: str) -> str:
    return next(section for prefix, section in _PLACES if path.startswith(prefix))


def is_page(path: str) -> bool:
    """Whether a file becomes a page. Hints are for `./lockstep hint`; the reasons of pairs are part of their pages."""
    return path.endswith(".md") and not path.endswith("/hints.md") and not path.startswith("docs/site/pairs/")


def markdown_pages(repository: Repository) -> list[Page]:
    """A page, still without its text, for each Markdown file; sorted as the book is read."""
    pages = []
    for path in filter(is_page, repository.files):
        page = Page(url=url_of(path), title=path, section=section_of(path), source=path)
        if match := re.fullmatch(r"chapters/(\d\d)_\w+/README\.md", path):
            page.kind, page.number = "chapter", match.group(1)
        pages.append(page)
    pages.sort(key=lambda page: (_FIRST.index(page.source) if page.source in _FIRST else len(_FIRST), page.source))
    return pages


def sections_of(pages: list[Page]) -> list[Section]:
    """The pages by section, without empty sections."""
    sections = [Section(key, title, [page for page in pages if page.section == key]) for key, title in SECTIONS]
    return [section for section in sections if section.pages]


def neighbours(section: Section, page: Page) -> tuple[Page | None, Page | None]:
    """The page before and the page after, within a section."""
    index = next(i for i, other in enumerate(section.pages) if other is page)
    before = section.pages[index - 1] if index > 0 else None
    after = section.pages[index + 1] if index + 1 < len(section.pages) else None
    return before, after


def relative(target: str, page_url: str) -> str:
    """The link from one page of the site to another; `target` may end in `#anchor`."""
    path, mark, anchor = target.partition("#")
    if path == page_url and mark:
        return mark + anchor
    return _path_between(posixpath.dirname(page_url), path) + mark + anchor


@functools.cache  # the navigation asks for the same paths on every page
def _path_between(folder: str, path: str) -> str:
    return posixpath.relpath(path, folder or ".")
