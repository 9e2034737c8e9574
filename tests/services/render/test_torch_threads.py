"""Torch is kept to one thread for a while, and gets its threads back, also after an error."""

import pytest

torch = pytest.importorskip("torch")

from gemel.services.render.torch_threads import one_torch_thread  # noqa: E402


def _fail_within() -> None:
    with one_torch_thread():
        assert torch.get_num_threads() == 1
        raise RuntimeError


def test_threads_come_back() -> None:
    """As many as before, although what ran within failed."""
    before = torch.get_num_threads()
    with pytest.raises(RuntimeError):
        _fail_within()
    assert torch.get_num_threads() == before
