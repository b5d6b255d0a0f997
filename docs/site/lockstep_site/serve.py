"""Shows the finished site on this machine, until Ctrl-C."""

from __future__ import annotations

import functools
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002: the base class names it so
        """Says nothing of requests that succeed."""

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")  # a page that was built again is seen at once
        super().end_headers()


def serve(site: Path, port: int) -> int:
    """Serves `site` on the loopback interface; port 0 is any free one."""
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), functools.partial(_Quiet, directory=str(site)))
    except OSError as error:
        print(f"lockstep docs: cannot listen on port {port} ({error.strerror}); leave out --port for a free one", flush=True)
        return 1
    with server:
        print(f"http://127.0.0.1:{server.server_address[1]}/  (Ctrl-C ends it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
    return 0
