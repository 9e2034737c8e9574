"""The two entry points of the CPU renderer: a whole forward pass and a whole backward pass, shared by all workers.

Every worker calls the same kernel with its own number; cpu_phases.py says how they share the work. Arguments are named
tuples of addresses (simd_memory.py). `Scratch` addresses one worker's private memory.
"""

from typing import Any

from gemel.services.render import cpu_layout as at
from gemel.services.render.cpu_compile import kernel, part
from gemel.services.render.cpu_open import open_images, open_outputs, open_scene
from gemel.services.render.cpu_phases import done, finish, take
from gemel.services.render.cpu_project import project_task
from gemel.services.render.cpu_project_backward import chunk_task
from gemel.services.render.cpu_raster import draw_task
from gemel.services.render.cpu_raster_backward import tile_task
from gemel.services.render.cpu_tiles import count_slots, fill_task, order_tiles, sort_task, start_tiles
from gemel.services.render.simd_memory import counters, floats, integers

PROJECT, SORT, COUNT, START, FILL, DRAW = 0, 1, 2, 3, 4, 5
TILES, CHUNKS = 0, 1
CHUNK = at.CHUNK


@part
def list_splats(control: Any, report: Any, scratch: Any, scene: Any) -> None:
    """Project, sort by depth, count."""
    sizes, lists = scene.sizes, scene.lists
    small, starts = floats(scratch.small), integers(scratch.starts)
    tasks = (sizes.gaussians + CHUNK - 1) // CHUNK * sizes.cameras
    task = take(control, PROJECT)
    while task < tasks:
        project_task(task, small, report, scene)
        done(control, PROJECT)
        task = take(control, PROJECT)
    finish(control, PROJECT, tasks)
    task = take(control, SORT)
    while task < 2 * sizes.cameras:
        sort_task(task, starts, sizes, lists)
        done(control, SORT)
        task = take(control, SORT)
    if take(control, COUNT) == 0:
        report[0] = count_slots(sizes, lists)
        done(control, COUNT)
    finish(control, SORT, 2 * sizes.cameras)
    finish(control, COUNT, 1)
    if take(control, START) == 0:
        start_tiles(sizes, lists)
        order_tiles(sizes, lists, starts)
        done(control, START)
    finish(control, START, 1)


@part
def draw_splats(control: Any, scratch: Any, states: Any, scene: Any, images: Any) -> None:
    """Fill the tiles' lists, draw the tiles."""
    sizes, lists = scene.sizes, scene.lists
    spans, planes = integers(scratch.spans), floats(scratch.planes)
    task = take(control, FILL)
    while task < 2 * sizes.cameras:
        fill_task(task, sizes, lists)
        done(control, FILL)
        task = take(control, FILL)
    finish(control, FILL, 2 * sizes.cameras)
    tiles = sizes.cameras * sizes.tiles_x * sizes.tiles_y
    task = take(control, DRAW)
    while task < tiles:
        draw_task(task, spans, planes, states, scene, images)
        done(control, DRAW)
        task = take(control, DRAW)
    finish(control, DRAW, tiles)


@kernel
def forward_kernel(control: Any, report: Any, scratch: Any, memory: Any, scene: Any, images: Any) -> None:
    """The forward pass. memory = (tile states, room for how many entries).

    report: entry count, then one flag per input that holds values which are not finite. If the entries do not fit,
    nothing is drawn; the caller makes room and calls again with the first phases marked as done.
    """
    control, report = counters(control), counters(report)
    scene, images = open_scene(scene), open_images(images)
    list_splats(control, report, scratch, scene)
    if report[0] <= memory[1]:
        draw_splats(control, scratch, floats(memory[0]), scene, images)


@kernel
def gradient_kernel(
    control: Any,
    scratch: Any,
    states: Any,
    scene: Any,
    pictures: Any,
    flow: Any,
    outputs: Any,
) -> None:
    """The backward pass: tiles back to front, then Gaussians. pictures = (images, gradients); flow = (slots,
    partials)."""
    control, scene, outputs = counters(control), open_scene(scene), open_outputs(outputs)
    sizes = scene.sizes
    spans, planes, states = integers(scratch.spans), floats(scratch.planes), floats(states)
    views, slots = (open_images(pictures[0]), open_images(pictures[1])), floats(flow[0])
    tiles = sizes.cameras * sizes.tiles_x * sizes.tiles_y
    task = take(control, TILES)
    while task < tiles:
        tile_task(task, spans, planes, states, scene, views, slots)
        done(control, TILES)
        task = take(control, TILES)
    finish(control, TILES, tiles)
    chunks = (sizes.gaussians + CHUNK - 1) // CHUNK
    small, sums, partials = floats(scratch.small), floats(scratch.sums), floats(flow[1])
    task = take(control, CHUNKS)
    while task < chunks:
        chunk_task(task, (small, sums), scene, slots, outputs, partials)
        done(control, CHUNKS)
        task = take(control, CHUNKS)
    finish(control, CHUNKS, chunks)
