"""Doxygen reads the public headers: it complains of what is undocumented or stale, and writes XML for the reference."""

from __future__ import annotations

import posixpath
import re
import shutil
import subprocess
from pathlib import Path

from .repository import Repository

_KEYWORDS = r"SOURCES|DEPENDS|PRIVATE_DEPENDS|PROGRAMS|PROGRAM_DEPENDS|OWN_OPTIONS"
_HEADERS = re.compile(rf"\bHEADERS\s+((?:[\w./]+\s+)*?[\w./]+)\s*(?=\b(?:{_KEYWORDS})\b|\))")
_COMMENT = re.compile(r"#.*")


class DocumentationError(Exception):
    """What Doxygen complained of, a line for each place."""


def public_headers(repository: Repository) -> list[str]:
    """The headers that the targets list as public: HEADERS in the CMakeLists.txt of common/ and chapters/."""
    headers = []
    for path in repository.files:
        if path.startswith(("common/", "chapters/")) and posixpath.basename(path) == "CMakeLists.txt":
            text = _COMMENT.sub("", repository.text(path))
            for match in _HEADERS.finditer(text):
                headers += [posixpath.join(posixpath.dirname(path), name) for name in match.group(1).split()]
    return sorted(set(headers) & repository.file_set)


def write_configuration(root: Path, headers: list[str], out: Path) -> Path:
    """docs/Doxyfile.in, filled in."""
    text = (root / "docs" / "Doxyfile.in").read_text(encoding="utf-8")
    values = {"ROOT": str(root), "OUT": str(out), "HEADERS": " \\\n    ".join(f'"{root / path}"' for path in headers)}
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    out.mkdir(parents=True, exist_ok=True)
    file = out / "Doxyfile"
    file.write_text(text, encoding="utf-8")
    return file


def run(root: Path, headers: list[str], out: Path) -> Path:
    """Runs Doxygen; returns the folder of its XML.

    Raises DocumentationError where a public name has no sentence, or a comment speaks of what does not exist."""
    shutil.rmtree(out, ignore_errors=True)
    configuration = write_configuration(root, headers, out)
    done = subprocess.run(["doxygen", str(configuration)], cwd=root, capture_output=True, text=True, check=False)
    complaints = done.stderr.replace(str(root) + "/", "").strip()
    if done.returncode != 0 or complaints:
        raise DocumentationError(complaints or f"doxygen ended with status {done.returncode}")
    return out / "xml"
