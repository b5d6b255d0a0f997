#!/usr/bin/env python3
"""Builds the site of the course into build/docs/site: `./lockstep docs` calls this. README.md says how it works."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))


def port(text: str) -> int:
    """For argparse, which names a value that is refused."""
    number = int(text)
    if not 0 <= number <= 65535:
        raise ValueError
    return number


def parse(arguments: list[str]) -> argparse.Namespace:
    root = Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(prog="lockstep docs", description="Builds the site of the course: lessons, guides, "
                                     "pairs side by side, and the reference of all public headers.")
    parser.add_argument("--serve", action="store_true", help="show it on this machine, until Ctrl-C")
    parser.add_argument("--port", metavar="N", type=port, default=0, help="of --serve; a free one if left out")
    parser.add_argument("--out", type=Path, default=root / "build" / "docs" / "site", help="the folder to write")
    parser.add_argument("--root", type=Path, default=root, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def may_be_replaced(out: Path) -> bool:
    """True for a folder that is not there, is empty, or holds a site of ours."""
    return not out.exists() or out.is_dir() and ((out / "search_index.js").is_file() or not any(out.iterdir()))


def build(options: argparse.Namespace) -> bool:
    """Builds in a new folder beside the site, and exchanges both at the end. Prints problems; false if there are any."""
    from lockstep_site import doxygen, site  # only now: --help must work before anything is installed

    begin = time.monotonic()
    out = options.out.resolve()
    if not may_be_replaced(out):
        print(f"lockstep docs: {out} has other files in it, which would be removed: name a new or an empty folder",
              file=sys.stderr)
        return False
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        work = tempfile.TemporaryDirectory(prefix=f"{out.name}.", dir=out.parent)
    except OSError as error:
        print(f"lockstep docs: cannot write in {out.parent} ({error.strerror}); --out names another folder", file=sys.stderr)
        return False
    print("building the site: a minute or more, without further words", file=sys.stderr, flush=True)
    with work:
        coming, going = Path(work.name) / "next", Path(work.name) / "old"
        try:
            result = site.build(options.root.resolve(), coming)
        except doxygen.DocumentationError as error:
            print(f"{error}\nlockstep docs: these comments do not fit their headers: mend them, then try again",
                  file=sys.stderr)
            return False
        if out.exists():
            out.rename(going)
        coming.rename(out)
    for problem in result.problems:
        print(problem, file=sys.stderr)
    if result.problems and not result.is_release:
        print(f"lockstep docs: {len(result.problems)} problems (above)", file=sys.stderr)
        return False
    print(f"{result.page_count} pages in {time.monotonic() - begin:.0f} s: {options.out / 'index.html'}", flush=True)
    return True


def build_and_serve(options: argparse.Namespace) -> int:
    """A site that is there already is shown while the new one is built."""
    from lockstep_site import serve

    is_there = (options.out / "index.html").is_file()
    if not is_there and not build(options):
        return 1
    with serve.Server(options.out.resolve(), options.port) as server:
        print(f"{server.address}  (Ctrl-C ends it)", flush=True)
        is_good = True
        if is_there:
            made = time.strftime("%Y-%m-%d %H:%M", time.localtime((options.out / "index.html").stat().st_mtime))
            print(f"This is the site of {made}; a new one is being built beside it.", flush=True)
            is_good = build(options)
            print("Reload the page to see the new one." if is_good else "The site has problems (above).", flush=True)
        server.wait()
    return 0 if is_good else 1


def main() -> int:
    options = parse(sys.argv[1:])
    if options.serve:
        return build_and_serve(options)
    return 0 if build(options) else 1


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
