"""Trained networks as files: what goes in comes out, torch and others agree, and bad files say what is wrong."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gemel.errors import ConfigError, GemelError, SourceError
from gemel.services.formats.tensor_file import read_tensors, write_tensors
from gemel.services.policy.checkpoint import conditioned_meta, load_network, save_network
from gemel.services.policy.mlp import Mlp

META: dict[str, Any] = {
    "task": "push-t", "variant": "privileged", "seed": 3, "history": 1, "control_period_s": 0.1,
    "conditioned_on": conditioned_meta(("object/t_block/com_y",), [(-0.035, 0.075)]), "made_by": {"steps": 10},
}  # fmt: skip


def _mlp(rng: np.random.Generator, *, member: tuple[int, ...] = (), sizes: tuple[int, ...] = (5, 8, 7, 2)) -> Mlp:
    def draw(*shape: int) -> np.ndarray:
        return rng.standard_normal((*member, *shape)).astype(np.float32)

    pairs = list(pairwise(sizes))
    return Mlp(
        tuple(draw(i, o) for i, o in pairs), tuple(draw(o) for _, o in pairs), draw(sizes[0]),
        np.exp(draw(sizes[0])).astype(np.float32),
    )  # fmt: skip


def test_a_network_comes_back_as_it_was(tmp_path: Path) -> None:
    """To half precision; running what `save_network` returns and what is read later is exactly the same."""
    rng = np.random.default_rng(0)
    mlp, x = _mlp(rng), rng.standard_normal((20, 5)).astype(np.float32)
    saved = save_network(tmp_path / "a.safetensors", "policy", META, mlp, {"counts": np.arange(3)})
    found = load_network(tmp_path / "a.safetensors", "policy")
    np.testing.assert_array_equal(found.layers(x), saved.layers(x))
    np.testing.assert_allclose(found.layers(x), mlp(x), rtol=2e-2, atol=2e-2 * np.abs(mlp(x)).max())
    assert {name: found.meta[name] for name in META} == META
    assert found.conditioned_on == ("object/t_block/com_y",)
    assert found.ranges == [(-0.035, 0.075)]
    assert found.layers.hidden == (8, 7)
    np.testing.assert_array_equal(found.arrays["counts"], np.arange(3))


def test_ensembles_are_their_members() -> None:
    rng = np.random.default_rng(1)
    many, x = _mlp(rng, member=(4,)), rng.standard_normal((6, 5)).astype(np.float32)
    together = many(x)
    assert together.shape == (4, 6, 2)
    for m in range(4):
        one = Mlp(tuple(w[m] for w in many.weights), tuple(b[m] for b in many.biases), many.mean[m], many.std[m])
        np.testing.assert_allclose(together[m], one(x), rtol=1e-5, atol=1e-5)


def test_torch_computes_the_same() -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(2)
    mlp, x = _mlp(rng), rng.standard_normal((30, 5)).astype(np.float32)
    layers: list[Any] = []
    for weight, bias in zip(mlp.weights, mlp.biases, strict=True):
        linear = torch.nn.Linear(*weight.shape)
        linear.weight.data, linear.bias.data = torch.from_numpy(weight.T.copy()), torch.from_numpy(bias)
        layers += [linear, torch.nn.ELU()]
    with torch.no_grad():
        wanted = torch.nn.Sequential(*layers[:-1])(torch.from_numpy((x - mlp.mean) / mlp.std)).numpy()
    np.testing.assert_allclose(mlp(x), wanted, rtol=1e-4, atol=1e-4)


def test_the_safetensors_package_agrees(tmp_path: Path) -> None:
    """Files go both ways."""
    package = pytest.importorskip("safetensors.numpy")
    arrays = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.ones(3, np.float16), "n": np.array(7)}
    write_tensors(tmp_path / "ours", arrays, {"note": "ours"})
    theirs = package.load_file(tmp_path / "ours")
    package.save_file(arrays, tmp_path / "theirs", {"note": "theirs"})
    ours, text = read_tensors(tmp_path / "theirs")
    assert text == {"note": "theirs"}
    for name, array in arrays.items():
        np.testing.assert_array_equal(theirs[name], array)
        np.testing.assert_array_equal(ours[name], array)
        assert ours[name].dtype == array.dtype


def test_bad_files_say_what_is_wrong(tmp_path: Path) -> None:
    """No file, text, a cut file, another kind, a missing key, another width: an error of ours each time."""
    mlp, path = _mlp(np.random.default_rng(3)), tmp_path / "p.safetensors"
    save_network(path, "policy", META, mlp)
    whole = path.read_bytes()

    def refused(match: str, data: bytes | None = None, **options: Any) -> None:
        if data is not None:
            path.write_bytes(data)
        with pytest.raises(GemelError, match=match):
            load_network(path, **options)

    with pytest.raises(SourceError, match="no file"):
        load_network(tmp_path / "nothing.safetensors")
    refused("kind 'policy'; 'encoders'", kind="encoders")
    refused("not a safetensors file", b"hello, this is a text and no network at all")
    refused("not a safetensors file", whole[: len(whole) // 2])
    refused("not a safetensors file", b"")
    arrays, text = read_tensors_of(whole, tmp_path)
    write_tensors(path, arrays, {})
    refused("does not say what it is")
    meta = json.loads(text["gemel"])
    write_tensors(path, arrays, {"gemel": json.dumps({k: v for k, v in meta.items() if k != "variant"})})
    refused("lacks variant")
    write_tensors(path, arrays, {"gemel": json.dumps(meta | {"inputs": 99})})
    refused("from 99")
    write_tensors(path, {k: v for k, v in arrays.items() if k != "weight1"}, {"gemel": json.dumps(meta)})
    refused("weight1")
    with pytest.raises(ConfigError, match="takes 5 numbers and was given 4"):
        mlp(np.zeros((1, 4)))


def read_tensors_of(data: bytes, folder: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    (folder / "whole").write_bytes(data)
    return read_tensors(folder / "whole")
