"""The model is asked over real HTTP: a server on the loopback that answers well, badly, late or not at all."""

import base64
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from gemel.artifacts.belief import Belief, ValueSource
from gemel.errors import ConfigError
from gemel.geometry import SE3, SO3, Pinhole
from gemel.services.formats.image_file import decode_image
from gemel.services.tasks import get_object
from gemel.stages.prior.config import Measurement, PriorConfig, VlmConfig
from gemel.stages.prior.stage import PriorInfo, prior
from gemel.stages.prior.vlm.client import Chat
from gemel.stages.prior.vlm.picture import ObjectPicture, marked
from stages.prior.made_objects import Kept, reconstruction

GOOD = {
    "material": "painted wood",
    "mass_kg": {"value": 0.35, "sigma": 0.05},
    "com_x": {"value": 0.0, "sigma": 0.05},
    "com_y": {"value": 0.4, "sigma": 0.14},
    "com_z": {"value": 0.0, "sigma": 0.1},
    "friction": {"value": 0.4, "sigma": 0.08},
    "restitution": {"value": 0.3, "sigma": 0.1},
}
KEY = "sk-very-secret"
Respond = Callable[["Handler", dict[str, Any], int], None]


class Handler(BaseHTTPRequestHandler):
    """Hands each request to the test's own function."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server: Any = self.server
        with server.lock:
            server.requests.append((self.path, dict(self.headers), body))
            number = len(server.requests)
        server.respond(self, body, number)

    def send(self, code: int, payload: bytes, **headers: str) -> None:
        self.send_response(code)
        self.send_header("Content-Length", str(len(payload)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(payload)

    def say(self, text: object, *, finish: str = "stop", **message: object) -> None:
        content = text if isinstance(text, str | list) or text is None else json.dumps(text)
        choice = {"finish_reason": finish, "message": {"role": "assistant", "content": content, **message}}
        self.send(200, json.dumps({"choices": [choice]}).encode())

    def log_message(self, *_: object) -> None: ...


@contextmanager
def served(respond: Respond) -> Iterator[Any]:
    """A server on a free port."""
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.requests, server.lock, server.respond = [], threading.Lock(), respond
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    server.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def _pictures(name: str, count: int = 2) -> list[ObjectPicture]:
    camera = Pinhole(64, 48, 60.0, 60.0, 32.0, 24.0)
    T_camera_object = SE3(SO3.exp(np.array([np.pi, 0.0, 0.0])), np.array([0.0, 0.0, 0.4]))
    mask = np.zeros((48, 64), dtype=bool)
    mask[12:36, 16:48] = True
    image = np.full((48, 64, 3), 90, dtype=np.uint8)
    return [ObjectPicture(f"front 0 {k}", image, mask, camera, T_camera_object, np.zeros(3)) for k in range(count)]


def _ask(
    url: str, *, kept: Kept | None = None, measured: dict[str, Measurement] | None = None, **chat: Any
) -> tuple[Belief, PriorInfo]:
    vlm = VlmConfig(url, "looker", images=2, queries=2, concurrency=2)
    return prior(
        reconstruction("t_block"),
        PriorConfig(kind="vlm", vlm=vlm, measured=measured or {}),
        blobs=kept or Kept(),
        rng=np.random.default_rng(0),
        pictures=_pictures,
        chat=Chat(url, "looker", key=KEY, **{"timeout_s": 5.0, "backoff_s": 0.0, **chat}),
    )


def _record(belief: Belief, kept: Kept) -> dict[str, Any]:
    assert belief.record is not None
    return json.loads(kept.get_bytes(belief.record))


def _statuses(belief: Belief, kept: Kept) -> list[str]:
    return [question["answer"]["status"] for question in _record(belief, kept)["asked"][0]["questions"]]


def _codes(info: PriorInfo) -> list[str]:
    return [finding.code for finding in info.findings]


def _column(belief: Belief, name: str) -> np.ndarray:
    return belief.samples[:, belief.names.index(name)]


def test_good_answers_become_the_belief() -> None:
    """Values in the object's units, generated, wider than the model itself says; the raw answers are kept."""
    kept = Kept()
    with served(lambda handler, body, number: handler.say(GOOD)) as server:
        belief, info = _ask(server.url, kept=kept)
    assert len(server.requests) == 4
    com_y = _column(belief, "object/t_block/com_y")
    assert np.median(com_y) == pytest.approx(0.04, abs=0.003)
    assert np.std(com_y) > 1.4 * 0.014
    assert np.exp(np.mean(np.log(_column(belief, "object/t_block/mass")))) == pytest.approx(0.35, rel=0.05)
    assert belief.parameters[belief.names.index("object/t_block/com_y")].source is ValueSource.GENERATED
    assert info.origins["contact/t_block-table/friction"] == "vlm"
    asked = _record(belief, kept)["asked"][0]
    assert json.loads(asked["questions"][0]["reply"]["text"]) == GOOD
    assert len(asked["prompt_sha256"]) == 64
    assert info.findings == ()


def test_the_request_is_what_such_servers_expect() -> None:
    """Path, key, model, schema, and a picture that decodes."""
    with served(lambda handler, body, number: handler.say(GOOD)) as server:
        _ask(server.url)
    path, headers, body = server.requests[0]
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert body["model"] == "looker"
    assert body["response_format"]["json_schema"]["strict"] is True
    text, image = body["messages"][0]["content"]
    assert "From -1 to +1 it is 20.0 cm long" in text["text"]
    assert decode_image(base64.b64decode(image["image_url"]["url"].split(",")[1])).shape[2] == 3


def test_text_around_the_json_and_answers_in_parts_are_read() -> None:
    """The first JSON object counts, whatever is written around it."""
    kept = Kept()

    def respond(handler: Handler, body: dict[str, Any], number: int) -> None:
        text = f"Looking {{closely}}, I would say:\n```json\n{json.dumps(GOOD)}\n``` and {{}} no more."
        handler.say(text if number % 2 else [{"type": "text", "text": text}])

    with served(respond) as server:
        belief, _ = _ask(server.url, kept=kept)
    assert _statuses(belief, kept) == ["ok"] * 4


def test_a_server_without_schemas_is_asked_without() -> None:
    """A 400 that names response_format turns it off for good; all questions are answered."""

    def respond(handler: Handler, body: dict[str, Any], number: int) -> None:
        if "response_format" in body:
            handler.send(400, b'{"error": {"message": "response_format is not supported"}}')
        else:
            handler.say(GOOD)

    kept = Kept()
    with served(respond) as server:
        belief, _ = _ask(server.url, kept=kept)
    assert _statuses(belief, kept) == ["ok"] * 4
    assert "response_format" not in server.requests[-1][2]


def test_a_full_server_is_asked_again_after_the_time_that_it_names() -> None:
    """429 with Retry-After: the pause is the server's, and the answer counts."""
    pauses: list[float] = []

    def respond(handler: Handler, body: dict[str, Any], number: int) -> None:
        if number == 1:
            handler.send(429, b"{}", Retry_After="7")
        else:
            handler.say(GOOD)

    kept = Kept()
    with served(respond) as server:
        belief, _ = _ask(server.url, kept=kept, pause=pauses.append)
    assert pauses == [7.0]
    assert _statuses(belief, kept) == ["ok"] * 4


def test_server_errors_are_tried_again_and_then_recorded() -> None:
    """500 for ever: three attempts each, given up after a few questions, and materials stand in."""
    pauses: list[float] = []
    kept = Kept()
    with served(lambda handler, body, number: handler.send(500, b"oops")) as server:
        belief, info = _ask(server.url, kept=kept, pause=pauses.append, backoff_s=0.5)
    assert {0.5, 1.0} == set(pauses)
    assert set(_statuses(belief, kept)) <= {"http-500", "not-asked"}
    assert _codes(info)[0] == "vlm-unreachable"
    assert info.origins["object/t_block/mass"] == "unknown material"


def test_time_outs_are_recorded_and_the_others_count() -> None:
    """One picture that takes too long does not lose the rest."""

    def respond(handler: Handler, body: dict[str, Any], number: int) -> None:
        if number == 1:
            time.sleep(1.0)
        handler.say(GOOD)

    kept = Kept()
    with served(respond) as server:
        belief, info = _ask(server.url, kept=kept, timeout_s=0.3, retries=0)
    assert sorted(_statuses(belief, kept)) == ["ok", "ok", "ok", "timeout"]
    assert _codes(info) == ["vlm-answers-lost"]


def test_refusals_malformed_and_absurd_answers_are_told_apart() -> None:
    """Each kind is recorded as what it is; numbers that cannot be are left out one by one."""
    heavy = {**GOOD, "mass_kg": {"value": 500.0, "sigma": 1.0}, "com_x": {"value": 3.0, "sigma": 0.1}}
    zero_sigma = {**GOOD, "friction": {"value": 0.4, "sigma": 0.0}, "restitution": "bouncy"}
    absurd = {name: {"value": -1e9, "sigma": 1.0} for name in GOOD if name != "material"}
    answers: list[Callable[[Handler], None]] = [
        lambda h: h.say(None, refusal="I will not guess."),
        lambda h: h.say("", finish="content_filter"),
        lambda h: h.say("I'm sorry, I can't help with that."),
        lambda h: h.say('{"mass_kg": {"value": NaN, '),
        lambda h: h.send(200, b"<html>not JSON</html>"),
        lambda h: h.say(absurd),
        lambda h: h.say(heavy),
        lambda h: h.say(zero_sigma),
    ]
    kept = Kept()
    with served(lambda handler, body, number: answers[(number - 1) % 8](handler)) as server:
        belief, info = prior(
            reconstruction("t_block"),
            PriorConfig(kind="vlm", vlm=VlmConfig(images=2, queries=4, concurrency=1)),
            blobs=kept,
            rng=np.random.default_rng(0),
            pictures=_pictures,
            chat=Chat(server.url, "looker", timeout_s=5.0, backoff_s=0.0),
        )
    assert _statuses(belief, kept) == ["refused", "refused", "refused", "malformed", "malformed", "absurd", "ok", "ok"]
    questions = _record(belief, kept)["asked"][0]["questions"]
    assert any("value 500 is outside" in reason for reason in questions[6]["answer"]["rejected"])
    assert any("sigma 0 is not between" in reason for reason in questions[7]["answer"]["rejected"])
    assert _codes(info) == ["vlm-answers-lost"]
    assert np.median(_column(belief, "object/t_block/mass")) < 1.0


def test_an_unreachable_model_is_said_and_the_run_goes_on() -> None:
    """Nobody listens: a finding with the address and what to do, materials instead, and not one question more."""
    with served(lambda handler, body, number: None) as server:
        url = server.url
    _, info = _ask(url, pause=lambda seconds: None)
    finding = info.findings[0]
    assert finding.code == "vlm-unreachable"
    assert url in finding.message
    assert "--from prior" in finding.remedy
    assert set(info.origins.values()) == {"unknown material"}


def test_measurements_beat_the_model() -> None:
    """A weighed object keeps its weight, whatever the model sees."""
    weighed = {"object/t_block/mass": Measurement((0.5,), 0.01)}
    with served(lambda handler, body, number: handler.say(GOOD)) as server:
        belief, info = _ask(server.url, measured=weighed)
    assert info.origins["object/t_block/mass"] == "measured"
    assert info.origins["object/t_block/com_y"] == "vlm"
    assert abs(np.median(_column(belief, "object/t_block/mass")) - 0.5) < 0.01


def test_the_models_material_serves_where_it_gives_no_number() -> None:
    """An answer without friction but with a material: the table knows how that slides."""
    answer = {key: value for key, value in GOOD.items() if key not in ("friction", "mass_kg")}
    with served(lambda handler, body, number: handler.say({**answer, "material": "stainless steel"})) as server:
        belief, info = _ask(server.url)
    assert info.origins["object/t_block/mass"] == "materials"
    assert np.median(_column(belief, "object/t_block/mass")) > 2.0


def test_the_key_is_in_no_record_and_follows_no_redirect() -> None:
    """A redirect to another host is refused; the key turns up nowhere but in the header."""
    with served(lambda handler, body, number: handler.say(GOOD)) as other:

        def respond(handler: Handler, body: dict[str, Any], number: int) -> None:
            handler.send(302, b"", Location=other.url)

        kept = Kept()
        with served(respond) as server:
            belief, info = _ask(server.url, kept=kept)
        assert other.requests == []
    assert KEY not in str(kept.data) + repr(info) + repr(belief)
    assert KEY not in repr(Chat(server.url, "looker", key=KEY))


@pytest.mark.parametrize(
    ("url", "message"),
    [("localhost:8000", "was expected"), ("ftp://host/v1", "was expected"), ("http://me:pass@host/v1", "a password")],
)
def test_addresses_that_would_leak_or_cannot_work_are_refused(url: str, message: str) -> None:
    """Only plain http and https addresses; secrets do not belong into an address that is stored."""
    with pytest.raises(ConfigError, match=message) as caught:
        Chat(url, "looker")
    assert "pass@" not in str(caught.value)


def test_axes_are_drawn_where_they_are() -> None:
    """The disc of +x is on the side to which the object's x axis points in the picture; the picture is enlarged."""
    picture, model = _pictures("t_block")[0], get_object("t_block")
    extents = np.ptp(model.vertices, axis=0)
    image = marked(picture, extents).astype(int)
    assert max(image.shape) == 512
    is_red = (image[..., 0] > 200) & (image[..., 1] < 80)
    is_green = (image[..., 1] > 150) & (image[..., 0] < 80)
    columns, rows = np.flatnonzero(is_red.any(axis=0)), np.flatnonzero(is_green.any(axis=1))
    per_column, per_row = is_red.sum(axis=0), is_green.sum(axis=1)
    # The camera looks down with the object's x to the right and its y up in the picture.
    assert per_column.argmax() > columns.mean()
    assert per_row.argmax() < rows.mean()
    turned = replace(picture, T_camera_object=SE3(SO3.exp(np.array([0.0, np.pi, 0.0])), np.array([0.0, 0.0, 0.4])))
    is_red = (marked(turned, extents)[..., 0] > 200) & (marked(turned, extents)[..., 1] < 80)
    assert is_red.sum(axis=0).argmax() < np.flatnonzero(is_red.any(axis=0)).mean()
