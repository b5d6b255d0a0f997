#!/usr/bin/env python3
"""Builds the site of the course into build/docs/site: `./lockstep docs` calls this. README.md says how it works."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))


def parse(arguments: list[str]) -> argparse.Namespace:
    root = Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(prog="lockstep docs", description="Builds the site of the course: lessons, guides, "
                                     "pairs side by side, and the reference of all public headers.")
    parser.add_argument("--serve", action="store_true", help="then show it on this machine, until Ctrl-C")
    parser.add_argument("--port", metavar="N", type=int, default=0, help="of --serve; a free one if left out")
    parser.add_argument("--out", type=Path, default=root / "build" / "docs" / "site", help="the folder to write")
    parser.add_argument("--root", type=Path, default=root, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main() -> int:
    options = parse(sys.argv[1:])
    from lockstep_site import doxygen, serve, site  # only now: --help must work before anything is installed

    begin = time.monotonic()
    try:
        result = site.build(options.root.resolve(), options.out.resolve())
    except doxygen.DocumentationError as error:
        print(f"{error}\nlockstep docs: these comments do not fit their headers: mend them, then try again", file=sys.stderr)
        return 1
    for problem in result.problems:
        print(problem, file=sys.stderr)
    if result.problems and not result.is_release:
        print(f"lockstep docs: {len(result.problems)} problems (above)", file=sys.stderr)
        return 1
    print(f"{result.page_count} pages in {time.monotonic() - begin:.0f} s: {options.out / 'index.html'}", flush=True)
    return serve.serve(options.out, options.port) if options.serve else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
