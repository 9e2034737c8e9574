"""One call of the CPU renderer on numpy arrays, forward and backward: memory and the order of the kernels. No torch."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gemel.services.render import cpu_layout as at
from gemel.services.render.checks import not_finite
from gemel.services.render.cpu_kernels import draw_kernel, gradient_kernel, list_kernel
from gemel.services.render.cpu_layout import Images, Inputs, Lists, Outputs, Sizes
from gemel.services.render.cpu_phases import CONTROL
from gemel.services.render.cpu_threads import run_with_helpers
from gemel.services.render.cpu_tiles import BUCKETS
from gemel.services.render.cpu_workspace import Loan, Workspace
from gemel.services.render.simd_memory import address, addresses

SMALL_FLOATS = 64 * at.LANES
"""Floats of a worker's small scratch: SH basis, slopes, pixel boxes, staged moments."""
CHECKED = ("means", "covariances", "quats", "scales", "opacities", "sh", "extras")


class Scratch(NamedTuple):
    """Addresses of one worker's private memory."""

    small: int
    histogram: int
    starts: int
    spans: int
    planes: int
    sums: int


@dataclass(frozen=True)
class Frame:
    """What a backward pass needs of its forward pass. The arrays keep the memory alive that the addresses name."""

    sizes: Sizes
    inputs: Inputs
    images: Images
    lists_at: Lists
    scratches: tuple[Scratch, ...]
    entry_count: int
    loan: Loan


def draw(sizes: Sizes, inputs: Inputs, images: Images, loan: Loan) -> Frame:
    """Fill the images; at least one Gaussian and one camera."""
    workspace = loan.workspace
    lists = _make_lists(sizes, workspace)
    histograms = workspace.array("histograms", sizes.workers * _padded(_tile_count(sizes)), np.int32)
    histograms.fill(0)
    scratches = tuple(_make_scratch(sizes, workspace, worker) for worker in range(sizes.workers))
    report = np.zeros(1 + len(CHECKED), dtype=np.int64)
    control = np.zeros(CONTROL, dtype=np.int64)
    inputs_at, lists_at = addresses(inputs), addresses(lists)
    rest = ((address(histograms), _padded(_tile_count(sizes))), sizes, inputs_at, lists_at)
    at_control, at_report = address(control), address(report)
    run_with_helpers(sizes.workers, lambda w: list_kernel(at_control, at_report, scratches[w], *rest), (control, report))
    for name, is_bad in zip(CHECKED, report[1:].tolist(), strict=True):
        if is_bad:
            raise not_finite(name)
    lists_at = lists_at._replace(entries=address(workspace.array("entries", 2 * int(report[0]), np.int32)))
    states = address(workspace.array("states", _tile_count(sizes) * 2 * at.PLANE))
    drawing = (states, sizes, inputs_at, lists_at, addresses(images))
    run_with_helpers(sizes.workers, lambda w: draw_kernel(at_control, scratches[w], *drawing), (control, images))
    return Frame(sizes, inputs, images, lists_at, scratches, int(report[0]), loan)


def differentiate(frame: Frame, gradients: Images, outputs: Outputs) -> np.ndarray:
    """Fill the Gaussians' gradients from those of the images; returns the cameras' sums (c, 16)."""
    sizes, workspace = frame.sizes, frame.loan.workspace
    slots = workspace.array("slots", frame.entry_count * sizes.slot)
    hits = workspace.array("hits", frame.entry_count, np.uint8)
    chunks = -(-sizes.gaussians // at.CHUNK)
    partials = workspace.array("partials", chunks * sizes.cameras * at.CAMERA_SUMS)
    control = np.zeros(CONTROL, dtype=np.int64)
    pictures = (addresses(frame.images), addresses(gradients))
    flow = (address(slots), address(hits), address(partials))
    states = address(workspace.array("states", 0))
    rest = (states, sizes, addresses(frame.inputs), frame.lists_at, pictures, flow, addresses(outputs))
    at_control = address(control)
    run_with_helpers(
        sizes.workers, lambda w: gradient_kernel(at_control, frame.scratches[w], *rest), (control, frame, outputs)
    )
    used = partials[: chunks * sizes.cameras * at.CAMERA_SUMS]
    return used.reshape(chunks, sizes.cameras, at.CAMERA_SUMS).sum(axis=0, dtype=np.float64)


def _tile_count(sizes: Sizes) -> int:
    return sizes.cameras * sizes.tiles_x * sizes.tiles_y


def _make_lists(sizes: Sizes, workspace: Workspace) -> Lists:
    splats, tiles = sizes.gaussians * sizes.cameras, _tile_count(sizes)
    records = workspace.array("records", splats * at.RECORD)
    return Lists(
        records=records,
        rects=workspace.array("rects", splats * 4, np.int32),
        slot_starts=workspace.array("slot_starts", splats + 1, np.int32),
        tile_starts=workspace.array("tile_starts", tiles + 1, np.int32),
        tile_ends=workspace.array("tile_ends", tiles, np.int32),
        entries=workspace.array("entries", 2, np.int32),
        tile_order=workspace.array("tile_order", tiles, np.int32),
        visible=workspace.array("visible", 2 * sizes.cameras, np.int32),
        keys=workspace.array("keys", 4 * splats, np.uint32),
        depth_bits=records,
    )


def _make_scratch(sizes: Sizes, workspace: Workspace, worker: int) -> Scratch:
    """One worker's part of the scratch arrays, padded so that no two workers share a cache line.

    Without the padding two threads were hardly faster than one.
    """
    lengths = {
        "small": SMALL_FLOATS,
        "histograms": _tile_count(sizes),
        "starts": BUCKETS,
        "spans": at.SPANS,
        "planes": (10 + sizes.extras) * at.PLANE,
        "sums": sizes.cameras * at.CAMERA_SUMS * at.LANES,
    }
    return Scratch(*(_worker_address(sizes, workspace, worker, item) for item in lengths.items()))


def _padded(length: int) -> int:
    """Items of four bytes, rounded up to whole pairs of cache lines plus one pair to spare."""
    return -(-length // 32) * 32 + 32


def _worker_address(sizes: Sizes, workspace: Workspace, worker: int, item: tuple[str, int]) -> int:
    name, length = item
    kind = np.float32 if name in ("small", "planes", "sums") else np.int32
    return address(workspace.array(name, sizes.workers * _padded(length), kind)) + 4 * worker * _padded(length)
