"""Code with colours: Pygments' classes, which site.css gives their colours in light and dark."""

from __future__ import annotations

import html
import re

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.util import ClassNotFound

_FORMATTER = HtmlFormatter(nowrap=True)
_LANGUAGES = {".hpp": "cpp", ".h": "cpp", ".cu": "cuda", ".cuh": "cuda", ".in": "text", ".patch": "diff"}
_PROMPT = re.compile(r"^\$ .*(?:(?<=\\)\n.*)*", re.MULTILINE)  # goes on where a line ends in a backslash


def _lexer(language: str) -> Lexer | None:
    if language in ("", "text"):
        return None
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def code(text: str, language: str) -> str:
    """`text` as HTML; as it is where the language is unknown."""
    lexer = _lexer(language)
    return highlight(text, lexer, _FORMATTER) if lexer else html.escape(text, quote=False)


def file_lines(path: str, text: str) -> list[str]:
    """The lines of a source file as HTML. Every line stands on its own: no element spans two."""
    suffix = "." + path.rsplit(".", 1)[-1]
    language = _LANGUAGES.get(suffix, "")
    if not language:
        try:
            language = get_lexer_for_filename(path).aliases[0]
        except ClassNotFound:
            language = "bash" if text.startswith("#!") and "sh" in text.split("\n", 1)[0] else "text"
    return code(text, language).split("\n")[: len(text.splitlines())]


def session(text: str) -> str:
    """What a terminal showed: commands after `$ ` stand out from what they print. No element spans two lines."""
    def mark(match: re.Match) -> str:
        lines = match.group(0)[2:].split("\n")
        return '<span class="prompt">$ </span>' + "\n".join(f'<span class="command">{line}</span>' for line in lines)

    return _PROMPT.sub(mark, html.escape(text, quote=False))


def is_session(text: str) -> bool:
    return re.search(r"^\$ ", text, re.MULTILINE) is not None
