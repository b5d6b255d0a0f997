"""The whole site, from the repository to a folder of pages."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from lxml import html

from . import doxygen, front, markdown, pairs, pictures, search, sources
from .check import Checker
from .frame import Frame
from .glossary import GLOSSARY, Glossary
from .links import Resolver
from .pages import Page, markdown_pages, relative, sections_of
from .reference import Reference
from .repository import Repository

_PANELS = "docs/site/panels/"
_PANEL_ORDER = ["step_together", "ring", "overlap", "budgets", "warp"]  # as the chapters come to them; others follow


@dataclass
class Result:
    page_count: int
    problems: list[str]
    is_release: bool


def build(root: Path, out: Path) -> Result:
    """Writes the site into `out`, which it empties first. Raises DocumentationError for comments that are not true."""
    repository = Repository(root)
    headers = doxygen.public_headers(repository)
    xml = doxygen.run(root, headers, out.parent / "doxygen")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    problems: list[str] = []
    texts = markdown_pages(repository)
    for page in texts:
        markdown.fill(page, repository.text(page.source))
    resolver = Resolver(repository, texts, problems)
    for page in texts:
        resolver.rewrite(page)
    _write_pictures(repository, texts, resolver.wanted.pictures, out)
    glossary = Glossary(next((page for page in texts if page.source == GLOSSARY), None))
    for page in texts:
        glossary.link(page)

    panels = _copy_panels(repository, resolver, out)
    derived = [page for path in pairs.derived_files(repository) if (page := pairs.pair_page(repository, path, problems))]
    for page in derived:
        resolver.wanted.source(page.data["path"])
        resolver.wanted.source(page.data["base_path"])
    reference = Reference(repository, xml, headers, resolver.wanted)
    pages = texts + derived + panels + reference.pages()
    _relate(repository, pages, reference)
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


def _copy_panels(repository: Repository, resolver: Resolver, out: Path) -> list[Page]:
    """Copies docs/site/panels, and makes the page that lists what is in it. Only links to Markdown files and sources
    change: in the repository they name the file, here its page."""
    listed = []
    for path in repository.files:
        if not path.startswith(_PANELS):
            continue
        target = out / "panels" / path[len(_PANELS):]
        target.parent.mkdir(parents=True, exist_ok=True)
        if not path.endswith(".html"):
            shutil.copyfile(repository.root / path, target)
        else:
            url = "panels/" + path[len(_PANELS):]
            text = re.sub(r'(?<=href=")\.\./[^"]+', lambda match: _at_home(resolver, path, match.group(0), url),
                          repository.text(path))
            target.write_text(text, encoding="utf-8")
            tree = html.fromstring(text.encode())
            page = Page(url=url, section="panels", kind="copied",
                        title=(tree.findtext(".//title") or target.stem).split(" · ")[0].strip())
            page.summary = next((tag.get("content") or "" for tag in tree.iter("meta") if tag.get("name") == "description"), "")
            listed.append(page)
    if not listed:
        return []
    names = [Path(page.url).stem for page in listed]
    listed = [listed[names.index(name)] for name in sorted(
        names, key=lambda name: (_PANEL_ORDER.index(name) if name in _PANEL_ORDER else len(_PANEL_ORDER), name))]
    overview = Page(url="panels/index.html", title="Moving pictures", section="panels", kind="panels")
    overview.data["panels"] = listed
    return [overview, *listed]


def _at_home(resolver: Resolver, path: str, link: str, url: str) -> str:
    """Where a link of a panel leads to in the site; as it is where it names a page of the site already."""
    address = resolver.address(path, link)
    return relative(address, url) if address else link


def _relate(repository: Repository, pages: list[Page], reference: Reference) -> None:
    """What a chapter's page lists at its end: its pairs, its exercises, its headers."""
    for page in pages:
        if page.kind != "chapter":
            continue
        folder = page.source.split("/")[1]
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
                  [page for page in pages if page.kind == "copied"])
    pages = pages + [Page(url="contents.html", title="Contents", section="", kind="contents")]
    for page in pages:
        if page.kind != "copied":
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
