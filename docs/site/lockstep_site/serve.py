"""Shows a site on this machine, until Ctrl-C."""

from __future__ import annotations

import functools
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002: the base class names it so
        """Says nothing of requests that succeed."""

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")  # a page that was built again is seen at once
        super().end_headers()


class Server:
    """Serves what is in the folder `site` at each moment, on the loopback interface; port 0 is any free one."""

    def __init__(self, site: Path, port: int) -> None:
        try:
            self._server = ThreadingHTTPServer(("127.0.0.1", port), functools.partial(_Quiet, directory=str(site)))
        except OSError as error:
            sys.exit(f"lockstep docs: cannot listen on port {port} ({error.strerror}); leave out --port for a free one")
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}/"

    def __enter__(self) -> Server:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def wait(self) -> None:
        """Until Ctrl-C."""
        try:
            self._thread.join()
        except KeyboardInterrupt:
            print()
