"""The annotated pairs: a base on the left, the program that derives from it on the right, and why each line differs.

A reason is in docs/site/pairs/NAME.md, or in the program itself: `// NEW: why` holds for the tagged lines right below."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field

from . import highlight, markdown
from .alignment import Row, align, header_of
from .pages import Page
from .repository import Repository

_ITEM = re.compile(r"^- ((?:`[^`]+`(?:,\s+)?)+):\s+(.*?)(?=^- `|\Z)", re.MULTILINE | re.DOTALL)
_TAG = re.compile(r"\s*// (?:NEW|CHANGED)$", re.MULTILINE)


@dataclass
class Reason:
    fragments: list[str]  # of lines: the reason is theirs if one of these occurs in them
    text: str
    is_used: bool = False


@dataclass
class Reasons:
    """What docs/site/pairs/NAME.md says: a title, an introduction, and a reason per line or group of lines."""

    title: str = ""
    introduction: str = ""
    items: list[Reason] = field(default_factory=list)

    def find(self, text: str) -> Reason | None:
        found = next((item for item in self.items if any(part in text for part in item.fragments)), None)
        if found:
            found.is_used = True
        return found


@dataclass
class ShownRow:
    """A row of the page: both lines as HTML, or a reason that stands above its lines (in full where it is first used)."""

    kind: str
    base_number: int | None = None
    base: str = ""
    derived_number: int | None = None
    derived: str = ""
    reason: str = ""


def read_reasons(text: str) -> Reasons:
    head, _, _ = text.partition("\n- `")
    title, _, introduction = head.partition("\n")
    items = [Reason(re.findall(r"`([^`]+)`", match.group(1)), " ".join(match.group(2).split()))
             for match in _ITEM.finditer(text)]
    return Reasons(title.lstrip("# ").strip(), introduction.strip(), items)


def derived_files(repository: Repository) -> list[str]:
    return [path for path in repository.files
            if "/programs/" in path and path.startswith(("chapters/", "exercises/"))
            and path.endswith((".cpp", ".cu")) and header_of(repository.first_line(path))]


def _annotate(rows: list[Row], reasons: Reasons, path: str, problems: list[str]) -> list[tuple[Row, Reason | None]]:
    """Each row with its reason. A reason in the program holds for the tagged lines that follow without a gap; a brace
    closes what the tagged line before it is about."""
    found: list[tuple[Row, Reason | None]] = []
    current = last = None
    for row in rows:
        if row.kind == "reason":
            current = Reason([], row.text[:1].upper() + row.text[1:].removesuffix(".") + ".")
        elif row.kind == "same":
            current = None
        else:
            reason = last if row.text == "}" else reasons.find(row.text) or current
            last = reason
            if reason is None:
                problems.append(f"{path}:{row.derived}: no reason for `{row.text}`: add one to docs/site/pairs/")
            found.append((row, reason))
            continue
        found.append((row, None))
    problems += [f"docs/site/pairs/{posixpath.splitext(posixpath.basename(path))[0]}.md: no tagged line has `{item.fragments[0]}`"
                 for item in reasons.items if not item.is_used]
    return found


def _shown(annotated: list[tuple[Row, Reason | None]], base: list[str], derived: list[str]) -> list[ShownRow]:
    shown: list[ShownRow] = []
    last: Reason | None = None
    known: list[Reason] = []
    for row, reason in annotated:
        if row.kind == "reason":
            continue
        if reason is not None and reason is not last:
            is_known = any(reason is other for other in known)
            text = re.split(r"(?<=[^\d][.:]) ", reason.text)[0].rstrip(":") if is_known else reason.text
            shown.append(ShownRow("why", reason=markdown.render_inline(text)))
            known.append(reason)
        last = reason
        shown.append(ShownRow(
            row.kind, row.base, base[row.base - 1] if row.base else "", row.derived,
            derived[row.derived - 1] if row.derived and row.kind != "gone" else ""))
    return shown


def pair_page(repository: Repository, path: str, problems: list[str]) -> Page | None:
    """The page of one derived program; None where its base has been taken out of this copy."""
    base_path, new_budget, changed_budget = header_of(repository.first_line(path))
    if base_path not in repository.file_set:
        return None
    name = posixpath.splitext(posixpath.basename(path))[0]
    file = f"docs/site/pairs/{name}.md"
    has_reasons = file in repository.file_set
    reasons = read_reasons(repository.text(file)) if has_reasons else Reasons(title=name)
    found: list[str] = []
    rows = align(repository.lines(base_path), repository.lines(path))
    annotated = _annotate(rows, reasons, path, found)
    if has_reasons or not repository.is_release:
        problems += found
    # Without tags: the colour says it. A base may have tags of its own, which are not this page's matter.
    base = highlight.file_lines(base_path, _TAG.sub("", repository.text(base_path)))
    derived = highlight.file_lines(path, _TAG.sub("", repository.text(path)))
    kinds = [row.kind for row in rows]
    page = Page(url=f"pairs/{name}.html", title=reasons.title or name, section="pairs", kind="pair")
    page.number = path.split("/")[1][:2] if path.startswith("chapters/") else ""
    page.data = {
        "path": path, "base_path": base_path, "rows": _shown(annotated, base, derived),
        "introduction": markdown.render_inline(reasons.introduction) if reasons.introduction else "",
        "new": sum(kind in ("new", "reason") for kind in kinds),
        "changed": sum(kind in ("changed", "gone") for kind in kinds),
    }
    return page
