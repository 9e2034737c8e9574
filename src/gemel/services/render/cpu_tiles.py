"""Which splats each tile meets, front to back.

One radix sort of the visible splats by depth, then a counting sort into tiles: filling in depth order leaves every
tile's list sorted, so no list is ever sorted on its own. Ties in depth keep the order of the Gaussians.

A splat's gradient slots (one per tile that it touches) are numbered contiguously, so that the backward projection adds
them up in a fixed order: no races, and equal bits for any number of threads.
"""

from typing import Any

from gemel.services.render import cpu_layout as at
from gemel.services.render.cpu_compile import kernel, part
from gemel.services.render.cpu_open import open_lists
from gemel.services.render.simd import atomic_take
from gemel.services.render.simd_memory import counters, integers, unsigned

RADIX_BITS = 11
BUCKETS = 1 << RADIX_BITS


@part
def radix_pass(keys: Any, source: int, target: int, count: int, shift: int, starts: Any) -> None:
    """One stable pass over the key bits [shift, shift + 11), from keys[source ...] to keys[target ...].

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
        keys[place] = keys[source + 2 * i]
        keys[place + 1] = keys[source + 2 * i + 1]
        starts[b] = starts[b] + 1


@part
def gather_visible(keys: Any, place: int, depths: Any, rects: Any, first: int, end: int) -> int:
    """Write (depth bits, splat) of the visible splats in [first, end); positive floats sort like their bits."""
    count = 0
    for s in range(first, end):
        if rects[4 * s + 2] > 0:
            keys[place + 2 * count] = depths[s * at.RECORD + at.DEPTH]
            keys[place + 2 * count + 1] = s
            count += 1
    return count


@kernel
def sort_cameras(counter: Any, starts: Any, sizes: Any, lists: Any) -> None:
    """One worker's share of sorting: take a camera, order its visible splats by depth, repeat."""
    counter, starts, depths = counters(counter), integers(starts), unsigned(lists.records)
    lists = open_lists(lists)
    n = sizes.gaussians
    while True:
        camera = atomic_take(counter, 1)
        if camera >= sizes.cameras:
            break
        here = 2 * camera * n
        there = here + 2 * sizes.cameras * n
        count = gather_visible(lists.keys, here, depths, lists.rects, camera * n, (camera + 1) * n)
        radix_pass(lists.keys, here, there, count, 0, starts)
        radix_pass(lists.keys, there, here, count, RADIX_BITS, starts)
        radix_pass(lists.keys, here, there, count, 2 * RADIX_BITS, starts)
        lists.visible[camera] = count


@kernel
def count_tiles(sizes: Any, lists: Any) -> int:
    """Give every visible splat its slots and every tile the start of its list; returns the number of entries."""
    lists = open_lists(lists)
    n, per_camera = sizes.gaussians, sizes.tiles_x * sizes.tiles_y
    starts = lists.tile_starts
    for t in range(per_camera * sizes.cameras + 1):
        starts[t] = 0
    slots = 0
    for s in range(n * sizes.cameras):
        lists.slot_starts[s] = slots
        base = (s // n) * per_camera + 1
        for y in range(lists.rects[4 * s + 1], lists.rects[4 * s + 3]):
            for x in range(lists.rects[4 * s], lists.rects[4 * s + 2]):
                t = base + y * sizes.tiles_x + x
                starts[t] = starts[t] + 1
                slots += 1
    lists.slot_starts[n * sizes.cameras] = slots
    for t in range(per_camera * sizes.cameras):
        starts[t + 1] = starts[t + 1] + starts[t]
    return slots


@part
def fill_band(camera: int, top: int, bottom: int, sizes: Any, lists: Any) -> None:
    """Fill the lists of the tile rows [top, bottom) of one camera; `lists.tile_ends` counts along."""
    base = camera * sizes.tiles_x * sizes.tiles_y
    sorted_keys = 2 * sizes.gaussians * (sizes.cameras + camera)
    for i in range(lists.visible[camera]):
        s = int(lists.keys[sorted_keys + 2 * i + 1])
        x0, y0, x1, y1 = lists.rects[4 * s], lists.rects[4 * s + 1], lists.rects[4 * s + 2], lists.rects[4 * s + 3]
        for y in range(max(y0, top), min(y1, bottom)):
            slot = lists.slot_starts[s] + (y - y0) * (x1 - x0)
            for x in range(x0, x1):
                tile = base + y * sizes.tiles_x + x
                entry = lists.tile_ends[tile]
                lists.tile_ends[tile] = entry + 1
                lists.entries[2 * entry] = s
                lists.entries[2 * entry + 1] = slot + x - x0


@kernel
def fill_bands(counter: Any, bands: int, sizes: Any, lists: Any) -> None:
    """One worker's share of filling: take a band of one camera's tile rows, fill its lists, repeat."""
    counter, lists = counters(counter), open_lists(lists)
    while True:
        taken = atomic_take(counter, 1)
        if taken >= bands * sizes.cameras:
            break
        camera, band = taken // bands, taken % bands
        top, bottom = band * sizes.tiles_y // bands, (band + 1) * sizes.tiles_y // bands
        first = (camera * sizes.tiles_y + top) * sizes.tiles_x
        last = (camera * sizes.tiles_y + bottom) * sizes.tiles_x
        for t in range(first, last):
            lists.tile_ends[t] = lists.tile_starts[t]
        fill_band(camera, top, bottom, sizes, lists)
