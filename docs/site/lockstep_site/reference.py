"""The reference: a page per public header, in the order of its lines, since the headers are written to be read."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from xml.etree import ElementTree

from . import comment, highlight, symbols
from .links import Wanted
from .pages import Page, relative
from .repository import Repository
from .symbols import Header, Symbol

_LONG = 92  # columns of a signature on one line


@dataclass
class Entry:
    """One symbol as the template shows it."""

    anchor: str
    kind: str
    name: str
    signature: str
    brief: str
    detail: str
    line: int
    relations: list[tuple[str, str]] = field(default_factory=list)  # ("Implemented by", HTML)
    values: list[tuple[str, str]] = field(default_factory=list)  # of an enum: (name, HTML)
    members: list["Entry"] = field(default_factory=list)


class Reference:
    """All headers; knows the address of every symbol."""

    def __init__(self, repository: Repository, xml: Path, paths: list[str], wanted: Wanted):
        self.headers = symbols.read(xml, paths)
        self._repository = repository
        self._wanted = wanted
        self._addresses: dict[str, str] = {}
        self._names: dict[str, str] = {}  # id -> name
        for header in self.headers:
            self._addresses[header.file.get("id", "")] = header.url
            for symbol in header.symbols:
                for each in [symbol, *symbol.members]:
                    self._addresses[each.id] = f"{header.url}#{each.anchor}"
                    self._names[each.id] = each.name

    def urls(self) -> dict[str, str]:
        """The page of each header, by path."""
        return {header.path: header.url for header in self.headers}

    def pages(self) -> list[Page]:
        return [self._index(), *(self._page(header) for header in self.headers), self._all_names()]

    def entries(self) -> list[list[str]]:
        """For the search: a symbol, where it is, and its sentence."""
        found = []
        for header in self.headers:
            for symbol in header.symbols:
                for each in [symbol, *symbol.members]:
                    found.append([f"{header.url}#{each.anchor}", "Reference", header.name, each.name, each.brief])
        return found

    def _modules(self) -> dict[str, list[Header]]:
        modules: dict[str, list[Header]] = {}
        for header in sorted(self.headers, key=lambda header: (header.path.startswith("common/"), header.name)):
            modules.setdefault(header.module, []).append(header)
        return modules

    def _brief(self, header: Header, page_url: str) -> str:
        text = comment.to_html(header.file.find("briefdescription"), self._link_from(page_url))
        return re.sub(r"^<p>(.*?)</p>$", r"\1", text, flags=re.DOTALL)

    def _index(self) -> Page:
        page = Page(url="reference/index.html", title="Reference", section="reference", kind="reference-index")
        page.data["modules"] = [
            (name, name[:1].isdigit(), [(header.name, header.url, self._brief(header, page.url)) for header in headers])
            for name, headers in self._modules().items()]
        return page

    def _all_names(self) -> Page:
        page = Page(url="reference/names.html", title="All names", section="reference", kind="names")
        names = sorted({(symbol.name, f"{header.url}#{symbol.anchor}", header.name)
                        for header in self.headers for symbol in header.symbols}, key=lambda entry: (entry[0].lower(), entry))
        letters: dict[str, list[tuple[str, str, str]]] = {}
        for entry in names:
            letters.setdefault(entry[0][:1].upper(), []).append(entry)
        page.data["letters"] = letters
        return page

    def _page(self, header: Header) -> Page:
        page = Page(url=header.url, title=header.name, section="reference", kind="reference")
        link = self._link_from(page.url)
        page.data = {
            "path": header.path, "source": self._wanted.source(header.path), "brief": self._brief(header, page.url),
            "detail": comment.to_html(header.file.find("detaileddescription"), link),
            "entries": [self._entry(symbol, page.url) for symbol in header.symbols],
            "module": header.module, "beside": [(other.name, other.url) for other in self._modules()[header.module]],
        }
        page.summary = re.sub(r"<[^>]+>", "", page.data["brief"])
        for symbol in header.symbols:
            if symbol.line:
                self._wanted.source(header.path, f"L{symbol.line}")
        return page

    def _link_from(self, page_url: str) -> comment.Link:
        def link(identifier: str, _kind: str) -> str | None:
            address = self._addresses.get(identifier)
            return relative(address, page_url) if address else None
        return link

    def _entry(self, symbol: Symbol, page_url: str) -> Entry:
        link = self._link_from(page_url)
        element = symbol.element
        entry = Entry(symbol.anchor, symbol.kind, symbol.name, self._signature(symbol, page_url),
                      comment.to_html(element.find("briefdescription"), link),
                      comment.to_html(element.find("detaileddescription"), link), symbol.line)
        for value in element.findall("enumvalue"):
            text = "".join(comment.to_html(value.find(part), link) for part in ("briefdescription", "detaileddescription"))
            entry.values.append((value.findtext("name") or "", re.sub(r"^<p>(.*)</p>$", r"\1", text, flags=re.DOTALL)))
        for title, tag in (("Is a", "basecompoundref"), ("Implemented by", "derivedcompoundref"),
                           ("Implements", "reimplements")):
            if found := [self._related(part, page_url) for part in element.findall(tag)]:
                entry.relations.append((title, ", ".join(found)))
        entry.members = [self._entry(member, page_url) for member in symbol.members]
        return entry

    def _related(self, part: ElementTree.Element, page_url: str) -> str:
        identifier = part.get("refid", "")
        text = escape(self._names.get(identifier) or (part.text or "").rsplit("::", 1)[-1])
        address = self._addresses.get(identifier)
        return f'<a href="{relative(address, page_url)}"><code>{text}</code></a>' if address else f"<code>{text}</code>"

    def _signature(self, symbol: Symbol, page_url: str) -> str:
        """The declaration as C++, with links at the names of our own types."""
        code = highlight.code(declaration(symbol), "cpp").rstrip("\n")
        for part in symbol.element.iter("ref"):
            address, name = self._addresses.get(part.get("refid", "")), escape(part.text or "", quote=False)
            if address and address != f"{page_url}#{symbol.anchor}" and re.fullmatch(r"\w+", name):
                code = re.sub(rf'(<span class="\w+">){name}(</span>)',
                              rf'\1<a href="{relative(address, page_url)}">{name}</a>\2', code)
        return code


def _text(element: ElementTree.Element | None) -> str:
    return " ".join("".join(element.itertext()).split()) if element is not None else ""


def _template(element: ElementTree.Element) -> str:
    part = element.find("templateparamlist")
    if part is None:
        return ""
    names = []
    for parameter in part.findall("param"):
        name = " ".join(filter(None, [_text(parameter.find("type")), _text(parameter.find("declname"))]))
        default = _text(parameter.find("defval"))
        names.append(f"{name} = {default}" if default else name)
    requires = _text(element.find("requiresclause"))
    return f"template <{', '.join(names)}>\n" + (f"requires {requires}\n" if requires else "")


def declaration(symbol: Symbol) -> str:
    """The declaration of a symbol, without its namespace; long lists of parameters are broken."""
    element = symbol.element
    own = symbol.name.rsplit("::", 1)[-1]
    if symbol.kind in ("class", "struct", "union"):
        return f"{_template(element)}{symbol.kind} {symbol.name}"
    if symbol.kind == "enum":
        kind = "enum class" if element.get("strong") == "yes" else "enum"
        return f"{kind} {own}"
    if symbol.kind == "define":
        names = [_text(parameter.find("defname")) for parameter in element.findall("param")]
        return f"#define {own}" + (f"({', '.join(names)})" if names else "")
    definition = _text(element.find("definition"))
    qualified = _text(element.find("qualifiedname"))
    if qualified:
        definition = definition.replace(qualified, own, 1)
    if symbol.kind == "variable":
        initializer = _text(element.find("initializer"))
        blank = "" if initializer.startswith("{") else " "
        return definition + (blank + initializer if initializer and len(initializer) < 80 else "")
    if symbol.kind == "typedef":
        return definition
    return _template(element) + _function(element, definition)


def _function(element: ElementTree.Element, definition: str) -> str:
    arguments = _text(element.find("argsstring"))
    arguments = re.sub(r"(?<=[\w>&*)])=(?=[\w{(\":-])", " = ", arguments)
    arguments = re.sub(r"\)=(\w+)$", r") = \1", re.sub(r" = 0$", "=0", arguments))
    arguments = re.sub(r"=0$", " = 0", arguments)
    arguments = re.sub(r" ([&*]+)(?=\w)", r"\1 ", arguments)
    definition = re.sub(r" ([&*]+) ", r"\1 ", definition)
    line = definition + arguments
    parameters = element.findall("param")
    if len(line) <= _LONG or not parameters:
        return line
    names = []
    for parameter in parameters:
        kind = re.sub(r" ([&*]+)$", r"\1", _text(parameter.find("type")))
        name, array, default = (_text(parameter.find(tag)) for tag in ("declname", "array", "defval"))
        names.append(f"    {kind}{' ' if name else ''}{name}{array}" + (f" = {default}" if default else ""))
    behind = arguments[arguments.rindex(")") + 1:]
    return f"{definition}(\n" + ",\n".join(names) + f"){behind}"
