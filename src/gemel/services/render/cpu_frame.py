"""One call of the CPU renderer, forward and backward: memory and the order of the kernels. Addresses only, no torch."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gemel.services.render import cpu_layout as at
from gemel.services.render.checks import not_finite
from gemel.services.render.cpu_kernels import COUNT, PROJECT, SORT, START, forward_kernel, gradient_kernel
from gemel.services.render.cpu_layout import Images, Inputs, Lists, Outputs, Scene, Sizes
from gemel.services.render.cpu_phases import CONTROL, STRIDE
from gemel.services.render.cpu_threads import run_with_helpers
from gemel.services.render.cpu_tiles import BUCKETS
from gemel.services.render.cpu_workspace import Loan, Workspace
from gemel.services.render.simd_memory import address

SMALL_FLOATS = 160 * at.LANES
"""Floats of a worker's small scratch: SH basis, slopes, boxes, staged moments, SH coefficients, their gradients."""
CHECKED = ("means", "covariances", "quats", "scales", "opacities", "sh", "extras")
BYTES = 4
"""All buffers but two hold items of four bytes."""


class Scratch(NamedTuple):
    """Addresses of one worker's private memory."""

    small: int
    starts: int
    spans: int
    planes: int
    sums: int


@dataclass(frozen=True)
class Frame:
    """What a backward pass needs of its forward pass. The owner of the inputs and images keeps them alive."""

    sizes: Sizes
    inputs: Inputs
    images: Images
    lists: Lists
    scratches: tuple[Scratch, ...]
    states: int
    entry_count: int
    loan: Loan


def draw(sizes: Sizes, inputs: Inputs, images: Images, loan: Loan) -> Frame:
    """Fill the images; at least one Gaussian and one camera."""
    workspace = loan.workspace
    lists, scratches, states = _plan(sizes, workspace)
    control, report = np.zeros(CONTROL, dtype=np.int64), np.zeros(1 + len(CHECKED), dtype=np.int64)
    for _ in range(2):
        room = workspace.bytes_of("entries") // (2 * BYTES)
        rest = ((states, room), Scene(sizes, inputs, lists), images)
        _run_forward(sizes.workers, control, report, scratches, rest)
        if report[0] <= room:
            break
        lists = lists._replace(entries=workspace.room("entries", 2 * BYTES * int(report[0])))
        control[:] = 0
        control[[p * STRIDE + k for p in (PROJECT, SORT, COUNT, START) for k in (0, 8)]] = 1 << 40
    for name, is_bad in zip(CHECKED, report[1:].tolist(), strict=True):
        if is_bad:
            raise not_finite(name)
    return Frame(sizes, inputs, images, lists, scratches, states, int(report[0]), loan)


def _run_forward(
    workers: int,
    control: np.ndarray,
    report: np.ndarray,
    scratches: tuple[Scratch, ...],
    rest: tuple[object, ...],
) -> None:
    control_at, report_at = address(control), address(report)
    run_with_helpers(
        workers,
        lambda worker: forward_kernel(control_at, report_at, scratches[worker], *rest),
        (control, report),
    )


def differentiate(frame: Frame, gradients: Images, outputs: Outputs) -> np.ndarray:
    """Fill the Gaussians' gradients from those of the images; returns the cameras' sums (c, 16).

    Images without a gradient (address 0) share a buffer that is never written. Left to autograd, filling zeros wakes
    torch's thread pool, which then spins: 29 ms of processor time for a 320x240 frame instead of 12 on a busy machine.
    """
    sizes, workspace = frame.sizes, frame.loan.workspace
    channels = max(1, sizes.extras, 3)
    zeros = workspace.room("zeros", BYTES * sizes.cameras * sizes.height * sizes.width * channels)
    gradients = Images(*(at_image or zeros for at_image in gradients))
    slots = workspace.room("slots", BYTES * frame.entry_count * sizes.slot)
    chunks = -(-sizes.gaussians // at.CHUNK)
    sum_count = chunks * sizes.cameras * at.CAMERA_SUMS
    partials = workspace.room("partials", BYTES * sum_count)
    control = np.zeros(CONTROL, dtype=np.int64)
    pictures, flow = (frame.images, gradients), (slots, partials)
    rest = (frame.states, Scene(sizes, frame.inputs, frame.lists), pictures, flow, outputs)
    control_at, scratches = address(control), frame.scratches
    # The job names no object that owns the workspace: a helper that wakes up late must not keep it from its next user.
    run_with_helpers(sizes.workers, lambda worker: gradient_kernel(control_at, scratches[worker], *rest), control)
    parts = workspace.view("partials", sum_count, np.float32).reshape(chunks, sizes.cameras, at.CAMERA_SUMS)
    sums: np.ndarray = parts.sum(axis=0, dtype=np.float64)
    return sums


def _plan(sizes: Sizes, workspace: Workspace) -> tuple[Lists, tuple[Scratch, ...], int]:
    """Addresses of lists, scratch and tile states; those of the last call if nothing has changed."""
    plan: Any = workspace.recall(sizes)
    if plan is None:
        lists, scratches = _make_lists(sizes, workspace), _make_scratches(sizes, workspace)
        plan = lists, scratches, workspace.room("states", BYTES * _tile_count(sizes) * 2 * at.PLANE)
        workspace.remember(sizes, plan)
    made: tuple[Lists, tuple[Scratch, ...], int] = plan
    return made


def _tile_count(sizes: Sizes) -> int:
    return sizes.cameras * sizes.tiles_x * sizes.tiles_y


def _make_lists(sizes: Sizes, workspace: Workspace) -> Lists:
    splats, tiles = sizes.gaussians * sizes.cameras, _tile_count(sizes)
    records = workspace.room("records", BYTES * splats * at.RECORD)
    return Lists(
        records=records,
        rects=workspace.room("rects", BYTES * splats * 4),
        slot_starts=workspace.room("slot_starts", BYTES * (splats + 1)),
        tile_starts=workspace.room("tile_starts", BYTES * (tiles + 1)),
        entries=workspace.room("entries", 0),
        tile_order=workspace.room("tile_order", BYTES * tiles),
        visible=workspace.room("visible", BYTES * 4 * sizes.cameras),
        keys=workspace.room("keys", BYTES * 4 * splats),
        histograms=workspace.room("histograms", BYTES * 2 * sizes.cameras * _padded(sizes.tiles_x * sizes.tiles_y)),
        depth_bits=records,
    )


def _make_scratches(sizes: Sizes, workspace: Workspace) -> tuple[Scratch, ...]:
    """Every worker's part of the scratch buffers, padded so that no two workers share a cache line.

    With shared lines two threads took 6.8 ms for the benchmark's frame, without 5.9 (one thread: 8.9).
    """
    lengths = {
        "small": _padded(SMALL_FLOATS),
        "starts": _padded(BUCKETS),
        "spans": _padded(at.SPANS),
        "planes": _padded((10 + sizes.extras) * at.PLANE),
        "sums": _padded(sizes.cameras * at.CAMERA_SUMS * at.LANES),
    }
    bases = {name: workspace.room(name, BYTES * sizes.workers * length) for name, length in lengths.items()}
    return tuple(
        Scratch._make(bases[name] + BYTES * worker * length for name, length in lengths.items())
        for worker in range(sizes.workers)
    )


def _padded(length: int) -> int:
    """Items of four bytes, rounded up to whole pairs of cache lines plus one pair to spare."""
    return -(-length // 32) * 32 + 32
