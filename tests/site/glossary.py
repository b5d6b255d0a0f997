"""The site links the first use of a term of the glossary, and only where the word is that term."""

import unittest

from support import require_packages

require_packages()
from lxml import html  # noqa: E402
from lockstep_site.glossary import Glossary  # noqa: E402
from lockstep_site.pages import Page  # noqa: E402

ROWS = ('<table><tr><td><a id="zero"></a>ZeRO, FSDP</td><td>sharding</td></tr>'
        '<tr><td><a id="shard"></a>shard</td><td>a part</td></tr>'
        '<tr><td><a id="part"></a>part (of a unit)</td><td>one N-th</td></tr></table>')


def linked_words(text: str) -> list[str]:
    glossary = Glossary(Page("docs/glossary.html", "Glossary", "guides", body=html.fromstring(ROWS)))
    page = Page("chapters/09/index.html", "09", "chapters", body=html.fromstring(f"<p>{text}</p>"))
    glossary.link(page)
    return [link.text for link in page.body.iter("a")]


class TheGlossary(unittest.TestCase):
    def test_the_first_use_is_linked_also_in_the_plural(self) -> None:
        self.assertEqual(linked_words("Shards are parts; a shard has a rank."), ["Shards"])

    def test_a_term_with_capitals_inside_is_no_other_word(self) -> None:
        self.assertEqual(linked_words("The gap holds zeros, and zero is no stage of ZeRO."), ["ZeRO"])


if __name__ == "__main__":
    unittest.main()
