"""What the CPU back end promises beyond parity: determinism, batches, reuse of memory, threads, processes."""

import os
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch  # noqa: TID253

from gemel.services.render.cpu import RendererCpu


def _equal(a: Any, b: Any) -> bool:
    return all(torch.equal(getattr(a, k), getattr(b, k)) for k in ("colour", "alpha", "depth", "extras"))


def test_same_bits_for_any_number_of_threads(make_scene: Any, converted: Any, run_both_ways: Any) -> None:
    """Images and gradients are bit for bit the same with one, two and five threads, and run after run."""
    request = converted(make_scene(n=2000, cameras=2, extras=2, smallest_m=0.01, largest_m=0.1))
    first, first_gradients = run_both_ways(RendererCpu(1), request)
    for threads in (1, 2, 2, 5):
        images, gradients = run_both_ways(RendererCpu(threads), request)
        assert _equal(images, first)
        assert all(torch.equal(gradients[k], first_gradients[k]) for k in gradients)


def test_batch_of_cameras_equals_single_cameras(make_scene: Any, converted: Any) -> None:
    """Drawing three cameras in one call gives each camera's own image, bit for bit."""
    request = converted(make_scene(cameras=3))
    renderer = RendererCpu()
    together = renderer.render(request)
    for camera in range(3):
        chosen = slice(camera, camera + 1)
        alone = replace(request, Ts_camera_world=request.Ts_camera_world[chosen], intrinsics=request.intrinsics[chosen])
        assert torch.equal(renderer.render(alone).colour[0], together.colour[camera])


def test_several_forward_passes_before_the_first_backward(make_scene: Any, converted: Any, run_both_ways: Any) -> None:
    """Each graph keeps its own workspace: interleaved passes give the gradients of separate ones."""
    renderer = RendererCpu()
    requests = [converted(make_scene(seed=seed)) for seed in (0, 1)]
    alone = []
    for request in requests:
        renderer.render(request).colour.square().sum().backward()
        alone.append(request.means.grad.clone())
        request.means.grad = None
    losses = [renderer.render(request).colour.square().sum() for request in requests]
    for loss in losses:
        loss.backward()
    assert all(torch.equal(request.means.grad, grad) for request, grad in zip(requests, alone, strict=True))


def test_graph_can_be_used_twice(make_scene: Any, converted: Any) -> None:
    """With retain_graph a second backward pass gives the same gradients again."""
    request = converted(make_scene())
    loss = RendererCpu().render(request).colour.square().sum()
    (first,) = torch.autograd.grad(loss, [request.means], retain_graph=True)
    (second,) = torch.autograd.grad(loss, [request.means])
    assert torch.equal(first, second)


def test_images_without_a_gradient_count_as_zero(make_scene: Any, converted: Any) -> None:
    """A loss on the colours alone gives the gradients of one that also adds zero times the other images."""
    request, renderer = converted(make_scene(extras=2)), RendererCpu()
    (alone,) = torch.autograd.grad(renderer.render(request).colour.square().sum(), [request.means])
    images = renderer.render(request)
    loss = images.colour.square().sum() + 0.0 * (images.alpha.sum() + images.depth.sum() + images.extras.sum())
    (together,) = torch.autograd.grad(loss, [request.means])
    assert torch.equal(alone, together)


def test_inputs_that_do_not_lie_contiguously(make_scene: Any, converted: Any) -> None:
    """Transposed or sliced tensors are drawn like their contiguous copies."""
    request = converted(make_scene())
    strided = replace(
        request,
        means=request.means.detach().T.contiguous().T,
        sh=torch.cat([request.sh.detach()] * 2, 1)[:, :16],
    )
    assert _equal(RendererCpu().render(strided), RendererCpu().render(request))


def test_memory_is_reused_between_calls(make_scene: Any, converted: Any) -> None:
    """After the first frame a renderer's buffers stop growing."""
    request, renderer = converted(make_scene(n=1000)), RendererCpu()
    held = []
    for _ in range(4):
        renderer.render(request).colour.sum().backward()
        held.append(renderer.shelf.bytes_held)
    assert held[0] == held[-1] > 0


def test_two_python_threads_may_render_at_once(make_scene: Any, converted: Any) -> None:
    """One renderer used from two threads gives each its own right images."""
    requests = [converted(make_scene(seed=seed)) for seed in (0, 1)]
    renderer = RendererCpu(2)
    wanted = [renderer.render(request) for request in requests]
    wrong: list[int] = []

    def draw(which: int) -> None:
        for _ in range(30):
            if not _equal(renderer.render(requests[which]), wanted[which]):
                wrong.append(which)

    threads = [threading.Thread(target=draw, args=(which,)) for which in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_child_renders_with_its_own_helpers(make_scene: Any, converted: Any) -> None:
    """A child that inherits a used renderer can draw with two threads and gets the same image."""
    request, renderer = converted(make_scene()), RendererCpu(2)
    wanted = renderer.render(request).colour.detach().numpy()
    child = os.fork()
    if child == 0:
        same = np.array_equal(renderer.render(request).colour.detach().numpy(), wanted)
        os._exit(0 if same else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
