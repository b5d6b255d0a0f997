"""The site lays a derived program against its base exactly as the C++ code of `lockstep diff` does, and every tagged line
has a reason. The other oracle for the walk are pairs whose rows were written down by hand."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

from support import ROOT, require_packages, require_program

require_packages()
require_program("cmark-gfm")
from lockstep_site import pairs  # noqa: E402
from lockstep_site.alignment import align  # noqa: E402
from lockstep_site.repository import Repository  # noqa: E402

WIDTH = 400  # columns: no line is cut
HALF = (WIDTH - 3) // 2  # of the listing; base/derived numbers stand in the first four columns of a half
SIGNS = {" ": "same", "+": "new", "~": "changed", "-": "gone"}
tool = ""

Listed = tuple[str, int | None, int | None]


def listed_rows(path: str) -> list[Listed]:
    """(kind, line of the base, line of the derived file), read from what `lockstep diff` prints."""
    command = [tool, "diff", path.split("/")[1], Path(path).stem, "--width", str(WIDTH)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "LOCKSTEP_ROOT": str(ROOT)})
    rows: list[Listed] = []
    for line in done.stdout.splitlines()[1:]:
        if line.startswith(Path(path).name + ":"):  # the counts: the listing is over
            break
        numbers = [int(part) if part.strip() else None for part in (line[:4], line[HALF + 3:HALF + 7])]
        rows.append((SIGNS[line[HALF + 1:HALF + 2] or " "], *numbers))
    return rows[:-1] if rows and rows[-1] == ("same", None, None) else rows  # an empty line before the counts


class Pairs(unittest.TestCase):
    def test_rows_by_hand(self) -> None:
        base = ["a;", "", "b;", "c;", "d;"]
        derived = ["// DERIVES FROM x new<=9 changed<=9", "a;", "// NEW: why", "n;  // NEW", "b2;  // CHANGED",
                   "// GONE: c;", "  d;"]
        rows = [(row.kind, row.base, row.derived) for row in align(base, derived)]
        self.assertEqual(rows, [("same", 1, 2), ("reason", None, 3), ("new", None, 4), ("same", 2, None), ("changed", 3, 5),
                                ("gone", 4, 6), ("same", 5, 7)])

    def test_a_line_without_a_tag_is_refused(self) -> None:
        header = "// DERIVES FROM x new<=9 changed<=9"
        for base, derived in ((["a;"], [header, "b;"]), (["a;", "b;"], [header, "a;"]), (["a;"], [header, "a;  // CHANGED"])):
            with self.assertRaises(ValueError):
                align(base, derived)

    def test_the_rows_are_those_of_lockstep_diff(self) -> None:
        repository = Repository(ROOT)
        paths = [path for path in pairs.derived_files(repository) if path.startswith("chapters/")]
        self.assertGreater(len(paths), 5)
        for path in paths:
            with self.subTest(path):
                base_path = pairs.header_of(repository.first_line(path))[0]
                rows = align(repository.lines(base_path), repository.lines(path))
                ours = [("new" if row.kind == "reason" else row.kind, row.base, row.derived) for row in rows]
                self.assertEqual(ours, listed_rows(path))

    def test_every_tagged_line_has_a_reason(self) -> None:
        repository, problems = Repository(ROOT), []
        for path in pairs.derived_files(repository):
            page = pairs.pair_page(repository, path, problems)
            reasons = [row.reason for row in page.data["rows"] if row.kind == "why"]
            self.assertTrue(reasons and all(len(reason) > 20 for reason in reasons), (path, reasons))
        self.assertEqual(problems, [])

    def test_a_missing_and_a_stale_reason_are_named(self) -> None:
        reasons = pairs.read_reasons("# T\n\nIntro.\n\n- `n;`, `m;`: Because.\n- `gone;`: Long ago.\n")
        rows = align(["a;"], ["// DERIVES FROM x new<=9 changed<=9", "a;", "n;  // NEW", "o;  // NEW"])
        problems: list[str] = []
        pairs._annotate(rows, reasons, "chapters/01_x/programs/x.cpp", problems)
        self.assertEqual(problems, [
            "chapters/01_x/programs/x.cpp:4: no reason for `o;`: add one to docs/site/pairs/",
            "docs/site/pairs/x.md: no tagged line has `gone;`"])


if __name__ == "__main__":
    tool = sys.argv.pop(1)
    unittest.main()
