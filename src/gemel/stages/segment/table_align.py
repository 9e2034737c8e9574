"""Refining camera poses against the table: views are moved until they agree with the map made of all of them.

Gauss-Newton from blurred to sharp. What is wrong with a mounted camera is mostly the same in all of its views: how it
is mounted, offsets of the joints that carry it, its delay. These are fitted first, then each view gets a small
correction of its own. All stay near the guess by their standard deviations, so a plain table leaves the guesses alone.
Residuals are differences of band-passed log brightness, which exposure, vignetting and slow changes of light do not
touch; Tukey's weights ignore what does not lie in the plane.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from gemel.geometry import SE3, SO3
from gemel.stages.segment.table_map import TableGrid, median_known, sample_views
from gemel.stages.segment.view import View, pixel_rays

BLURS_PX = (4.0, 3.0, 2.0, 1.4, 1.0)
_SHARED_STEPS, _OWN_STEPS = 3, 2
_OWN_PART = 0.1
"""Standard deviation of a view's own error over that of its camera's mounting."""
_STRIDE = 2
_TUKEY = 4.685
"""Tukey's constant: 95 % efficiency for Gaussian residuals."""
_CORRELATED = 50.0
"""How many neighbouring pixels of wood grain count as one measurement."""


@dataclass(frozen=True, eq=False)
class Corrected:
    """A view's pose as it is corrected."""

    shared: Float[np.ndarray, " p"]
    """Shift [m] and turn [rad] of the mounting in the camera's own frame, then the view's drifts."""
    own: Float[np.ndarray, "6"]
    """Shift [m] and turn [rad] of this view alone, in the camera's own frame."""

    def pose(self, view: View) -> SE3:
        """The corrected `T_world_camera`."""
        xi = self.own + shared_motion(view) @ self.shared
        guess = guess_of(view)
        return SE3(guess.rotation @ SO3.exp(xi[3:]), guess.translation + guess.rotation @ xi[:3])


@dataclass(frozen=True, eq=False)
class Seen:
    """What the fit of one view looks at."""

    view: View
    rays: Float[np.ndarray, "n 3"]
    feature: Float[np.ndarray, " n"]


def shared_motion(view: View) -> Float[np.ndarray, "6 p"]:
    """How the view moves in its own frame per unit of what all views of its camera share."""
    return np.concatenate([np.eye(6), view.drifts], axis=1)


def pose_sigma(view: View) -> Float[np.ndarray, "6"]:
    """Standard deviations of the guessed pose."""
    return np.array([view.translation_sigma_m] * 3 + [view.rotation_sigma_rad] * 3)


def table_feature(image: np.ndarray, blur_px: float) -> Float[np.ndarray, "h w"]:
    """Band-passed log brightness."""
    import cv2

    grey = np.log(image.astype(np.float32).mean(axis=2) + 8.0)
    slow = cv2.GaussianBlur(grey, (0, 0), 0.1 * image.shape[1])
    return cv2.GaussianBlur(grey - slow, (0, 0), blur_px).astype(np.float64)


def align_to_table(
    views: list[View], grid: TableGrid, hidden: list[Bool[np.ndarray, "_ _"]], start: list[Corrected] | None = None
) -> list[Corrected]:
    """Corrections with which the views agree on the table."""
    states = start or [Corrected(np.zeros(6 + view.drifts.shape[1]), np.zeros(6)) for view in views]
    for blur in BLURS_PX if start is None else BLURS_PX[-2:]:
        features = [table_feature(view.image, blur) for view in views]
        layers = map_layers(features, views, states, grid, hidden)
        seen = [
            see(view, feature, mask) for view, feature, mask in zip(views, features, hidden, strict=True)
        ]  # fmt: skip
        for _ in range(_SHARED_STEPS):
            states = fit_shared(seen, states, layers, grid)
        states = [fit_own(s, state, layers, grid) for s, state in zip(seen, states, strict=True)]
    return states


def map_layers(
    features: list[Float[np.ndarray, "_ _"]], views: list[View], states: list[Corrected], grid: TableGrid,
    hidden: list[Bool[np.ndarray, "_ _"]],
) -> Float[np.ndarray, "row column 3"]:  # fmt: skip
    """The map of the feature and its derivatives along x and y [1/m]; NaN where unknown."""
    poses = [state.pose(view) for view, state in zip(views, states, strict=True)]
    plan = median_known(sample_views(features, views, poses, grid, hidden))
    slope_y, slope_x = np.gradient(plan, grid.cell_m)
    return np.stack([plan, slope_x, slope_y], axis=-1).astype(np.float32)


def see(view: View, feature: Float[np.ndarray, "h w"], hidden: Bool[np.ndarray, "h w"]) -> Seen:
    """The pixels of a view that the fit looks at: every second one that is not hidden."""
    assert view.model is not None
    use = (slice(None, None, _STRIDE), slice(None, None, _STRIDE))
    keep = ~hidden[use]
    return Seen(view, pixel_rays(view.model)[use][keep], feature[use][keep])


def fit_own(seen: Seen, state: Corrected, layers: Float[np.ndarray, "row column 3"], grid: TableGrid) -> Corrected:
    """The view's own correction, with what it shares kept."""
    sigma = _OWN_PART * pose_sigma(seen.view)
    for _ in range(_OWN_STEPS):
        H, b = _normal_equations(seen, state, layers, grid)
        step = np.linalg.solve(H + np.diag(1.0 / sigma**2), b - state.own / sigma**2)
        state = Corrected(state.shared, state.own + step)
    return state


def guess_of(view: View) -> SE3:
    """The pose that the view came with."""
    assert view.T_world_camera is not None
    return view.T_world_camera


def fit_shared(
    seen: list[Seen], states: list[Corrected], layers: Float[np.ndarray, "row column 3"], grid: TableGrid
) -> list[Corrected]:
    """One step of what the views of each camera share."""
    step_from_camera = {}
    for camera in dict.fromkeys(s.view.camera for s in seen):
        of = [i for i, s in enumerate(seen) if s.view.camera == camera]
        sums = [_normal_equations(seen[i], states[i], layers, grid) for i in of]
        motions = [shared_motion(seen[i].view) for i in of]
        first = seen[of[0]].view
        weight = 1.0 / np.concatenate([pose_sigma(first), first.drift_sigmas]) ** 2
        H = sum((M.T @ H @ M for M, (H, _) in zip(motions, sums, strict=True)), np.diag(weight))
        b = sum((M.T @ b for M, (_, b) in zip(motions, sums, strict=True)), -weight * states[of[0]].shared)
        step_from_camera[camera] = np.linalg.solve(H, b)
    return [
        Corrected(state.shared + step_from_camera[s.view.camera], state.own)
        for s, state in zip(seen, states, strict=True)
    ]


def _normal_equations(
    seen: Seen, state: Corrected, layers: Float[np.ndarray, "row column 3"], grid: TableGrid
) -> tuple[Float[np.ndarray, "6 6"], Float[np.ndarray, "6"]]:
    """Weighted J'J and J'r for a shift and a turn in the camera's own frame."""
    import cv2

    pose = state.pose(seen.view)
    d = pose.rotation @ seen.rays
    with np.errstate(divide="ignore", invalid="ignore"):
        s = (grid.height_m - pose.translation[2]) / d[:, 2]
    points = pose.translation[:2] + s[:, None] * d[:, :2]
    at = np.nan_to_num(grid.places(points), nan=-9.0).clip(-9.0, 1e5).astype(np.float32)
    found = cv2.remap(layers, at[:, :1], at[:, 1:], cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT,
                      borderValue=(np.nan,) * 4)[:, 0]  # fmt: skip
    known = np.isfinite(found).all(axis=1) & (s > 0)
    if known.sum() < 50:
        return np.zeros((6, 6)), np.zeros(6)
    d, s, found = d[known], s[known], found[known].astype(np.float64)
    residual = seen.feature[known] - found[:, 0]
    scale = 1.4826 * np.median(np.abs(residual)) + 1e-3
    weight = np.clip(1.0 - (residual / (_TUKEY * scale)) ** 2, 0.0, None) ** 2 / (scale**2 * _CORRELATED)
    along_z = -(found[:, 1:] * d[:, :2]).sum(axis=1) / d[:, 2]  # lifting the camera moves the hit along the ray
    normal = np.column_stack([found[:, 1:], along_z])  # change of the map per shift of the ray's foot, world axes
    R = guess_of(seen.view).rotation.as_matrix()
    J = np.column_stack([normal @ R, (s[:, None] * np.cross(d, normal)) @ R])
    return (J * weight[:, None]).T @ J, (J * weight[:, None]).T @ residual
