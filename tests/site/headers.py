"""The generator reads the lists of public headers from the CMakeLists.txt files itself. Here they are compared with those
that CMake has seen."""

import sys
import unittest
from pathlib import Path

from support import ROOT, require_packages

require_packages()
from lockstep_site import doxygen  # noqa: E402
from lockstep_site.repository import Repository  # noqa: E402

listed = Path()


class Headers(unittest.TestCase):
    def test_all_headers_of_the_targets_are_in_the_reference(self) -> None:
        of_cmake = {Path(line).relative_to(ROOT).as_posix() for line in listed.read_text().split()}
        self.assertGreater(len(of_cmake), 200)
        self.assertEqual(of_cmake - set(doxygen.public_headers(Repository(ROOT))), set())


if __name__ == "__main__":
    listed = Path(sys.argv.pop(1))
    unittest.main()
