"""The checker of a finished site finds each kind of broken link, and names page and link; the generator finds those in
Markdown files, and leads the others to the right pages."""

import tempfile
import unittest
from pathlib import Path

from support import require_packages, require_program

require_packages()
require_program("cmark-gfm")
from lockstep_site import markdown  # noqa: E402
from lockstep_site.check import Checker  # noqa: E402
from lockstep_site.links import Resolver  # noqa: E402
from lockstep_site.pages import markdown_pages  # noqa: E402
from lockstep_site.repository import Repository  # noqa: E402


class Folder(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def write(self, **files: str) -> None:
        for name, text in files.items():
            path = self.root / name.replace("__", "/").replace("_dot_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


class FinishedSite(Folder):
    def problems(self, body: str) -> list[str]:
        self.write(index_dot_html=f"<html><body>{body}</body></html>", a__b_dot_html='<h2 id="there">x</h2>',
                   picture_dot_svg="<svg/>")
        return Checker(self.root).problems()

    def test_links_that_lead_somewhere_pass(self) -> None:
        self.assertEqual(self.problems('<p id="top"><a href="a/b.html#there">x</a> <a href="#top">x</a>'
                                       '<a href="https://example.org/x">x</a><img src="picture.svg"></p>'), [])

    def test_each_kind_of_broken_link_is_found(self) -> None:
        for body, expected in {
            '<a href="a/c.html">x</a>': "index.html: <a> a/c.html: there is no a/c.html",
            '<a href="a/b.html#gone">x</a>': "index.html: <a> a/b.html#gone: a/b.html has no anchor gone",
            '<a href="#gone">x</a>': "index.html: <a> #gone: index.html has no anchor gone",
            '<a href="../outside.html">x</a>': "index.html: <a> ../outside.html: there is no ../outside.html",
            '<a href="a">a folder</a>': "index.html: <a> a: there is no a",
            '<img src="gone.svg">': "index.html: <img> gone.svg: there is no gone.svg",
            '<script src="gone.js"></script>': "index.html: <script> gone.js: there is no gone.js",
            '<p id="x"></p><p id="x"></p>': "index.html: two elements have the id x",
        }.items():
            with self.subTest(body):
                self.assertEqual(self.problems(body), [expected])

    def test_nothing_is_loaded_from_a_network(self) -> None:
        found = self.problems('<script src="https://example.org/x.js"></script>')
        self.assertEqual(len(found), 1)
        self.assertIn("must not need a network", found[0])

    def test_the_index_of_the_search_is_checked(self) -> None:
        self.write(search_index_dot_js='window.searchIndex = [\n["a/b.html#gone","Guides","b","",""]\n];\n')
        self.assertEqual(self.problems(""), ["search_index.js: <a> a/b.html#gone: a/b.html has no anchor gone"])


class MarkdownLinks(Folder):
    def addresses(self, text: str) -> tuple[list[str], list[str]]:
        """(links of the page docs/a.md, problems)."""
        self.write(README_dot_md="# All", docs__a_dot_md=text, chapters__01_x__README_dot_md="# 01 X\n\n## Why not?",
                   chapters__01_x__x_dot_cpp="int x;\n", chapters__01_x__x_dot_svg="<svg/>", tests__t_dot_cpp="")
        repository, problems = Repository(self.root), []
        pages = markdown_pages(repository)
        for page in pages:
            markdown.fill(page, repository.text(page.source))
        resolver = Resolver(repository, pages, problems)
        page = next(page for page in pages if page.source == "docs/a.md")
        resolver.rewrite(page)
        return [element.get("href") for element in page.body.iter("a") if element.get("class") != "anchor"], problems

    def test_links_lead_to_pages_sources_and_folders(self) -> None:
        self.assertEqual(
            self.addresses("[all](../README.md) [x](../chapters/01_x/README.md#why-not) [x](../chapters/01_x/)\n"
                           "[code](../chapters/01_x/x.cpp#L1-L1) [tests](../tests) [web](https://example.org)"),
            (["../index.html", "../chapters/01_x/index.html#why-not", "../chapters/01_x/index.html",
              "../source/chapters/01_x/x.cpp.html#L1-L1", "../source/tests/index.html", "https://example.org"], []))

    def test_a_link_that_leads_nowhere_is_named(self) -> None:
        self.assertEqual(self.addresses("[gone](../chapters/02_y/README.md)")[1],
                         ["docs/a.md: ../chapters/02_y/README.md leads nowhere"])

    def test_a_picture_that_is_missing_is_named(self) -> None:
        self.assertEqual(self.addresses('<img src="gone.svg" alt="">')[1], ["docs/a.md: gone.svg leads nowhere"])


if __name__ == "__main__":
    unittest.main()
