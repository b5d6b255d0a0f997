"""A mark in a lesson puts a panel there: into the page, the lists and the search. A mark that is wrong is named with its
file and line."""

import tempfile
import unittest
from pathlib import Path

from support import require_packages, require_program

require_packages()
require_program("cmark-gfm")
from lockstep_site import markdown, search  # noqa: E402
from lockstep_site.links import Resolver  # noqa: E402
from lockstep_site.pages import Page, Section, markdown_pages  # noqa: E402
from lockstep_site.panels import FOLDER, Panels, mark_problems  # noqa: E402
from lockstep_site.repository import Repository  # noqa: E402

LESSON = "chapters/02_x/README.md"
LINK = f'[<img src="../../{FOLDER}ring.svg" alt="A ring">](../../{FOLDER}ring.html)'
PANEL = ('<html><head><title>The ring · Lockstep</title><meta name="description" content="Watch it.">'
         '<meta name="keywords" content="all-gather"></head><body><p class="lead">Press Step.</p>'
         '<p class="crumb"><a href="../../../chapters/02_x/README.md">02</a></p></body></html>')


class Marks(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name) / "repository"
        self.write(FOLDER + "ring.html", PANEL)
        self.write(FOLDER + "ring.svg", "<svg/>")
        self.write(FOLDER + "ring.js", "")

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def problems(self, text: str) -> list[str]:
        self.write(LESSON, text)
        return mark_problems(Repository(self.root), LESSON)

    def build(self, text: str) -> tuple[Page, Panels, Resolver]:
        """The lesson's page with its panels, as site.py makes it."""
        self.write(LESSON, text)
        repository = Repository(self.root)
        pages, panels = markdown_pages(repository), Panels(repository)
        lesson = next(page for page in pages if page.source == LESSON)
        markdown.fill(lesson, text)
        resolver = Resolver(repository, pages, [])
        for page in [lesson, *panels.pages.values()]:
            resolver.rewrite(page)
            panels.place(page)
        return lesson, panels, resolver

    def test_a_mark_makes_a_box_that_names_the_panel(self) -> None:
        lesson, panels, _ = self.build(f"# 02 X\n\n## The idea\n\n<!-- panel: ring -->\n{LINK}\n\nText.\n")
        box = next(element for element in lesson.body if element.get("class") == "panel in-lesson")
        self.assertEqual((box.get("data-src"), box.get("data-title")), ("../../panels/bare/ring.html", "The ring"))
        self.assertEqual([link.get("href") for link in box.iter("a")], ["../../panels/ring.html"] * 2)
        self.assertEqual([panel.url for panel in panels.of(lesson)], ["panels/ring.html"])
        self.assertEqual(panels.pages["ring"].data["places"], [(lesson, "chapters/02_x/index.html#the-idea")])
        self.assertEqual(panels.unplaced(), [])

    def test_the_search_has_name_description_and_ideas(self) -> None:
        _, panels, _ = self.build("# 02 X\n")
        entry, = search.entries_of(panels.pages["ring"], Section("panels", "Moving pictures"))
        self.assertEqual(entry, ["panels/ring.html", "Moving pictures", "The ring", "", "Watch it. Press Step.", "all-gather"])

    def test_a_copied_panel_links_to_pages(self) -> None:
        _, panels, resolver = self.build("# 02 X\n")
        panels.copy(resolver, self.root.parent)
        self.assertIn('href="../../chapters/02_x/index.html"', (self.root.parent / "panels/bare/ring.html").read_text())
        self.assertTrue((self.root.parent / "panels/bare/ring.js").exists())

    def test_an_unknown_panel_is_named_with_file_and_line(self) -> None:
        self.assertEqual(self.problems("# 02 X\n\n<!-- panel: rong -->\n" + LINK),
                         [f"{LESSON}:3: there is no panel rong; {FOLDER} has ring"])

    def test_a_mark_without_its_picture_and_link_is_named(self) -> None:
        self.assertEqual(self.problems(f"<!-- panel: ring -->\n{LINK}\n"), [])
        for below in ("", "Text.", LINK.replace("ring.html", "warp.html"), "\n" + LINK):
            with self.subTest(below):
                found, = self.problems(f"# 02 X\n<!-- panel: ring -->\n{below}\n")
                self.assertTrue(found.startswith(f"{LESSON}:2: the line below is not [<img "), found)

    def test_a_panel_without_a_lesson_is_named(self) -> None:
        _, panels, _ = self.build("# 02 X\n")
        found, = panels.unplaced()
        self.assertTrue(found.startswith(f"{FOLDER}ring.html: no lesson shows this panel"), found)


if __name__ == "__main__":
    unittest.main()
