"""Which splats each tile meets, front to back.

One radix sort of the visible splats by depth, then a counting sort into tiles: filling in depth order leaves every
tile's list sorted, so no list is ever sorted on its own. Ties in depth keep the order of the Gaussians. Only the bits
in which depths differ are sorted, in digits of 13 bits: two passes for most scenes.

A splat's gradient slots (one per tile that it touches) are numbered contiguously, so that the backward projection adds
them up in a fixed order: no races, and equal bits for any number of threads.
"""

from typing import Any

from gemel.services.render import cpu_layout as at
from gemel.services.render.cpu_compile import part
from gemel.services.render.simd import prefetch

DIGIT_BITS = 13
BUCKETS = 1 << DIGIT_BITS
SAMPLES = 48  # splats from which the median depth is guessed
AHEAD = 12  # splats whose boxes are fetched ahead


@part
def radix_pass(keys: Any, source: int, target: int, count: int, shift: int, starts: Any) -> None:
    """One stable pass over the key bits [shift, shift + 13), from keys[source ...] to keys[target ...].

    Items are (depth bits, splat).
    """
    for b in range(BUCKETS):
        starts[b] = 0
    for i in range(count):
        b = (keys[source + 2 * i] >> shift) & (BUCKETS - 1)
        starts[b] = starts[b] + 1
    total = 0
    for b in range(BUCKETS):
        size = starts[b]
        starts[b] = total
        total += size
    for i in range(count):
        b = (keys[source + 2 * i] >> shift) & (BUCKETS - 1)
        place = target + 2 * starts[b]
        starts[b] = starts[b] + 1
        keys[place] = keys[source + 2 * i]
        keys[place + 1] = keys[source + 2 * i + 1]


@part
def median_bits(lists: Any, first: int, end: int) -> int:
    """Depth bits in the middle of a sample of the visible splats in [first, end); found by counting, no sorting."""
    step = max(1, (end - first) // SAMPLES)
    best, best_excess = 0, 1 << 30
    for s in range(first, end, step):
        if lists.rects[4 * s + 2] > 0:
            bits, excess = int(lists.depth_bits[s * at.RECORD + at.DEPTH]), 0
            for other in range(first, end, step):
                if lists.rects[4 * other + 2] > 0:
                    excess += 1 if int(lists.depth_bits[other * at.RECORD + at.DEPTH]) < bits else -1
            if abs(excess) < best_excess:
                best, best_excess = bits, abs(excess)
    return best


@part
def enter(histogram: int, s: int, sizes: Any, lists: Any) -> None:
    """Count a splat in every tile that it touches."""
    x0, x1 = lists.rects[4 * s], lists.rects[4 * s + 2]
    for y in range(lists.rects[4 * s + 1], lists.rects[4 * s + 3]):
        for t in range(histogram + y * sizes.tiles_x + x0, histogram + y * sizes.tiles_x + x1):
            lists.histograms[t] = lists.histograms[t] + 1


@part
def gather_half(task: int, pivot: int, span: Any, sizes: Any, lists: Any) -> Any:
    """Write (depth bits, splat) of one half of the visible splats; returns their count, lowest and highest bits.

    span = (first splat, end, step, place of the first key). The nearer half is written upwards; the farther half
    downwards, going through the splats backwards, so that either half lies in the order of the Gaussians. Positive
    floats sort like their bits. Also counts the half's splats per tile.
    """
    first, end, step, place = span
    histogram = task * _stride(sizes)
    count, low, high = 0, 0xFFFFFFFF, 0
    for t in range(histogram, histogram + sizes.tiles_x * sizes.tiles_y):
        lists.histograms[t] = 0
    for s in range(first, end, step):
        if lists.rects[4 * s + 2] > 0:
            bits = int(lists.depth_bits[s * at.RECORD + at.DEPTH])
            if (bits < pivot) == (step > 0):
                low, high = min(low, bits), max(high, bits)
                lists.keys[place] = bits
                lists.keys[place + 1] = s
                place += 2 * step
                count += 1
                enter(histogram, s, sizes, lists)
    return count, low, high


@part
def _stride(sizes: Any) -> int:
    """Distance between two histograms: the tiles of a camera, rounded up to whole pairs of cache lines."""
    return (sizes.tiles_x * sizes.tiles_y + 31) // 32 * 32


@part
def sort_task(task: int, starts: Any, sizes: Any, lists: Any) -> None:
    """Order one half (nearer or farther than the median) of one camera's visible splats by depth.

    Notes how many there are and where the sorted list begins. Halves, because sorting is the one step that would
    otherwise keep all workers but one waiting.
    """
    n, camera, half = sizes.gaussians, task // 2, task % 2
    first, end = camera * n, (camera + 1) * n
    pivot = median_bits(lists, first, end)
    here, count, low, high = 2 * first, 0, 0, 0
    if half == 0:
        count, low, high = gather_half(task, pivot, (first, end, 1, here), sizes, lists)
    else:
        count, low, high = gather_half(task, pivot, (end - 1, first - 1, -1, 2 * end - 2), sizes, lists)
        here = 2 * (end - count)
    there = here + 2 * sizes.cameras * n
    for i in range(count):
        lists.keys[here + 2 * i] = lists.keys[here + 2 * i] - low
    shift = 0
    while count > 0 and (high - low) >> shift > 0:
        radix_pass(lists.keys, here, there, count, shift, starts)
        here, there = there, here
        shift += DIGIT_BITS
    lists.visible[2 * task] = count
    lists.visible[2 * task + 1] = here


@part
def count_slots(sizes: Any, lists: Any) -> int:
    """First gradient slot of every splat; returns the number of slots, which is the number of entries."""
    slots = 0
    for s in range(sizes.gaussians * sizes.cameras):
        size = lists.slot_starts[s]
        lists.slot_starts[s] = slots
        slots += size
    lists.slot_starts[sizes.gaussians * sizes.cameras] = slots
    return slots


@part
def start_tiles(sizes: Any, lists: Any) -> None:
    """Start of every tile's list; the histograms become the places where each half continues it."""
    tiles, total = sizes.tiles_x * sizes.tiles_y, 0
    for camera in range(sizes.cameras):
        for t in range(tiles):
            near, far = 2 * camera * _stride(sizes) + t, (2 * camera + 1) * _stride(sizes) + t
            near_count, far_count = lists.histograms[near], lists.histograms[far]
            lists.tile_starts[camera * tiles + t] = total
            lists.histograms[near], lists.histograms[far] = total, total + near_count
            total += near_count + far_count
    lists.tile_starts[sizes.cameras * tiles] = total


@part
def order_tiles(sizes: Any, lists: Any, starts: Any) -> None:
    """Fullest tiles first (to within 1/1024 of the fullest), so that no long task is left for the end."""
    tiles, most = sizes.cameras * sizes.tiles_x * sizes.tiles_y, 1
    for t in range(tiles):
        most = max(most, lists.tile_starts[t + 1] - lists.tile_starts[t])
    for b in range(1025):
        starts[b] = 0
    for t in range(tiles):
        b = 1023 - 1023 * (lists.tile_starts[t + 1] - lists.tile_starts[t]) // most
        starts[b + 1] = starts[b + 1] + 1
    for b in range(1024):
        starts[b + 1] = starts[b + 1] + starts[b]
    for t in range(tiles):
        b = 1023 - 1023 * (lists.tile_starts[t + 1] - lists.tile_starts[t]) // most
        lists.tile_order[starts[b]] = t
        starts[b] = starts[b] + 1


@part
def fill_task(task: int, sizes: Any, lists: Any) -> None:
    """Enter one half of a camera's splats into the tiles' lists, in order of depth."""
    count, keys = lists.visible[2 * task], lists.visible[2 * task + 1]
    base = task * _stride(sizes)
    for i in range(count):
        s = int(lists.keys[keys + 2 * i + 1])
        ahead = int(lists.keys[keys + 2 * min(i + AHEAD, count - 1) + 1])
        prefetch(lists.rects, 4 * ahead, 0)
        prefetch(lists.slot_starts, ahead, 0)
        slot = lists.slot_starts[s]
        for y in range(lists.rects[4 * s + 1], lists.rects[4 * s + 3]):
            for x in range(lists.rects[4 * s], lists.rects[4 * s + 2]):
                place = base + y * sizes.tiles_x + x
                entry = lists.histograms[place]
                lists.histograms[place] = entry + 1
                lists.entries[2 * entry] = s
                lists.entries[2 * entry + 1] = slot
                slot += 1
