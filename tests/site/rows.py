"""Code as rows: they wrap below themselves, and only rows of tables do not."""

import unittest

from support import require_packages

require_packages()
from lockstep_site import highlight, rows  # noqa: E402


class Rows(unittest.TestCase):
    def test_rows_of_a_table_are_known_by_their_columns(self) -> None:
        for line in ("rank 0  0..      0..", "a\tb", "         chunk 0"):
            self.assertTrue(rows.is_aligned(line), line)
        for line in ("", "a sentence that ends. Another one", "    an indented line", "  - an item"):
            self.assertFalse(rows.is_aligned(line), line)

    def test_a_row_has_its_line_and_its_indentation(self) -> None:
        self.assertEqual(rows.rows("a\n  b  c", "a\n  b  c", may_align=True),
                         '<span class="row">a\n</span><span class="row aligned" style="--in: 2">  b  c\n</span>')
        self.assertEqual(rows.rows("b  c", "b  c", may_align=False), '<span class="row">b  c\n</span>')

    def test_no_element_of_a_session_spans_two_lines(self) -> None:
        text = "$ run \\\n    --fast\nit ran"
        lines = highlight.session(text).split("\n")
        self.assertEqual(len(lines), 3)
        for line in lines:
            self.assertEqual(line.count("<span"), line.count("</span"), line)
        self.assertEqual(highlight.session(text).count('class="command"'), 2)

    def test_indented_output_is_no_command(self) -> None:
        text = "$ sort calls\n      1 all_gather\n      2 all_reduce\n$ run \\\n  --fast"
        self.assertEqual(highlight.session(text).count('class="command"'), 3)


if __name__ == "__main__":
    unittest.main()
