"""Models from a file, a command and a server; what goes wrong is told."""

import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pytest

from gemel.errors import ConfigError, GemelError, SourceError
from gemel.geometry import box_mesh
from gemel.services.formats.glb import write_glb
from gemel.services.formats.image_file import decode_image
from gemel.services.formats.mesh_file import MeshFile
from gemel.services.generate.generator import GeneratorCommand, GeneratorServer, make_generator

BOX = MeshFile(*box_mesh((1.0, 2.0, 3.0)))
IMAGE = np.random.default_rng(0).integers(0, 255, (12, 16, 3)).astype(np.uint8)
MASK = np.zeros((12, 16), dtype=bool)
MASK[3:9, 4:12] = True


def test_a_file_is_found_by_the_objects_name(tmp_path: Path) -> None:
    """`{object}` in the path stands for the object; relative paths start at the project."""
    (tmp_path / "mug.glb").write_bytes(write_glb(BOX))
    generator = make_generator("{object}.glb", "", "", folder=tmp_path)
    assert np.allclose(generator.mesh_of("mug", IMAGE, MASK).vertices, BOX.vertices)
    with pytest.raises(SourceError, match="missing"):
        generator.mesh_of("cup", IMAGE, MASK)


def test_a_command_gets_image_and_mask_and_writes_a_mesh(tmp_path: Path) -> None:
    """The command reads two PNG files and writes a .glb where it is told."""
    (tmp_path / "box.glb").write_bytes(write_glb(BOX))
    script = tmp_path / "make.py"
    script.write_text(
        "import shutil, sys\n"
        "assert all(open(p, 'rb').read(4) == b'\\x89PNG' for p in sys.argv[1:3])\n"
        f"shutil.copy({str(tmp_path / 'box.glb')!r}, sys.argv[3])\n"
    )
    command = f"{sys.executable} {script} {{image}} {{mask}} {{output}}"
    found = make_generator("", command, "", folder=tmp_path).mesh_of("box", IMAGE, MASK)
    assert np.allclose(found.vertices, BOX.vertices)
    assert np.array_equal(found.faces, BOX.faces)


@pytest.mark.parametrize(
    ("command", "kind", "word"),
    [
        ("make-model {image}", ConfigError, "output"),
        ("no-such-program {output}", ConfigError, "not found"),
        (f"{sys.executable} -c 'raise SystemExit(\"no GPU\")' {{output}}", GemelError, "no GPU"),
        (f"{sys.executable} -c pass {{output}}", SourceError, "without writing"),
    ],
)
def test_commands_that_fail_are_told(command: str, kind: type[GemelError], word: str) -> None:
    """A command that is wrong, missing, fails or writes nothing ends in a message, not a traceback."""
    with pytest.raises(kind, match=word):
        GeneratorCommand(command).mesh_of("box", IMAGE, MASK)


class _Handler(BaseHTTPRequestHandler):
    """Answers with a box if it was sent the image and the mask."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        images = [decode_image(b"\x89PNG" + part) for part in body.split(b"\x89PNG")[1:]]
        is_right = len(images) == 2 and np.array_equal(images[0], IMAGE) and np.array_equal(images[1][..., 0] > 0, MASK)
        is_right &= b"\r\n\r\nbox\r\n" in body
        answer = write_glb(BOX) if self.path == "/model" else b"<html>"
        self.send_response(200 if is_right and self.path != "/fails" else 500)
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    """A server on this machine."""
    httpd = HTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=httpd.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{httpd.server_port}"
    httpd.shutdown()
    thread.join()
    httpd.server_close()


def test_a_server_gets_image_and_mask_and_answers_with_a_mesh(server: str) -> None:
    """Image, mask and name arrive as they were; the answer is the mesh."""
    found = GeneratorServer(f"{server}/model").mesh_of("box", IMAGE, MASK)
    assert np.allclose(found.vertices, BOX.vertices)


def test_servers_that_fail_are_told(server: str) -> None:
    """An error code, an answer that is no mesh, a silent port and another protocol each have their message."""
    for url, word in (
        (f"{server}/fails", "answered 500"), (f"{server}/page", "no faces"),
        ("http://127.0.0.1:9", "does not answer"), ("file:///etc/passwd", "expected http"),
    ):  # fmt: skip
        with pytest.raises(GemelError, match=word):
            GeneratorServer(url, timeout_s=5.0).mesh_of("box", IMAGE, MASK)


def test_one_source_has_to_be_named(tmp_path: Path) -> None:
    """None or two are refused, and so is a file of another kind."""
    for given in (("", "", ""), ("a.glb", "make {output}", ""), ("a.stl", "", "")):
        with pytest.raises(ConfigError):
            make_generator(*given, folder=tmp_path)
