"""The prompt page's server: on the loopback interface only, with the standard library.

One request is served at a time, in the thread that made the desk: a store belongs to one thread. Requests must name a
loopback host and, to change anything, carry the token of the page, so that no other site in the browser reads frames
or writes prompts.
"""

import base64
import binascii
import json
import secrets
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np

from gemel.errors import GemelError
from gemel.outputs.prompt.desk import Clicks, Desk, FrameKey
from gemel.services.formats.image_file import decode_image, encode_png

_MOST_BYTES = 30_000_000
_HOSTS = ("127.0.0.1", "localhost", "[::1]")
_POLICY = (
    "default-src 'none'; img-src 'self' blob: data:; connect-src 'self'; "
    "style-src 'unsafe-inline'; script-src 'unsafe-inline'"
)


def make_server(desk: Desk, port: int = 0) -> HTTPServer:
    """A server for one desk, bound but not yet serving; its `token` guards what changes anything."""
    token = secrets.token_urlsafe(16)

    class Handler(_Handler):
        pass

    Handler.desk, Handler.token = desk, token
    server = HTTPServer(("127.0.0.1", port), Handler)
    server.token = token  # type: ignore[attr-defined]
    return server


class _Handler(BaseHTTPRequestHandler):
    desk: Desk
    token: str
    timeout = 3
    """Seconds for which a connection that says nothing is kept: browsers open some in advance."""

    def do_GET(self) -> None:
        """The page, its contents, frames and masks."""
        url = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        routes: dict[str, Callable[[], None]] = {
            "/": self._page,
            "/api/contents": lambda: self._json(self.desk.contents()),
            "/api/frame": lambda: self._png(self.desk.image(_key(query))),
            "/api/mask": lambda: self._mask(self.desk.mask(query["object"], _key(query))),
        }
        self._answer(routes.get(url.path))

    def do_POST(self) -> None:
        """Previews, prompts and painted masks."""
        routes: dict[str, Callable[[], None]] = {
            "/api/preview": self._preview, "/api/prompt": self._prompt, "/api/paint": self._paint,
        }  # fmt: skip
        is_ours = secrets.compare_digest(self.headers.get("X-Gemel-Token", ""), self.token)
        self._answer(routes.get(self.path) if is_ours else None)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the base class names it so)
        """Requests are not worth a line each."""

    def _answer(self, route: Callable[[], None] | None) -> None:
        host = self.headers.get("Host", "").rsplit(":", 1)[0]
        if route is None or host not in _HOSTS:
            self._send(404, "text/plain", b"not here")
            return
        try:
            route()
        except GemelError as error:
            self._send(400, "text/plain; charset=utf-8", str(error).encode())
        except (KeyError, ValueError, TypeError, binascii.Error) as error:
            self._send(400, "text/plain; charset=utf-8", f"bad request: {error}".encode())

    def _page(self) -> None:
        text = files("gemel.outputs.prompt").joinpath("page.html").read_text(encoding="utf-8")
        self._send(200, "text/html; charset=utf-8", text.replace("{{token}}", self.token).encode())

    def _preview(self) -> None:
        body = self._body()
        self._mask(self.desk.preview(_key(body), _clicks(body)))

    def _prompt(self) -> None:
        body = self._body()
        clicks = {_key(row): _clicks(row) for row in body["frames"]}
        self.desk.save_prompt(str(body["object"]), str(body.get("prompt", "")), clicks)
        self._json({"saved": True})

    def _paint(self) -> None:
        body = self._body()
        image = decode_image(base64.b64decode(body["png"], validate=True), grey=True)
        self.desk.save_mask(str(body["object"]), _key(body), image > 127)
        self._json({"saved": True})

    def _body(self) -> dict[str, Any]:
        size = int(self.headers.get("Content-Length", "0"))
        if not 0 < size <= _MOST_BYTES:
            raise ValueError(f"a body of {size} bytes")
        body = json.loads(self.rfile.read(size))
        if not isinstance(body, dict):
            raise TypeError("a JSON object was expected")
        return body

    def _json(self, value: Any) -> None:
        self._send(200, "application/json", json.dumps(value).encode())

    def _mask(self, mask: np.ndarray | None) -> None:
        if mask is None:
            self._send(204, "image/png", b"")
        else:
            self._png(np.repeat(np.where(mask, 255, 0).astype(np.uint8)[..., None], 3, axis=2))

    def _png(self, image: np.ndarray) -> None:
        self._send(200, "image/png", encode_png(image))

    def _send(self, status: int, kind: str, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Security-Policy", _POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(data)


def _key(values: dict[str, Any]) -> FrameKey:
    return str(values["episode"]), str(values["camera"]), int(values["step"])


def _clicks(values: dict[str, Any]) -> Clicks:
    points = tuple((float(x), float(y), bool(on)) for x, y, on in values.get("points", ()))
    box = values.get("box")
    return Clicks(points, None if not box else tuple(float(v) for v in box))  # type: ignore[arg-type]
