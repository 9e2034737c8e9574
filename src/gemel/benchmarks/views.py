"""`gemel bench views`: how well a SplatMesh predicts real views that it has not seen, against Gaussians that are free.

Real images, no robot; the given cameras are the gauge. Every n-th view is withheld, and nothing is decided by it: all
fits run until their training loss gains nothing (plateau.py). The free Gaussians start on the same mesh, have the same
number, minimise the same picture losses and are drawn by the same renderer. On a GPU, plain 3D Gaussian splatting with
gsplat's own strategy is trained too. PSNR and SSIM are taken inside the mask of the withheld views.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from gemel.benchmarks.plateau import Plateau
from gemel.benchmarks.views_data import read_views
from gemel.benchmarks.views_fits import Fitted, fit_bound, fit_default, fit_free_gaussians, make_start, tell_window
from gemel.benchmarks.views_score import score
from gemel.errors import ConfigError
from gemel.services.render.renderer import Renderer, make_renderer
from gemel.stages.reconstruct.views import Views

Figures = dict[str, float]
Rows = list[dict[str, object]]
OnPart = Callable[[Figures, Rows], None]

DATA = Path("../shared/data/dtu_scan24")
COARSE_STEPS = (100, 300)
"""Steps at a quarter and at half the size."""
MOST_STEPS = 5100
"""Cap on the steps at full size, a third for each size of step."""
DEFAULT_STEPS = 7500
"""Steps of gsplat's own trainer: a quarter of its 30 000, for a few dozen small images of one object."""
_SHORT = {"SplatMesh": "", "free Gaussians": "_free_gaussians", "gsplat default": "_gsplat_default"}


def bench_views(
    *,
    quick: bool,
    seed: int,
    data: Path = DATA,
    withhold_every: int = 8,
    backend: str = "cpu",
    gaussians: str = "4000",
    size: str = "200x150",
    on_part: OnPart = lambda figures, rows: None,
) -> tuple[Figures, Rows]:
    """Figures and one row per method and number of Gaussians; `quick` takes seconds and its figures mean nothing.

    `on_part` is told the figures and rows so far whenever a fit is done.
    """
    views = read_views(data, (100, 75) if quick else _size(size))
    if not 2 <= withhold_every <= len(views):
        raise ConfigError(f"withhold-every is {withhold_every}.", remedy=f"give a number from 2 to {len(views)}")
    withheld = list(range(0, len(views), withhold_every))
    seen = views.subset([i for i in range(len(views)) if i not in withheld])
    counts = (1000,) if quick else _counts(gaussians)
    plateau = Plateau((10, 10), 3 * len(seen), rounds=1) if quick else Plateau(COARSE_STEPS, MOST_STEPS, tell_window)
    rows: Rows = []
    for count, fitted, renderer in _fits(seen, counts, backend, plateau, seed):
        psnr, ssim = score(fitted.gaussians, views.subset(withheld), renderer=renderer)
        rows.append(_row(fitted, count, psnr, ssim))
        on_part(_figures(rows, len(withheld)), rows)
    return _figures(rows, len(withheld)), rows


def _fits(
    seen: Views, counts: tuple[int, ...], backend: str, plateau: Plateau, seed: int
) -> Iterator[tuple[int, Fitted, Renderer]]:
    """All fits, the most wanted first: a run that is cut short has told most. Free Gaussians of later numbers wait."""
    renderer = make_renderer(backend)
    device = "cuda" if renderer.name == "cuda" else "cpu"
    waiting = []
    for count in counts:
        start = make_start(seen, count, device=device)
        yield count, fit_bound(start, seen, plateau, renderer=renderer, seed=seed), renderer
        if count == counts[0]:
            yield count, fit_free_gaussians(start, seen, plateau, renderer=renderer, seed=seed), renderer
        else:
            waiting.append((count, start))
        if device == "cuda":
            yield count, fit_default(start, seen, count, steps=DEFAULT_STEPS, seed=seed), renderer
    for count, start in waiting:
        yield count, fit_free_gaussians(start, seen, plateau, renderer=renderer, seed=seed), renderer


def _row(fitted: Fitted, asked: int, psnr_db: float, ssim: float) -> dict[str, object]:
    return {
        "method": fitted.method, "asked": asked, "gaussians": len(fitted.gaussians), "psnr_db": psnr_db, "ssim": ssim,
        "seconds": fitted.seconds, "steps": fitted.steps, "plateau": float(fitted.is_plateau),
        "last_gain": fitted.last_gain, **fitted.extra,
    }  # fmt: skip


def _figures(rows: Rows, withheld_count: int) -> Figures:
    """One name for each number: what, the method's, and the asked number of Gaussians where it is not the first."""
    figures = {"withheld_views": float(withheld_count)}
    for row in rows:
        ending = _SHORT[str(row["method"])] + (f"_{row['asked']}" if row["asked"] != rows[0]["asked"] else "")
        for name in ("psnr_db", "ssim", "gaussians", "seconds", "plateau", "watertight"):
            if name in row:
                figures[name.replace("_db", "") + ending + ("_db" if name == "psnr_db" else "")] = float(str(row[name]))
    return figures


def _size(text: str) -> tuple[int, int]:
    parts = text.lower().split("x")
    if len(parts) != 2 or not all(part.isdigit() and int(part) > 0 for part in parts):
        raise ConfigError(f"--size is {text!r}: expected WIDTHxHEIGHT.", remedy="for example --size 400x300")
    return int(parts[0]), int(parts[1])


def _counts(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if not all(part.strip().isdigit() and int(part) > 0 for part in parts):
        raise ConfigError(f"--gaussians is {text!r}: expected numbers.", remedy="for example --gaussians 20000,60000")
    return tuple(int(part) for part in parts)
