"""A doc comment, as Doxygen's XML has it, becomes HTML."""

from __future__ import annotations

from html import escape
from typing import Callable
from xml.etree import ElementTree

from . import highlight, rows

Link = Callable[[str, str], "str | None"]  # (id of a class or member, its kind) -> address, or None

_SAME = {"computeroutput": "code", "emphasis": "em", "bold": "strong", "itemizedlist": "ul", "orderedlist": "ol",
         "listitem": "li", "table": "table", "row": "tr", "subscript": "sub", "superscript": "sup", "blockquote": "blockquote"}
_CHARACTERS = {"ndash": "–", "mdash": "—", "sp": " ", "linebreak": "<br>", "zwj": "", "nonbreakablespace": " "}
_KINDS = {"return": "Returns", "note": "Note", "warning": "Warning", "see": "See", "pre": "Requires",
          "post": "Afterwards", "since": "Since", "attention": "Attention", "remark": "Remark"}
_LISTS = {"param": "Parameters", "templateparam": "Template parameters", "exception": "Throws", "retval": "Returns"}


def to_html(element: ElementTree.Element | None, link: Link) -> str:
    """The content of a description or paragraph; empty where there is none."""
    if element is None:
        return ""
    parts = [escape(element.text or "", quote=False)]
    for child in element:
        parts.append(_child(child, link))
        parts.append(escape(child.tail or "", quote=False))
    return "".join(parts).strip()


def _child(element: ElementTree.Element, link: Link) -> str:
    tag = element.tag
    if tag == "para":
        return _paragraph(element, link)
    if tag in _CHARACTERS:
        return _CHARACTERS[tag]
    if tag in _SAME:
        return f"<{_SAME[tag]}>{to_html(element, link)}</{_SAME[tag]}>"
    if tag == "entry":
        cell = "th" if element.get("thead") == "yes" else "td"
        return f"<{cell}>{_unwrapped(element, link)}</{cell}>"
    if tag == "ref":
        address = link(element.get("refid", ""), element.get("kindref", ""))
        text = to_html(element, link)
        return f'<a href="{escape(address)}">{text}</a>' if address else text
    if tag == "ulink":
        url = element.get("url", "")
        text = to_html(element, link)
        return f'<a rel="external" href="{escape(url)}">{text}</a>' if url.startswith("http") else text
    if tag in ("programlisting", "verbatim", "preformatted"):
        return _code(element)
    if tag == "simplesect":
        title = element.findtext("title") or _KINDS.get(element.get("kind", ""), element.get("kind", "").capitalize())
        body = "".join(_child(child, link) for child in element if child.tag != "title")
        return f'<dl class="doc"><dt>{escape(title)}</dt><dd>{body}</dd></dl>'
    if tag == "parameterlist":
        return _parameters(element, link)
    return to_html(element, link)


def _unwrapped(element: ElementTree.Element, link: Link) -> str:
    """The paragraphs of an element; one alone without its <p>."""
    paragraphs = element.findall("para")
    return to_html(paragraphs[0], link) if len(paragraphs) == 1 else "".join(_child(child, link) for child in element)


def _paragraph(element: ElementTree.Element, link: Link) -> str:
    """Doxygen puts lists and sections inside of paragraphs, where HTML does not allow them."""
    parts: list[str] = []
    running = [escape(element.text or "", quote=False)]

    def close() -> None:
        if text := "".join(running).strip():
            parts.append(f"<p>{text}</p>")
        running.clear()

    for child in element:
        if child.tag in ("parameterlist", "simplesect", "itemizedlist", "orderedlist", "programlisting", "verbatim", "table"):
            close()
            parts.append(_child(child, link))
        else:
            running.append(_child(child, link))
        running.append(escape(child.tail or "", quote=False))
    close()
    return "".join(parts)


def _code(element: ElementTree.Element) -> str:
    lines = [_text(line) for line in element.findall("codeline")]
    text = ("\n".join(lines) if lines else "".join(element.itertext())).rstrip()
    code = rows.rows(highlight.code(text, "cpp"), text, may_align=False)
    return f'<div class="code listing"><pre tabindex="0"><code>{code}</code></pre></div>'


def _text(element: ElementTree.Element) -> str:
    """The text of a line of code, in which <sp/> is a blank."""
    own = " " if element.tag == "sp" else element.text or ""
    return own + "".join(_text(child) + (child.tail or "") for child in element)


def _parameters(element: ElementTree.Element, link: Link) -> str:
    rows = []
    for item in element.findall("parameteritem"):
        names = ", ".join(f"<code>{to_html(name, link)}</code>" for name in item.iter("parametername"))
        description = item.find("parameterdescription")
        rows.append(f"<tr><th>{names}</th><td>{_unwrapped(description, link) if description is not None else ''}</td></tr>")
    title = _LISTS.get(element.get("kind", ""), "Parameters")
    return f'<dl class="doc"><dt>{title}</dt><dd><table class="parameters">{"".join(rows)}</table></dd></dl>'
