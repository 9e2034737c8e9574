"""An export to damage: written once, copied for each damage, and verified again."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gemel.outputs.export.export import FORMATS, Exporter, read_back
from gemel.outputs.export.scene import export_scene
from gemel.services.formats.image_file import encode_png, read_image
from gemel.store.store import Store
from outputs.export.exported_twin import sample_twin


@dataclass(frozen=True, eq=False)
class Written:
    """A folder of one format and what it was written from."""

    name: str
    exporter: Exporter
    folder: Path

    def failed(self, damage: Callable[[Path], object], copy: Path) -> list[str]:
        """What the checks say of a damaged copy, those that fail."""
        shutil.copytree(self.folder, copy)
        damage(copy)
        checks = read_back(self.name, self.exporter, copy)
        return [str(check) for check in checks if not check.is_passed]


def written(name: str, folder: Path) -> Written:
    """The sample twin in one format."""
    store = Store(folder / "store")
    exporter = Exporter(export_scene(sample_twin(store), store))
    FORMATS[name].write(exporter, folder / name)
    return Written(name, exporter, folder / name)


def swap(path: Path, old: str, new: str) -> None:
    """Replace one piece of text, which has to be there."""
    text = path.read_text()
    assert old in text, f"{old!r} is not in {path.name}"
    path.write_text(text.replace(old, new, 1))


def blacken(path: Path) -> None:
    """A picture of the same size that shows nothing."""
    path.write_bytes(encode_png(np.zeros_like(read_image(path))))


def change_obj(path: Path, *, scale: float = 1.0, uv: float = 1.0) -> None:
    """Multiply vertices and texture coordinates of an .obj."""
    factors = {"v": scale, "vt": uv}
    lines = []
    for line in path.read_text().splitlines():
        words = line.split()
        if words and words[0] in factors:
            line = " ".join([words[0], *(f"{float(word) * factors[words[0]]:.9g}" for word in words[1:])])
        lines.append(line)
    path.write_text("\n".join(lines) + "\n")
