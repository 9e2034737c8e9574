"""One call of the CPU renderer on numpy arrays: the order of the kernels, forward and backward. No torch here."""

from dataclasses import dataclass

import numpy as np

from gemel.services.render import cpu_layout as at
from gemel.services.render.checks import not_finite
from gemel.services.render.cpu_layout import Images, Inputs, Lists, Outputs, Sizes
from gemel.services.render.cpu_project import project_chunks
from gemel.services.render.cpu_project_backward import differentiate_chunks
from gemel.services.render.cpu_raster import draw_tiles
from gemel.services.render.cpu_raster_backward import differentiate_tiles
from gemel.services.render.cpu_threads import run_crew
from gemel.services.render.cpu_tiles import BUCKETS, count_tiles, fill_bands, sort_cameras
from gemel.services.render.cpu_workspace import SMALL_FLOATS, Loan, Workspace
from gemel.services.render.simd_memory import address, addresses

BAD_NAMES = ("means", "covariances", "quats", "scales", "opacities", "sh", "extras")


@dataclass(frozen=True)
class Frame:
    """What a backward pass needs of its forward pass."""

    sizes: Sizes
    inputs: Inputs
    lists: Lists
    images: Images
    loan: Loan
    thread_count: int
    entry_count: int


def draw(sizes: Sizes, inputs: Inputs, images: Images, loan: Loan, thread_count: int) -> Frame:
    """Fill the images; at least one Gaussian and one camera."""
    workspace = loan.workspace
    lists = _make_lists(sizes, workspace)
    _project(sizes, inputs, lists, workspace, thread_count)
    lists, entry_count = _list_tiles(sizes, lists, workspace, thread_count)
    planes = workspace.array("planes", thread_count * (8 + sizes.extras) * at.PLANE)
    states = workspace.array("states", sizes.cameras * sizes.tiles_x * sizes.tiles_y * 2 * at.PLANE)
    counter = np.zeros(1, dtype=np.int64)
    span = (8 + sizes.extras) * at.PLANE
    rest = (address(states), sizes, addresses(inputs), addresses(lists), addresses(images))

    def job(worker: int) -> None:
        draw_tiles(address(counter), address(planes[worker * span :]), *rest)

    run_crew(thread_count, job)
    return Frame(sizes, inputs, lists, images, loan, thread_count, entry_count)


def _make_lists(sizes: Sizes, workspace: Workspace) -> Lists:
    splats = sizes.gaussians * sizes.cameras
    tiles = sizes.cameras * sizes.tiles_x * sizes.tiles_y
    return Lists(
        records=workspace.array("records", splats * at.RECORD),
        rects=workspace.array("rects", splats * 4, np.int32),
        slot_starts=workspace.array("slot_starts", splats + 1, np.int32),
        tile_starts=workspace.array("tile_starts", tiles + 1, np.int32),
        tile_ends=workspace.array("tile_ends", tiles, np.int32),
        entries=workspace.array("entries", 2, np.int32),
        tile_order=workspace.array("tile_order", tiles, np.int32),
        visible=workspace.array("visible", sizes.cameras, np.int32),
        keys=workspace.array("keys", 4 * splats, np.uint32),
    )


def _project(sizes: Sizes, inputs: Inputs, lists: Lists, workspace: Workspace, thread_count: int) -> None:
    small = workspace.array("small", thread_count * SMALL_FLOATS)
    bad = np.zeros((thread_count, len(BAD_NAMES)), dtype=np.int64)
    counter = np.zeros(1, dtype=np.int64)

    rest = (sizes, addresses(inputs), addresses(lists))

    def job(worker: int) -> None:
        mine = address(small[worker * SMALL_FLOATS :])
        project_chunks(address(counter), mine, address(bad[worker]), *rest)

    run_crew(thread_count, job)
    for name, is_bad in zip(BAD_NAMES, bad.any(axis=0), strict=True):
        if is_bad:
            raise not_finite(name)


def _list_tiles(sizes: Sizes, lists: Lists, workspace: Workspace, thread_count: int) -> tuple[Lists, int]:
    sorters = min(thread_count, sizes.cameras)
    starts = workspace.array("radix", thread_count * BUCKETS, np.int32)
    counter = np.zeros(1, dtype=np.int64)
    at_lists = addresses(lists)
    run_crew(sorters, lambda w: sort_cameras(address(counter), address(starts[w * BUCKETS :]), sizes, at_lists))
    entry_count = int(count_tiles(sizes, at_lists))
    lists = lists._replace(entries=workspace.array("entries", 2 * entry_count, np.int32))
    tiles = sizes.cameras * sizes.tiles_x * sizes.tiles_y
    loads = np.diff(lists.tile_starts[: tiles + 1])
    lists.tile_order[:tiles] = np.argsort(-loads, kind="stable")
    bands = min(thread_count, sizes.tiles_y)
    turn = np.zeros(1, dtype=np.int64)
    at_lists = addresses(lists)
    run_crew(thread_count, lambda _: fill_bands(address(turn), bands, sizes, at_lists))
    return lists, entry_count


def differentiate(frame: Frame, gradients: Images, outputs: Outputs) -> np.ndarray:
    """Fill the Gaussians' gradients from those of the images; returns the cameras' sums (c, 16)."""
    sizes, workspace = frame.sizes, frame.loan.workspace
    slots = workspace.array("slots", frame.entry_count * sizes.slot)
    hits = workspace.array("hits", frame.entry_count, np.uint8)
    _differentiate_tiles(frame, gradients, slots, hits)
    chunks = -(-sizes.gaussians // at.CHUNK)
    partials = workspace.array("partials", chunks * sizes.cameras * at.CAMERA_SUMS)
    _differentiate_chunks(frame, (slots, hits), outputs, partials)
    used = partials[: chunks * sizes.cameras * at.CAMERA_SUMS]
    return used.reshape(chunks, sizes.cameras, at.CAMERA_SUMS).astype(np.float64).sum(axis=0)


def _differentiate_tiles(frame: Frame, gradients: Images, slots: np.ndarray, hits: np.ndarray) -> None:
    workspace, sizes = frame.loan.workspace, frame.sizes
    span = (8 + sizes.extras) * at.PLANE
    planes = workspace.array("planes", frame.thread_count * span)
    states = workspace.array("states", 0)
    counter = np.zeros(1, dtype=np.int64)

    views = (addresses(frame.inputs), addresses(frame.lists), addresses(frame.images), addresses(gradients))
    rest = (address(states), sizes, *views, address(slots), address(hits))

    def job(worker: int) -> None:
        differentiate_tiles(address(counter), address(planes[worker * span :]), *rest)

    run_crew(frame.thread_count, job)


def _differentiate_chunks(
    frame: Frame, flow: tuple[np.ndarray, np.ndarray], outputs: Outputs, partials: np.ndarray
) -> None:
    workspace, sizes = frame.loan.workspace, frame.sizes
    small = workspace.array("small", frame.thread_count * SMALL_FLOATS)
    length = sizes.cameras * at.CAMERA_SUMS * at.LANES
    sums = workspace.array("sums", frame.thread_count * length)
    counter = np.zeros(1, dtype=np.int64)

    views = (addresses(frame.inputs), addresses(frame.lists), address(flow[0]), address(flow[1]))
    rest = (sizes, *views, addresses(outputs), address(partials))

    def job(worker: int) -> None:
        mine, totals = address(small[worker * SMALL_FLOATS :]), address(sums[worker * length :])
        differentiate_chunks(address(counter), mine, totals, *rest)

    run_crew(frame.thread_count, job)
