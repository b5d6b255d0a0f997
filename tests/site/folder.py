"""The site takes the place of an older one, and of nothing else: a stand-in takes the place of what writes the pages. Then
what it is made of, and where it is shown."""

import argparse
import contextlib
import io
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from support import ROOT, require_packages, require_program

require_packages()
require_program("git")
import build  # noqa: E402
from lockstep_site import site  # noqa: E402
from lockstep_site.repository import Repository  # noqa: E402


def write_pages(root: Path, out: Path) -> site.Result:
    for folder, name in ((out, "index.html"), (out, "search_index.js"), (out.parent / "doxygen", "index.xml")):
        folder.mkdir(exist_ok=True)
        (folder / name).write_text("new")
    return site.Result(page_count=1, problems=[], is_release=False)


class TheFolder(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = Path(folder.name)

    def write(self, *names: str) -> None:
        for name in names:
            (self.home / name).parent.mkdir(exist_ok=True)
            (self.home / name).write_text("old")

    def build(self) -> tuple[bool, str]:
        said = io.StringIO()
        with mock.patch.object(site, "build", write_pages), contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            is_good = build.build(argparse.Namespace(root=ROOT, out=self.home / "site"))
        return is_good, said.getvalue()

    def names(self) -> list[str]:
        return sorted(path.relative_to(self.home).as_posix() for path in self.home.rglob("*") if path.is_file())

    def test_an_older_site_is_replaced_as_a_whole(self) -> None:
        self.write("site/index.html", "site/search_index.js", "site/gone.html")
        self.assertTrue(self.build()[0])
        self.assertEqual(self.names(), ["site/index.html", "site/search_index.js"])
        self.assertEqual((self.home / "site/index.html").read_text(), "new")

    def test_what_lies_beside_it_stays(self) -> None:
        beside = ["doxygen/mine", "site.next/mine", "site.old/mine"]
        self.write(*beside)
        self.assertTrue(self.build()[0])
        self.assertEqual(self.names(), [*beside, "site/index.html", "site/search_index.js"])

    def test_a_folder_with_other_files_is_refused(self) -> None:
        self.write("site/thesis.tex")
        is_good, said = self.build()
        self.assertFalse(is_good)
        self.assertIn("has other files in it", said)
        self.assertEqual(self.names(), ["site/thesis.tex"])


class TheFiles(unittest.TestCase):
    def test_a_course_in_a_repository_that_ignores_it_has_its_files(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["git", "init", "--quiet", folder], check=True)
            (Path(folder) / ".gitignore").write_text("*\n")
            (Path(folder) / "course").mkdir()
            (Path(folder) / "course" / "README.md").write_text("# Course\n")
            self.assertEqual(Repository(Path(folder) / "course").files, ["README.md"])


class ThePort(unittest.TestCase):
    def test_a_number_that_is_no_port_is_named(self) -> None:
        self.assertEqual(build.parse(["--port", "8000"]).port, 8000)
        for wrong in ("99999", "-1", "http"):
            said = io.StringIO()
            with contextlib.redirect_stderr(said), self.assertRaises(SystemExit):
                build.parse(["--serve", f"--port={wrong}"])
            self.assertIn(f"--port: invalid port value: '{wrong}'", said.getvalue())


if __name__ == "__main__":
    unittest.main()
