"""Benchmarks by name; each is imported only when it is run."""

from collections.abc import Callable

Result = tuple[dict[str, float], list[dict[str, object]]]


def _adapt() -> Callable[..., Result]:
    from gemel.benchmarks.adapt.bench import bench_adapt

    return bench_adapt


def _cube_toss() -> Callable[..., Result]:
    from gemel.benchmarks.cube_toss.bench import bench_cube_toss

    return bench_cube_toss


def _push() -> Callable[..., Result]:
    from gemel.benchmarks.push.bench import bench_push

    return bench_push


def _servo() -> Callable[..., Result]:
    from gemel.benchmarks.servo.bench import bench_servo

    return bench_servo


def _ingest() -> Callable[..., Result]:
    from gemel.benchmarks.ingest import bench_ingest

    return bench_ingest


def _calibrate() -> Callable[..., Result]:
    from gemel.benchmarks.calibrate import bench_calibrate

    return bench_calibrate


def _identify() -> Callable[..., Result]:
    from gemel.benchmarks.identify import bench_identify

    return bench_identify


def _identify_pixels() -> Callable[..., Result]:
    from gemel.benchmarks.identify_pixels import pixel_figures

    return pixel_figures


def _growth() -> Callable[..., Result]:
    from gemel.benchmarks.growth import bench_growth

    return bench_growth


def _reconstruct() -> Callable[..., Result]:
    from gemel.benchmarks.reconstruct import bench_reconstruct

    return bench_reconstruct


def _live() -> Callable[..., Result]:
    from gemel.benchmarks.live import bench_live

    return bench_live


def _masks() -> Callable[..., Result]:
    from gemel.benchmarks.masks import bench_masks

    return bench_masks


def _rollout() -> Callable[..., Result]:
    from gemel.benchmarks.rollout import bench_rollout

    return bench_rollout


def _splat() -> Callable[..., Result]:
    from gemel.benchmarks.splat import bench_splat

    return bench_splat


def _track() -> Callable[..., Result]:
    from gemel.benchmarks.track import bench_track

    return bench_track


def _train() -> Callable[..., Result]:
    from gemel.benchmarks.train import bench_train

    return bench_train


def _views() -> Callable[..., Result]:
    from gemel.benchmarks.views import bench_views

    return bench_views


def _world() -> Callable[..., Result]:
    from gemel.benchmarks.world import bench_world

    return bench_world


BENCHMARKS: dict[str, Callable[[], Callable[..., Result]]] = {
    "adapt": _adapt,
    "calibrate": _calibrate,
    "cube-toss": _cube_toss,
    "growth": _growth,
    "identify": _identify,
    "identify-pixels": _identify_pixels,
    "ingest": _ingest,
    "live": _live,
    "reconstruct": _reconstruct,
    "masks": _masks,
    "push": _push,
    "rollout": _rollout,
    "servo": _servo,
    "splat": _splat,
    "track": _track,
    "train": _train,
    "views": _views,
    "world": _world,
}
