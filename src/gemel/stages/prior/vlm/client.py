"""An OpenAI-compatible chat server over plain HTTP: one request, its time-outs, refusals and retries.

Only what every such server has is used: POST {base}/chat/completions with a picture as a data URL. The key travels in
the Authorization header and nowhere else: it is in no message, no record and no redirect (redirects are refused).
"""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from gemel.errors import ConfigError

LARGEST_BYTES = 4 << 20
"""No answer of a few numbers is larger."""
_LONGEST_WAIT_S = 30.0
"""A server that asks for a longer pause is not waited for."""
_TRY_AGAIN = {408, 409, 425, 429, 500, 502, 503, 504, 529}


@dataclass(frozen=True)
class Reply:
    """What came back for one question."""

    status: str
    """`answered`, `refused`, `timeout`, `unreachable`, `rate-limited`, `http-CODE`, `malformed` or `not-asked`."""
    text: str
    """What the model wrote, or what went wrong."""
    attempts: int


@dataclass(frozen=True)
class Chat:
    """One model of one server."""

    url: str
    """Base address, such as http://localhost:8000/v1."""
    model: str
    key: str = field(default="", repr=False)
    timeout_s: float = 60.0
    retries: int = 2
    backoff_s: float = 1.0
    pause: Callable[[float], None] = time.sleep
    """How to wait; tests need not."""
    _no_schema: threading.Event = field(default_factory=threading.Event, repr=False, compare=False)
    """Set once the server has turned down a request because of its answer schema."""

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(
                f"The model's address is {self.url.split('@')[-1]!r}: http://HOST/v1 or https://HOST/v1 was expected.",
                remedy="correct GEMEL_VLM_URL, or url under [prior.vlm]",
            )
        if parts.username or parts.password or parts.query:
            raise ConfigError(
                f"The model's address at {parts.hostname!r} carries a password or a query, which would be stored.",
                remedy="give the bare address, and the key in GEMEL_VLM_KEY",
            )
        if not self.model:
            raise ConfigError("No model is named.", remedy="set GEMEL_VLM_MODEL, or model under [prior.vlm]")

    def ask(self, prompt: str, picture_url: str, schema: dict[str, Any]) -> Reply:
        """One question about one picture; time-outs, full servers and server errors are tried again."""
        reply = Reply("not-asked", "", 0)
        for attempt in range(1, self.retries + 2):
            reply, wait_s = self._once(prompt, picture_url, schema, attempt)
            if wait_s is None or attempt > self.retries:
                return reply
            pause_s = self.backoff_s * 2 ** (attempt - 1) if wait_s < 0.0 else wait_s
            if pause_s > _LONGEST_WAIT_S:
                return reply
            self.pause(pause_s)
        return reply

    def _once(self, prompt: str, picture_url: str, schema: dict[str, Any], attempt: int) -> tuple[Reply, float | None]:
        """A reply, and how long to wait before trying again: None not at all, negative as usual [s]."""
        has_schema = not self._no_schema.is_set()
        try:
            with _OPENER.open(self._request(prompt, picture_url, schema if has_schema else None),
                              timeout=self.timeout_s) as answer:  # fmt: skip
                data = answer.read(LARGEST_BYTES + 1)
        except HTTPError as error:
            with error:
                if error.code in (400, 404, 415, 422, 501) and has_schema and "response_format" in _peek(error):
                    self._no_schema.set()
                    return Reply("http-400", "the server takes no answer schema", attempt), 0.0
                status = "rate-limited" if error.code == 429 else f"http-{error.code}"
                wait_s = _retry_after_s(error) if error.code in _TRY_AGAIN else None
                return Reply(status, f"{error.code} {error.reason}", attempt), wait_s
        except TimeoutError:
            return Reply("timeout", f"no answer within {self.timeout_s:g} s", attempt), -1.0
        except (URLError, OSError, HTTPException, ValueError) as error:
            if isinstance(getattr(error, "reason", None), TimeoutError):
                return Reply("timeout", f"no answer within {self.timeout_s:g} s", attempt), -1.0
            return Reply("unreachable", self._without_key(str(getattr(error, "reason", error))), attempt), -1.0
        if len(data) > LARGEST_BYTES:
            return Reply("malformed", f"more than {LARGEST_BYTES >> 20} MB", attempt), None
        return _reply(data, attempt), None

    def _request(self, prompt: str, picture_url: str, schema: dict[str, Any] | None) -> Request:
        content = [{"type": "text", "text": prompt}, {"type": "image_url", "image_url": {"url": picture_url}}]
        body: dict[str, Any] = {"model": self.model, "messages": [{"role": "user", "content": content}]}
        if schema is not None:
            named = {"name": "object_physics", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        return Request(self.url.rstrip("/") + "/chat/completions", data=json.dumps(body).encode(), headers=headers)

    def _without_key(self, text: str) -> str:
        return text.replace(self.key, "***") if self.key else text


class _NoRedirects(HTTPRedirectHandler):
    """A redirect would take the key to another host."""

    def redirect_request(self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Request | None:
        return None


_OPENER = build_opener(_NoRedirects)


def _reply(data: bytes, attempt: int) -> Reply:
    """What a chat completion says: its text, or that the model refused."""
    try:
        choice = json.loads(data)["choices"][0]
        message = choice["message"]
    except (ValueError, LookupError, TypeError):
        return Reply("malformed", data[:2000].decode(errors="replace"), attempt)
    if not isinstance(message, dict):
        return Reply("malformed", str(message)[:2000], attempt)
    if message.get("refusal"):
        return Reply("refused", str(message["refusal"]), attempt)
    text = message.get("content")
    if isinstance(text, list):  # some servers answer in parts
        text = "".join(str(part.get("text", "")) for part in text if isinstance(part, dict))
    text = text if isinstance(text, str) else ""
    if choice.get("finish_reason") == "content_filter":
        return Reply("refused", text or "stopped by the server's content filter", attempt)
    return Reply("answered" if text else "malformed", text or "an empty answer", attempt)


def _retry_after_s(error: HTTPError) -> float:
    """The server's Retry-After in seconds; negative when it says nothing, or gives a date."""
    value = (error.headers.get("Retry-After") or "").strip()
    return float(value) if value.replace(".", "", 1).isdigit() else -1.0


def _peek(error: HTTPError) -> str:
    """The beginning of an error's body."""
    try:
        return error.read(4096).decode(errors="replace")
    except OSError:
        return ""
