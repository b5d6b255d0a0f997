"""The whole site, from the repository to a folder of pages."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from . import doxygen, front, markdown, pairs, pictures, search, sources
from .check import Checker
from .frame import Frame
from .glossary import GLOSSARY, Glossary
from .links import Resolver
from .pages import Page, markdown_pages, sections_of
from .panels import Panels, mark_problems
from .reference import Reference
from .repository import Repository


@dataclass
class Result:
    page_count: int
    problems: list[str]
    is_release: bool


def build(root: Path, out: Path) -> Result:
    """Writes the site into `out` and Doxygen's files beside it, into `doxygen`; it empties both first.

    Raises DocumentationError for comments that are not true."""
    repository = Repository(root)
    headers = doxygen.public_headers(repository)
    xml = doxygen.run(root, headers, out.parent / "doxygen")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    problems: list[str] = []
    texts = markdown_pages(repository)
    for page in texts:
        markdown.fill(page, repository.text(page.source))
        problems += mark_problems(repository, page.source)
    resolver = Resolver(repository, texts, problems)
    panels = Panels(repository)
    illustrated = texts + list(panels.pages.values())
    for page in illustrated:
        resolver.rewrite(page)
    _write_pictures(repository, illustrated, resolver.wanted.pictures, out)
    for page in illustrated:
        panels.place(page)
    problems += panels.unplaced()
    glossary = Glossary(next((page for page in texts if page.source == GLOSSARY), None))
    for page in texts:
        glossary.link(page)

    panels.copy(resolver, out)
    derived = [page for path in pairs.derived_files(repository) if (page := pairs.pair_page(repository, path, problems))]
    for page in derived:
        resolver.wanted.source(page.data["path"])
        resolver.wanted.source(page.data["base_path"])
    reference = Reference(repository, xml, headers, resolver.wanted)
    pages = texts + derived + panels.in_order() + reference.pages()
    _relate(pages, reference, panels)
    _finish(repository, pages, glossary.rows + reference.entries(), reference.urls(), resolver, out, problems)
    problems += Checker(out).problems()
    return Result(len(list(out.rglob("*.html"))), problems, repository.is_release)


def _write_pictures(repository: Repository, pages: list[Page], wanted: set[str], out: Path) -> None:
    shown: dict[str, pictures.Picture] = {}
    for path in sorted(wanted):
        svg = repository.text(path) if path.endswith(".svg") else None
        picture = shown[path] = pictures.picture_of(path, svg)
        for address in {picture.light, picture.dark}:
            (out / address).parent.mkdir(parents=True, exist_ok=True)
        if svg is None:
            shutil.copyfile(repository.root / path, out / path)
            continue
        light, dark = pictures.light_and_dark(svg)
        (out / picture.dark).write_text(dark, encoding="utf-8")
        (out / picture.light).write_text(light, encoding="utf-8")
    for page in pages:
        pictures.show(page, shown)


def _relate(pages: list[Page], reference: Reference, panels: Panels) -> None:
    """What a chapter's page lists at its end: its panels, its pairs, its exercises, its headers."""
    for page in pages:
        if page.kind != "chapter":
            continue
        folder = page.source.split("/")[1]
        page.data["panels"] = panels.of(page)
        page.data["pairs"] = [other for other in pages if other.section == "pairs" and other.number == page.number]
        page.data["exercises"] = [other for other in pages if other.source.startswith(f"exercises/{folder}/")]
        page.data["library"] = [(header.name, header.url) for header in reference.headers if header.module == folder]


def _finish(repository: Repository, pages: list[Page], words: list[list[str]], documented: dict[str, str],
            resolver: Resolver, out: Path, problems: list[str]) -> None:
    """Frames and writes all pages, then those that these have asked for, and the index of the search.

    `words` are its entries beside those of the pages; `documented` is the page of each public header."""
    sections = sections_of([page for page in pages if page.kind != "names"])
    version = re.search(r"project\(lockstep VERSION ([\d.]+)", repository.text("CMakeLists.txt"))
    here = repository.root / "docs" / "site"
    frame = Frame(here / "templates", out, sections, version.group(1) if version else "")
    readme = next(page for page in pages if page.source == "README.md")
    entries = [entry for section in sections for page in section.pages for entry in search.entries_of(page, section)]
    front.prepare(readme, [page for page in pages if page.kind == "chapter"],
                  [page for page in pages if page.kind == "panel"])
    pages = pages + [Page(url="contents.html", title="Contents", section="", kind="contents")]
    for page in pages:
        frame.write(page)
    for path, anchors in sorted(resolver.wanted.sources.items()):
        page = sources.source_page(repository, path, anchors, problems)
        page.data["reference"] = documented.get(path, "")
        frame.write(page)
    for folder in sorted(resolver.wanted.folders):
        frame.write(sources.folder_page(repository, folder, resolver.wanted))
    (out / "search_index.js").write_text(search.script(entries + words), encoding="utf-8")
    for file in sorted((here / "static").iterdir()):
        shutil.copyfile(file, out / file.name)
