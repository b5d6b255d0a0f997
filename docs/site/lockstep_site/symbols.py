"""What Doxygen's XML says of the public headers: classes, functions, values and types, by header and line."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

_SHOWN = ("public", "protected")
_KINDS = ("function", "variable", "typedef", "enum", "define")


@dataclass
class Symbol:
    """A class, a function, a value, a type or a macro."""

    id: str
    kind: str
    name: str  # without its namespace: "ProcessGroup", "ProcessGroup::all_reduce"
    file: str
    line: int
    element: ElementTree.Element
    members: list["Symbol"] = field(default_factory=list)
    anchor: str = ""

    @property
    def brief(self) -> str:
        part = self.element.find("briefdescription")
        return " ".join("".join(part.itertext()).split()) if part is not None else ""


@dataclass
class Header:
    """One public header with what it declares, in the order of its lines."""

    path: str
    file: ElementTree.Element
    symbols: list[Symbol] = field(default_factory=list)

    @property
    def name(self) -> str:
        """As programs include it."""
        return re.sub(r"^(common/(gpu|ranks|train|workshop)|common|chapters)/", "", self.path)

    @property
    def module(self) -> str:
        return self.name.split("/")[0]

    @property
    def url(self) -> str:
        return f"reference/{re.sub(r'[.](hpp|cuh|h)$', '', self.name)}.html"


def _place(element: ElementTree.Element) -> tuple[str, int]:
    location = element.find("location")
    if location is None:
        return "", 0
    return location.get("file", ""), int(location.get("line", "0"))


def _short(name: str) -> str:
    """Without namespaces, which begin with a small letter; names of classes begin with a capital one."""
    parts = re.split(r"::(?![^<]*>)", name)
    while len(parts) > 1 and parts[0][:1].islower():
        parts.pop(0)
    return "::".join(parts)


def _member(element: ElementTree.Element) -> Symbol | None:
    kind = element.get("kind", "")
    if kind not in _KINDS or element.get("prot") not in _SHOWN or (element.findtext("name") or "").startswith("@"):
        return None
    name = element.findtext("qualifiedname") or element.findtext("name") or ""
    file, line = _place(element)
    return Symbol(element.get("id", ""), kind, _short(name), file, line, element)


def _class(element: ElementTree.Element) -> Symbol:
    file, line = _place(element)
    symbol = Symbol(element.get("id", ""), element.get("kind", ""), _short(element.findtext("compoundname") or ""), file,
                    line, element)
    found = (_member(member) for member in element.iter("memberdef"))
    symbol.members = sorted(filter(None, found), key=lambda member: member.line)
    return symbol


def read(folder: Path, paths: list[str]) -> list[Header]:
    """The headers in the order of `paths`, each with its symbols."""
    compounds: dict[str, list[ElementTree.Element]] = {}
    for file in sorted(folder.glob("*.xml")):
        if file.name != "index.xml":
            for compound in ElementTree.parse(file).getroot().findall("compounddef"):
                compounds.setdefault(compound.get("kind", ""), []).append(compound)
    headers = {}
    for compound in compounds.get("file", []):
        headers[_place(compound)[0]] = Header(_place(compound)[0], compound)
    seen: set[str] = set()
    for kind in ("namespace", "file"):
        for compound in compounds.get(kind, []):
            for element in compound.iter("memberdef"):
                symbol = _member(element)
                if symbol and symbol.file in headers and symbol.id not in seen:
                    seen.add(symbol.id)
                    headers[symbol.file].symbols.append(symbol)
    for kind in ("class", "struct", "union"):
        for compound in compounds.get(kind, []):
            symbol = _class(compound)
            if symbol.file in headers and compound.get("prot", "public") in _SHOWN:
                headers[symbol.file].symbols.append(symbol)
    for header in headers.values():
        header.symbols.sort(key=lambda symbol: symbol.line)
        _name_anchors(header)
    return [headers[path] for path in paths if path in headers]


def _name_anchors(header: Header) -> None:
    """Readable anchors, `all_reduce-2` for the second of its name."""
    counts: dict[str, int] = {}
    for symbol in header.symbols:
        for each in [symbol, *symbol.members]:
            name = re.sub(r"[^\w:~=+*/<>!-]", "", each.name).replace("::", ".")
            name = re.sub(r"[^\w.-]", "_", name)
            counts[name] = counts.get(name, 0) + 1
            each.anchor = name if counts[name] == 1 else f"{name}-{counts[name]}"
