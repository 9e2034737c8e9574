"""The prompt page, through real requests on the loopback interface."""

import base64
import http.client
import json
import queue
import threading
from collections.abc import Iterator
from http.server import HTTPServer
from pathlib import Path

import numpy as np
import pytest

from gemel.commands.prompt_desk import ProjectDesk
from gemel.outputs.prompt.server import make_server
from gemel.pipeline import run_project
from gemel.project import open_project
from gemel.services.formats.image_file import decode_image, encode_png


class _Silent:
    def stage(self, name: str) -> object:
        from contextlib import nullcontext

        return nullcontext(lambda fraction: None)

    def done(self, result: object) -> None:
        pass


class _Browser:
    """Sends what the page sends."""

    def __init__(self, port: int, token: str) -> None:
        self.port, self.token = port, token

    def get(self, path: str, host: str = "") -> tuple[int, bytes]:
        return self._ask("GET", path, None, {"Host": host or f"127.0.0.1:{self.port}"})

    def post(self, path: str, body: object, token: str | None = None) -> tuple[int, bytes]:
        headers = {"X-Gemel-Token": self.token if token is None else token}
        return self._ask("POST", path, json.dumps(body), headers)

    def _ask(self, verb: str, path: str, body: str | None, headers: dict[str, str]) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request(verb, path, body, headers)
        answer = connection.getresponse()
        result = answer.status, answer.read()
        connection.close()
        return result


@pytest.fixture
def browser(project: Path) -> Iterator[_Browser]:
    run_project(open_project(project), _Silent(), last="split")  # type: ignore[arg-type]
    servers: "queue.Queue[HTTPServer]" = queue.Queue()

    def serve() -> None:
        with ProjectDesk(project) as desk, make_server(desk) as server:
            servers.put(server)
            server.serve_forever(poll_interval=0.02)

    thread = threading.Thread(target=serve)
    thread.start()
    server = servers.get(timeout=20)
    yield _Browser(server.server_address[1], server.token)  # type: ignore[attr-defined]
    server.shutdown()
    thread.join()


def _first(browser: _Browser) -> dict[str, object]:
    contents = json.loads(browser.get("/api/contents")[1])
    episode = contents["episodes"][0]
    return {"episode": episode["id"], "camera": episode["cameras"][0], "step": 3}


def test_the_page_shows_frames_and_hides_the_holdout(browser: _Browser, project: Path) -> None:
    """The page lists calibration and validation episodes only, and a held-out frame cannot be asked for."""
    status, page = browser.get("/")
    assert status == 200
    assert b"{{token}}" not in page
    frame = _first(browser)
    status, png = browser.get("/api/frame?" + "&".join(f"{k}={v}" for k, v in frame.items()))
    assert status == 200
    assert decode_image(png).ndim == 3
    listed = {e["id"] for e in json.loads(browser.get("/api/contents")[1])["episodes"]}
    hidden = next(str(i) for i in range(7) if str(i) not in listed)
    status, text = browser.get(f"/api/frame?episode={hidden}&camera={frame['camera']}&step=0")
    assert status == 400
    assert b"unknown" in text


def test_prompts_are_saved_and_read_back(browser: _Browser, project: Path) -> None:
    """Points and a box land in twin.toml without touching the rest, and again replace what was there."""
    before = (project / "twin.toml").read_text()
    frame = _first(browser)
    for x in (4.0, 6.0):
        rows = [{**frame, "points": [[x, 5.0, True], [1.0, 1.0, False]], "box": [1, 2, 20, 15]}]
        assert browser.post("/api/prompt", {"object": "mug", "prompt": "red mug", "frames": rows})[0] == 200
    assert (project / "twin.toml").read_text().startswith(before.rstrip())
    prompt = open_project(project).settings.objects["mug"]
    assert prompt.prompt == "red mug"
    assert [p.xy for p in prompt.points] == [(6.0, 5.0), (1.0, 1.0)]
    assert prompt.boxes[0].box == (1.0, 2.0, 20.0, 15.0)
    assert json.loads(browser.get("/api/contents")[1])["objects"]["mug"]["frames"][0]["step"] == 3


def test_a_painted_mask_is_kept_and_shown(browser: _Browser, project: Path) -> None:
    """A painted mask becomes a correction and is what the page shows from then on."""
    frame = _first(browser)
    query = "&".join(f"{k}={v}" for k, v in frame.items())
    shape = decode_image(browser.get("/api/frame?" + query)[1]).shape
    mask = np.zeros(shape, dtype=np.uint8)
    mask[2:9, 3:12] = 255
    body = {**frame, "object": "mug", "png": base64.b64encode(encode_png(mask)).decode()}
    assert browser.post("/api/paint", body)[0] == 200
    status, png = browser.get(f"/api/mask?object=mug&{query}")
    assert status == 200
    assert np.array_equal(decode_image(png), mask)
    assert len(list((project / "corrections").rglob("*.png"))) == 1


def test_clicks_are_previewed(browser: _Browser) -> None:
    """A box gives a mask inside it."""
    frame = _first(browser)
    status, png = browser.post("/api/preview", {**frame, "points": [], "box": [4, 4, 20, 18]})
    assert status == 200
    mask = decode_image(png, grey=True) > 127
    assert not mask[:, 21:].any()


def test_strangers_are_turned_away(browser: _Browser, project: Path) -> None:
    """Other hosts, requests without the page's token, names that leave the folder and nonsense change nothing."""
    frame = _first(browser)
    assert browser.get("/api/contents", host="evil.example")[0] == 404
    assert browser.post("/api/prompt", {"object": "x", "frames": []}, token="wrong")[0] == 404
    png = base64.b64encode(encode_png(np.zeros((24, 32, 3), dtype=np.uint8))).decode()
    assert browser.post("/api/paint", {**frame, "object": "../../x", "png": png})[0] == 400
    assert browser.post("/api/paint", {**frame, "object": "x", "png": "?"})[0] == 400
    assert browser.post("/api/prompt", [1, 2])[0] == 400
    assert not (project / "corrections").exists()
