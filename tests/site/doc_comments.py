"""The documentation fails on a stale doc comment, names the file and the line, and asks for no comment that is not needed.

A public header is copied and checked with our real configuration: as it is, then with one comment taken away, then with a
@param of a parameter that does not exist."""

import re
import shutil
import tempfile
import unittest
from pathlib import Path

from support import ROOT, require_packages, require_program

require_packages()
require_program("doxygen")
from lockstep_site import doxygen  # noqa: E402
from lockstep_site.repository import Repository  # noqa: E402

HEADER = "chapters/02_ring_all_reduce/ring_schedule.hpp"
FUNCTION = "constexpr int reduce_scatter_sends("


class DocComments(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for path in (HEADER, "docs/Doxyfile.in"):
            (self.root / path).parent.mkdir(parents=True)
            shutil.copyfile(ROOT / path, self.root / path)
        for wing in ("gpu", "ranks", "train", "workshop"):  # where headers include from
            (self.root / "common" / wing).mkdir(parents=True)
        self.lines = (self.root / HEADER).read_text().splitlines()
        self.function = next(i for i, line in enumerate(self.lines) if FUNCTION in line)  # from 0
        self.assertTrue(self.lines[self.function - 1].startswith("///"), "the function has a comment to break")

    def complaints(self, lines: list[str]) -> list[str]:
        """What Doxygen says of the header with these lines; empty where it accepts them."""
        (self.root / HEADER).write_text("\n".join(lines) + "\n")
        try:
            doxygen.run(self.root, [HEADER], self.root / "out")
        except doxygen.DocumentationError as error:
            return str(error).splitlines()
        return []

    def test_the_header_is_public(self) -> None:
        self.assertIn(HEADER, doxygen.public_headers(Repository(ROOT)))

    def test_a_header_as_it_is_passes(self) -> None:
        self.assertEqual(self.complaints(self.lines), [])

    def test_a_name_that_says_all_needs_no_sentence(self) -> None:
        first = self.function
        while self.lines[first - 1].startswith("///"):
            first -= 1
        self.assertEqual(self.complaints(self.lines[:first] + self.lines[self.function:]), [])

    def test_a_stale_parameter_fails_with_file_and_line(self) -> None:
        broken = list(self.lines)
        broken.insert(self.function, "/// @param neighbour  A parameter of long ago.")
        found = self.complaints(broken)
        self.assertTrue(found)
        where = re.match(rf"^{re.escape(HEADER)}:(\d+): ", found[0])
        self.assertTrue(where, found)
        # Doxygen names the comment or the function below it.
        self.assertIn(int(where.group(1)), range(self.function - 3, self.function + 3))
        self.assertRegex(found[0], "argument 'neighbour' of command @param is not found")

    def test_a_renamed_parameter_fails(self) -> None:
        """The usual way in which a comment becomes stale: the code was changed, the comment was not."""
        broken = list(self.lines)
        broken.insert(self.function, "/// @param rank  Who sends.")
        self.assertEqual(self.complaints(broken), [])
        broken[self.function + 1] = broken[self.function + 1].replace("int rank", "int sender")
        broken[self.function + 2] = broken[self.function + 2].replace("rank - step", "sender - step")
        self.assertTrue(any("argument 'rank' of command @param is not found" in line for line in self.complaints(broken)))


if __name__ == "__main__":
    unittest.main()
