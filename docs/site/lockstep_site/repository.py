"""What is in the repository: which files there are, and their texts."""

from __future__ import annotations

import os
import posixpath
import subprocess
from functools import cached_property
from pathlib import Path

# Folders that are no part of the course, for copies that git knows nothing of.
_NOT_OURS = {".git", "build", "work", "runs", "__pycache__"}


class Repository:
    """The files of one checkout, named by their paths below its root."""

    def __init__(self, root: Path):
        self.root = root

    @cached_property
    def files(self) -> list[str]:
        """All files that git tracks or would track; without git, all that lie here."""
        command = ["git", "-C", str(self.root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        try:
            listing = subprocess.run(command, capture_output=True, check=True).stdout.decode()
        except (OSError, subprocess.CalledProcessError):
            return self._walk()
        found = sorted(path for path in set(listing.split("\0")) if path and (self.root / path).is_file())
        return found or self._walk()  # none: the course lies in somebody's repository, which ignores it

    def _walk(self) -> list[str]:
        found = []
        for folder, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if name not in _NOT_OURS]
            found += [posixpath.relpath(posixpath.join(folder, name), self.root) for name in names]
        return sorted(found)

    @cached_property
    def file_set(self) -> set[str]:
        return set(self.files)

    @cached_property
    def folders(self) -> set[str]:
        """All folders that hold a file, at any depth."""
        found = {""}
        for path in self.files:
            while path := posixpath.dirname(path):
                found.add(path)
        return found

    @property
    def is_release(self) -> bool:
        """A copy for students, from which some files have been taken out."""
        return (self.root / "RELEASE").exists()

    def text(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8")

    def lines(self, path: str) -> list[str]:
        return self.text(path).splitlines()

    def first_line(self, path: str) -> str:
        with (self.root / path).open(encoding="utf-8", errors="replace") as file:
            return file.readline().rstrip("\n")

    def children(self, folder: str) -> tuple[list[str], list[str]]:
        """The names of the folders and of the files that lie directly in `folder`."""
        prefix = folder + "/" if folder else ""
        below = [path[len(prefix):] for path in self.files if path.startswith(prefix)]
        folders = sorted({path.split("/")[0] for path in below if "/" in path})
        return folders, [path for path in below if "/" not in path]
