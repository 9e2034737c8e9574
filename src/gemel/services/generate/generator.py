"""The generator's protocol: an image and a mask of an object in, a mesh in any frame and unit out.

Which program it is does not matter: TRELLIS, Hunyuan3D, SAM 3D and their like all write .glb files.
"""

import io
import shlex
import subprocess
import tempfile
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import numpy as np
from jaxtyping import Bool, UInt8

from gemel.errors import ConfigError, GemelError, SourceError
from gemel.services.formats.image_file import encode_png
from gemel.services.formats.mesh_file import ENDINGS, MeshFile, mesh_from_bytes, read_mesh

Image = UInt8[np.ndarray, "h w 3"]
Mask = Bool[np.ndarray, "h w"]
LARGEST_BYTES = 512 << 20
"""No generated object is larger; a server that sends more is not one."""


@runtime_checkable
class Generator(Protocol):
    """Makes a mesh of one object. Implementations: GeneratorFile, GeneratorCommand, GeneratorServer."""

    def mesh_of(self, name: str, image: Image, mask: Mask) -> MeshFile:
        """A mesh of the object that the mask shows in the image."""
        ...


@dataclass(frozen=True)
class GeneratorFile:
    """A file that was generated before; `{object}` in its path stands for the object's name."""

    path: Path

    def mesh_of(self, name: str, image: Image, mask: Mask) -> MeshFile:
        """The file's mesh; image and mask are not needed."""
        return read_mesh(Path(str(self.path).replace("{object}", name)))


@dataclass(frozen=True)
class GeneratorCommand:
    """A local command; `{image}`, `{mask}`, `{output}` and `{object}` in it stand for paths and the object's name."""

    command: str
    timeout_s: float = 1800.0

    def mesh_of(self, name: str, image: Image, mask: Mask) -> MeshFile:
        """Write image and mask as PNG, run the command without a shell, read the .glb that it wrote."""
        with tempfile.TemporaryDirectory(prefix="gemel-generate-") as folder:
            paths = {
                key: Path(folder) / f"{key}.{end}"
                for key, end in (("image", "png"), ("mask", "png"), ("output", "glb"))
            }
            paths["image"].write_bytes(encode_png(image))
            paths["mask"].write_bytes(encode_png(_as_image(mask)))
            words = [_filled(word, {**{k: str(p) for k, p in paths.items()}, "object": name}) for word in self._words()]
            self._run(words)
            if not paths["output"].exists():
                raise SourceError(
                    f"The command {words[0]!r} ended without writing {{output}}.", remedy="check its arguments"
                )
            return read_mesh(paths["output"])

    def _words(self) -> list[str]:
        words = shlex.split(self.command)
        if not words or not any("{output}" in word for word in words):
            raise ConfigError(
                f"generated_command {self.command!r} has no {{output}}.",
                remedy='write it such as "trellis --image {image} --mask {mask} --out {output}"',
            )
        return words

    def _run(self, words: list[str]) -> None:
        try:
            done = subprocess.run(words, capture_output=True, timeout=self.timeout_s, check=False)
        except FileNotFoundError as error:
            raise ConfigError(f"The command {words[0]!r} was not found.", remedy="check generated_command") from error
        except subprocess.TimeoutExpired as error:
            raise GemelError(
                f"The command {words[0]!r} did not end within {self.timeout_s:.0f} s.", remedy="run it by hand and look"
            ) from error
        if done.returncode != 0:
            last = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
            raise GemelError(
                f"The command {words[0]!r} failed with code {done.returncode}: {last[0]}",
                remedy="run it by hand and look",
            )


@dataclass(frozen=True)
class GeneratorServer:
    """A server that takes a multipart POST with `image` and `mask` (PNG) and `object`, and answers with a mesh file."""

    url: str
    timeout_s: float = 1800.0

    def mesh_of(self, name: str, image: Image, mask: Mask) -> MeshFile:
        """Ask the server; its answer is a .glb, or what its content type or file name says."""
        if urlsplit(self.url).scheme not in ("http", "https"):
            raise ConfigError(f"generated_server is {self.url!r}: expected http:// or https://.", remedy="correct it")
        boundary = uuid.uuid4().hex
        request = Request(
            self.url,
            data=_multipart(boundary, name, encode_png(image), encode_png(_as_image(mask))),
            headers={"Content-Type": f"multipart/form-data; boundary={boundary}", "Accept": "model/gltf-binary"},
        )
        try:
            with urlopen(request, timeout=self.timeout_s) as answer:
                data = answer.read(LARGEST_BYTES + 1)
        except HTTPError as error:
            raise GemelError(f"{self.url} answered {error.code} {error.reason}.", remedy="look at its log") from error
        except (URLError, OSError) as error:
            raise GemelError(
                f"{self.url} does not answer: {error}.", remedy="start it, or correct its address"
            ) from error
        if len(data) > LARGEST_BYTES:
            raise SourceError(f"{self.url} sent more than {LARGEST_BYTES >> 20} MB.", remedy="check its address")
        return mesh_from_bytes(data, _ending(data), where=self.url)


def make_generator(file: str, command: str, server: str, *, folder: Path) -> Generator:
    """The one that is named; paths are relative to `folder`."""
    given = [bool(file), bool(command), bool(server)]
    if sum(given) != 1:
        raise ConfigError(
            f"The generated route needs one source of the model, {sum(given)} are given.",
            remedy="give one of generated_file, generated_command and generated_server under [reconstruct]",
        )
    if file:
        path = Path(file).expanduser()
        if path.suffix.lower() not in ENDINGS:
            raise ConfigError(f"generated_file is {file!r}: expected {', '.join(ENDINGS)}.", remedy="convert the file")
        return GeneratorFile(path if path.is_absolute() else folder / path)
    return GeneratorCommand(command) if command else GeneratorServer(server)


def _ending(data: bytes) -> str:
    return ".glb" if data.startswith(b"glTF") else ".ply" if data.startswith(b"ply") else ".obj"


def _filled(word: str, values: dict[str, str]) -> str:
    for key, value in values.items():
        word = word.replace("{" + key + "}", value)
    return word


def _as_image(mask: Mask) -> Image:
    return np.repeat(np.where(mask, 255, 0).astype(np.uint8)[..., None], 3, axis=-1)


def _multipart(boundary: str, name: str, image: bytes, mask: bytes) -> bytes:
    """After RFC 7578."""
    body = io.BytesIO()
    for field, data in (("image", image), ("mask", mask)):
        body.write(
            f'--{boundary}\r\nContent-Disposition: form-data; name="{field}"; filename="{field}.png"\r\n'.encode()
        )
        body.write(b"Content-Type: image/png\r\n\r\n" + data + b"\r\n")
    body.write(
        f'--{boundary}\r\nContent-Disposition: form-data; name="object"\r\n\r\n{name}\r\n--{boundary}--\r\n'.encode()
    )
    return body.getvalue()
