"""Poses over time from what each camera said of each frame: Rauch-Tung-Striebel smoothing in SE(3).

The state of a frame is a small perturbation of a reference pose about the object's origin, and a velocity. Each camera
saw the object at its own time, so its evidence is about perturbation plus delay times velocity. Between frames the
velocity is constant but for accelerations, most of them small and a few large (a push begins, an object is let go):
each step's acceleration is drawn with a scale of its own, found by iteration (Student's t as a scale mixture).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Float

from gemel.geometry import SE3
from gemel.services.tracking.evidence import moved
from gemel.services.tracking.refine import FramePose

_ROUNDS = 6
_LOOSE = 1e3
"""Scale of the accelerations to begin with: the motion is taken as it was seen, then calmed where it is calm."""
_BLIND = 100.0
"""Scale of accelerations between frames that were lost, at least: somebody may have pushed."""
_FREEDOM = 1.0
"""Degrees of freedom of the accelerations' distribution: 1 is Cauchy's."""
_START_SIGMA = (1.0, 1.0, 1.0, 3.0, 3.0, 3.0)
"""Of the first velocity [m/s, rad/s]."""
_WEAK = 1e-2
"""Information on the first perturbation, so that it is a proper state."""


@dataclass(frozen=True)
class MotionModel:
    """How objects move."""

    acceleration: float = 0.05
    """Typical change of velocity in a second while nothing happens [m/s²]."""
    turning: float = 0.5
    """The same for turning [rad/s²]."""
    jitter_s: float = 0.002
    """Standard deviation of when an image was really taken [s]."""


@dataclass(frozen=True, eq=False)
class Smoothed:
    """Poses over time with what remains uncertain of them."""

    Ts_world_object: Float[np.ndarray, "t 4 4"]
    velocities: Float[np.ndarray, "t 6"]
    """Of the origin [m/s] and about it [rad/s], along the world's axes."""
    covariances: Float[np.ndarray, "t 6 6"]
    """Of the perturbation about the object's origin."""


def smooth(
    times_s: Float[np.ndarray, " t"],
    poses: Sequence[FramePose | None],
    Ts_reference: Float[np.ndarray, "t 4 4"],
    delays_s: Float[np.ndarray, " view"],
    motion: MotionModel,
) -> Smoothed:
    """Poses from the evidence of all frames; frames without a pose (None) are bridged.

    `Ts_reference` are the frames' own poses, and anything sensible where there is none.
    """
    jumps = _differences(Ts_reference)
    scales = np.full(max(len(times_s) - 1, 0), _LOOSE)
    velocities = np.zeros((len(times_s), 6))
    for _ in range(_ROUNDS):
        evidence = [
            _evidence(pose, delays_s, velocity, motion.jitter_s)
            for pose, velocity in zip(poses, velocities, strict=True)
        ]
        states, covariances = _rauch_tung_striebel(times_s, jumps, evidence, scales, motion)
        velocities = states[:, 6:]
        scales = _unseen(_scales(times_s, jumps, states, motion), poses)
    Ts = np.stack([moved(T, state[:6]) for T, state in zip(Ts_reference, states, strict=True)])
    return Smoothed(Ts, velocities, covariances[:, :6, :6])


def _differences(Ts: Float[np.ndarray, "t 4 4"]) -> Float[np.ndarray, "s 6"]:
    """From each reference pose to the next, as perturbations."""
    R = SE3.from_matrix(Ts).rotation
    turns = (R[1:] @ R[:-1].inverse()).log()
    return np.concatenate([np.diff(Ts[:, :3, 3], axis=0), turns], axis=-1)


def _evidence(
    pose: FramePose | None, delays_s: Float[np.ndarray, " view"], velocity: Float[np.ndarray, "6"], jitter_s: float
) -> tuple[np.ndarray, np.ndarray]:
    """Information (12, 12) and its vector (12,) on a frame's state."""
    information, vector = np.zeros((12, 12)), np.zeros(12)
    if pose is None:
        return information, vector
    for seen, delay_s in zip(pose.evidence, delays_s, strict=True):
        # A jitter of the clock is an error along the velocity; taken out by Woodbury's identity.
        push = seen.information @ velocity
        loss = np.outer(push, push) * jitter_s**2 / (1.0 + jitter_s**2 * velocity @ push)
        H = seen.information - loss
        gradient = H @ _own(seen.information, seen.gradient) + H @ (delay_s * pose.velocity)
        A = np.concatenate([np.eye(6), delay_s * np.eye(6)], axis=1)
        information += A.T @ H @ A
        vector += A.T @ gradient
    information[:6, :6] += pose.prior[0]
    vector[:6] += pose.prior[1]
    return information, vector


def _own(information: Float[np.ndarray, "6 6"], gradient: Float[np.ndarray, "6"]) -> Float[np.ndarray, "6"]:
    """The perturbation that one camera's evidence alone asks for, as far as it tells."""
    return np.linalg.pinv(information, rcond=1e-10, hermitian=True) @ gradient


def _transition(dt_s: float, jump: Float[np.ndarray, "6"], scale: float, motion: MotionModel) -> tuple[np.ndarray, ...]:
    """Matrix, offset and noise of one step: constant velocity with white acceleration."""
    F = np.eye(12)
    F[:6, 6:] = dt_s * np.eye(6)
    density = np.repeat([motion.acceleration**2, motion.turning**2], 3) * scale
    Q = np.zeros((12, 12))
    Q[:6, :6] = np.diag(density * dt_s**4 / 4.0 + 1e-14)
    Q[:6, 6:] = Q[6:, :6] = np.diag(density * dt_s**3 / 2.0)
    Q[6:, 6:] = np.diag(density * dt_s**2 + 1e-12)
    return F, np.concatenate([-jump, np.zeros(6)]), Q


def _rauch_tung_striebel(
    times_s: Float[np.ndarray, " t"], jumps: Float[np.ndarray, "s 6"],
    evidence: Sequence[tuple[np.ndarray, np.ndarray]], scales: Float[np.ndarray, " s"], motion: MotionModel,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Smoothed states (t, 12) and covariances (t, 12, 12)."""
    steps = [
        _transition(float(dt), jump, float(scale), motion)
        for dt, jump, scale in zip(np.diff(times_s), jumps, scales, strict=True)
    ]
    ahead_x, ahead_P = np.zeros(12), np.diag([*(1.0 / _WEAK,) * 6, *np.square(_START_SIGMA)])
    predicted: list[tuple[np.ndarray, np.ndarray]] = []
    filtered: list[tuple[np.ndarray, np.ndarray]] = []
    for t, (H, h) in enumerate(evidence):
        if t:
            F, offset, Q = steps[t - 1]
            ahead_x, ahead_P = F @ filtered[-1][0] + offset, F @ filtered[-1][1] @ F.T + Q
        predicted.append((ahead_x, ahead_P))
        P = np.linalg.inv(np.eye(12) + ahead_P @ H) @ ahead_P
        P = 0.5 * (P + P.T)
        filtered.append((ahead_x + P @ (h - H @ ahead_x), P))
    x, P = filtered[-1]
    smoothed = [(x, P)]
    for t in range(len(evidence) - 2, -1, -1):
        gain = np.linalg.solve(predicted[t + 1][1], steps[t][0] @ filtered[t][1]).T
        x, P = (
            filtered[t][0] + gain @ (x - predicted[t + 1][0]),
            filtered[t][1] + gain @ (P - predicted[t + 1][1]) @ gain.T,
        )
        smoothed.append((x, 0.5 * (P + P.T)))
    return np.stack([x for x, _ in smoothed[::-1]]), np.stack([P for _, P in smoothed[::-1]])


def _unseen(scales: Float[np.ndarray, " s"], poses: Sequence[FramePose | None]) -> Float[np.ndarray, " s"]:
    """Where frames were lost, whatever happened may have happened at any of the steps between."""
    is_blind = np.array([first is None or second is None for first, second in pairwise(poses)], dtype=bool)
    run = np.cumsum(np.concatenate([[0], np.diff(is_blind.astype(np.int8)) != 0])) if len(scales) else is_blind
    loosened = scales.copy()
    for number in np.unique(run[is_blind]):
        own = is_blind & (run == number)
        loosened[own] = max(float(scales[own].max()), _BLIND)
    return loosened


def _scales(
    times_s: Float[np.ndarray, " t"], jumps: Float[np.ndarray, "s 6"], states: Float[np.ndarray, "t 12"],
    motion: MotionModel,
) -> Float[np.ndarray, " s"]:  # fmt: skip
    """How much more than usual each step accelerates: what the smoothed motion says of it."""
    dt = np.diff(times_s)[:, None]
    usual = np.repeat([motion.acceleration, motion.turning], 3) * dt
    change = np.diff(states[:, 6:], axis=0)
    slip = (np.diff(states[:, :6], axis=0) + jumps - dt * states[:-1, 6:]) * 2.0 / dt
    excess = np.square(change / usual).mean(axis=1) + np.square(slip / usual).mean(axis=1)
    return np.asarray((_FREEDOM + 6.0 * excess / 2.0) / (_FREEDOM + 6.0))
