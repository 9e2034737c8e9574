"""`fused`: a Bayesian filter with memory over an object's physics, from how it moves under a pusher.

Every particle is one answer to all that is unknown: the parameters (centre of mass along two axes, friction of table
and tip, mass), where the object bears and how it slips, and how far its frame is off the robot's. Given those, its pose
is followed by a Kalman filter whose prediction is the quasi-static push of `services/policy/push_kernel.py`: a
Rao-Blackwellised particle filter (Doucet et al. 2000). Memory comes with it, and so does the gate: where the tip
touches nothing all particles predict the same, and weights stay.

What keeps it honest:

- *The prior may be biased*: it enters with Student's t, whose tails let data move it, and not as a Gaussian.
- *Friction is uneven*, so the centre of friction strays from below the centre of mass by some millimetres, differently
  from place to place. Each particle carries such a shift, forgotten as the object moves on.
- *The arm is not calibrated*: a constant offset between tip and object is inferred with the rest.
- *The push model is wrong* by a share of the motion, sometimes by much: a t likelihood, raised to a power below one
  since such errors last for several steps, and to a smaller one where a single period would decide everything.

Mass cancels in a quasi-static push and keeps its prior; friction of the table shows only when the object slides on by
itself. Weights degenerate slowly, and static particles are renewed as by Liu and West (2001).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from jaxtyping import Float

from gemel.runtime.adapt.push_model import PushModel
from gemel.services.policy.estimator import Planar, Points, Prior
from gemel.services.policy.outcome import wrapped
from gemel.services.policy.push_belief import PushBelief

Particles = Float[np.ndarray, "n m k"]


@dataclass(frozen=True)
class FilterConfig:
    """What the filter takes for granted."""

    particles: int = 512
    pose_sigma_m: float = 0.0008
    """White error of tracked positions, per axis [m]; `gemel bench track`."""
    pose_sigma_rad: float = 0.007
    """White error of tracked headings [rad]."""
    offset_sigma_m: float = 0.006
    """Constant error of the tip against the object's frame, per axis [m]: an arm that nobody calibrated."""
    stray_sigma_m: float = 0.005
    """How far uneven friction moves the centre of friction, per axis [m]."""
    stray_length_m: float = 0.08
    """Over how much motion of the object such a shift is forgotten [m]."""
    prior_bias: float = 0.1
    """Standard deviation of a prior's bias, as a part of the range: answers of language models are off by more than
    they say (arXiv 2510.11689, section V)."""
    prior_freedom: float = 3.0
    """Degrees of freedom of the prior's t distribution."""
    error_freedom: float = 2.0
    """Degrees of freedom of the likelihood's t distribution."""
    power: float = 0.5
    """Exponent of the likelihood, below one since the model's errors last."""
    least_kept: float = 0.6
    """Part of the particles that every period leaves in effect; where it would be fewer the exponent is smaller."""
    unseen_m: float = 0.006
    """What no push tells about a centre of mass, added to its standard deviation [m]: the model's own bias."""
    shrink: float = 0.9
    """Liu and West's shrinkage of particles towards their mean when they are renewed."""
    seed: int = 0


class PushFilter:
    """A belief over `names`, the parameters of the model; those without a prior of their own are nuisances."""

    def __init__(self, model: PushModel, priors: Sequence[Prior], config: FilterConfig | None = None) -> None:
        self._model, self._config = model, config or FilterConfig()
        self._priors = tuple(priors)
        self._all = (*self._priors, *model.nuisances)
        self._low = np.array([prior.low for prior in self._all])
        self._high = np.array([prior.high for prior in self._all])
        self._column = model.columns([prior.name for prior in self._all])
        self._rng = np.random.default_rng(self._config.seed)
        self.start(1)

    @property
    def names(self) -> tuple[str, ...]:
        """Parameters that have a prior."""
        return tuple(prior.name for prior in self._priors)

    def start(self, count: int) -> None:
        """Begin episodes with particles drawn from the prior."""
        config, m = self._config, self._config.particles
        self._theta = np.stack([self._drawn(count, prior) for prior in self._all], axis=-1)
        self._offset = config.offset_sigma_m * np.stack([self._normal(count) for _ in range(2)], axis=-1)
        self._stray = config.stray_sigma_m * np.stack([self._normal(count) for _ in range(2)], axis=-1)
        self._weight = np.full((count, m), 1.0 / m)
        self._pose, self._moved = np.zeros((count, m, 3)), np.zeros((count, m, 3))
        self._variance = np.tile([config.pose_sigma_m**2, config.pose_sigma_rad**2], (count, m, 1))
        self._tip: Points | None = None

    def update(self, object_xyyaw: Planar, tip_xy: Points, past_action_world: Points) -> None:
        """Weigh the particles by how well each foretold where the object is now."""
        del past_action_world  # what the tip did is measured
        if self._tip is None:
            self._pose[:] = object_xyyaw[:, None]
            self._tip = tip_xy.copy()
            return
        predicted, error_sigma = self._predict(tip_xy)
        self._weigh(object_xyyaw, predicted, error_sigma)
        self._tip = tip_xy.copy()
        effective = 1.0 / np.sum(self._weight**2, axis=1)
        for row in np.flatnonzero(effective < 0.5 * self._config.particles):
            self._renew(int(row))

    def push_belief(self) -> PushBelief:
        """Means of what the model of pushing goes by, in the first episode."""
        weight = self._weight[0]
        physics = self._model.physics(self._theta[:1][..., self._column], np.zeros_like(self._stray[:1]))[0]
        return PushBelief(weight @ physics, weight @ self._offset[0])

    @property
    def mean(self) -> Float[np.ndarray, "n p"]:
        """Weighted means of the particles."""
        return np.einsum("nm,nmk->nk", self._weight, self._theta[..., : len(self._priors)])

    @property
    def sigma(self) -> Float[np.ndarray, "n p"]:
        """Weighted standard deviations of the particles, and what they cannot know."""
        off = self._theta[..., : len(self._priors)] - self.mean[:, None]
        unseen = np.array([self._config.unseen_m if "/com_" in name else 0.0 for name in self.names])
        return np.sqrt(np.einsum("nm,nmk->nk", self._weight, off**2) + unseen**2)

    def _predict(self, tip_xy: Points) -> tuple[Particles, Float[np.ndarray, "n m 2"]]:
        """Poses after the period by each particle, and the model's error: (position [m], heading [rad]).

        The error is the particles' mean: with one of its own, a particle would do well by foretelling large motions.
        """
        assert self._tip is not None
        now, after = (self._offset + tip[:, None] for tip in (self._tip, tip_xy))
        theta = self._theta[..., self._column]
        poses, error = self._model.predict(theta, self._stray, self._pose, self._moved, (now, after))
        mean = np.einsum("nm,nmk->nk", self._weight, error)
        return poses, np.broadcast_to(mean[:, None], error.shape)

    def _weigh(self, seen: Planar, predicted: Particles, error_sigma: Float[np.ndarray, "n m 2"]) -> None:
        config = self._config
        noise = np.array([config.pose_sigma_m**2, config.pose_sigma_rad**2])
        variance = self._variance + error_sigma**2
        total = variance + noise
        innovation = seen[:, None] - predicted
        innovation[..., 2] = wrapped(innovation[..., 2])
        share = innovation**2 / total[..., [0, 0, 1]]
        freedom = config.error_freedom
        fit = -0.5 * (freedom + 1.0) * np.log1p(share / freedom).sum(axis=-1) - np.log(total[..., 0])
        fit -= 0.5 * np.log(total[..., 1])
        self._multiply(fit - fit.max(axis=1, keepdims=True))
        gain = (variance / total)[..., [0, 0, 1]]
        pose = predicted + gain * innovation
        self._moved = pose - self._pose
        self._pose, self._variance = pose, variance * (1.0 - variance / total)
        self._forget_stray()

    def _multiply(self, fit: Float[np.ndarray, "n m"]) -> None:
        """Weights times likelihoods to a power, a smaller one where a single period would decide nearly all."""
        power = np.full((len(fit), 1), self._config.power)
        for _ in range(8):
            likelihood = np.exp(power * fit)
            total, squared = (np.einsum("nm,nm->n", self._weight, likelihood**k) for k in (1, 2))
            is_too_much = total**2 < self._config.least_kept * squared
            if not is_too_much.any():
                break
            power[is_too_much] *= 0.6
        weight = self._weight * np.exp(power * fit)
        self._weight = weight / weight.sum(axis=1, keepdims=True)

    def _forget_stray(self) -> None:
        """Friction is another one where the object has got to."""
        way = np.einsum("nm,nm->n", self._weight, np.hypot(self._moved[..., 0], self._moved[..., 1]))
        kept = np.exp(-way / self._config.stray_length_m)[:, None, None]
        fresh = self._config.stray_sigma_m * self._rng.standard_normal(self._stray.shape)
        self._stray = kept * self._stray + np.sqrt(1.0 - kept**2) * fresh

    def _renew(self, row: int) -> None:
        """Systematic resampling; what does not change is drawn towards its mean and spread again, its variance kept."""
        m, weight = self._config.particles, self._weight[row]
        places = (np.arange(m) + self._rng.uniform()) / m
        chosen = np.minimum(np.searchsorted(np.cumsum(weight), places), m - 1)
        shrink = self._config.shrink
        for static, low, high in ((self._theta, self._low, self._high), (self._offset, -np.inf, np.inf)):
            middle = weight @ static[row]
            spread = np.sqrt(np.maximum(weight @ (static[row] - middle) ** 2, 0.0))
            fresh = spread * np.sqrt(1.0 - shrink**2) * self._rng.standard_normal(static[row].shape)
            static[row] = _folded(shrink * static[row, chosen] + (1.0 - shrink) * middle + fresh, low, high)
        for moving in (self._pose, self._moved, self._variance, self._stray):
            moving[row] = moving[row, chosen]
        self._weight[row] = 1.0 / m

    def _drawn(self, count: int, prior: Prior) -> Float[np.ndarray, "n m"]:
        """Draws of a prior in pairs about its mean: but for ends of the range, that is the mean of the particles."""
        half = self._config.particles // 2
        freedom = self._config.prior_freedom
        scale = np.sqrt(freedom / self._rng.chisquare(freedom, (count, half)))
        z = np.abs(self._normal(count)[:, :half]) * scale
        off = np.stack([z, -z], axis=-1).reshape(count, -1)
        order = self._rng.permuted(np.tile(np.arange(2 * half), (count, 1)), axis=1)
        sigma = np.hypot(prior.sigma, self._config.prior_bias * (prior.high - prior.low))
        drawn = prior.mean + sigma * np.take_along_axis(off, order, axis=1)
        return _folded(drawn, prior.low, prior.high)

    def _normal(self, count: int) -> Float[np.ndarray, "n m"]:
        """Even quantiles of the standard normal, in another order in each episode."""
        m = self._config.particles
        quantiles = np.array([NormalDist().inv_cdf((k + 0.5) / m) for k in range(m)])
        return self._rng.permuted(np.tile(quantiles, (count, 1)), axis=1)


def _folded(
    values: Float[np.ndarray, "*n"], low: float | Float[np.ndarray, " k"], high: float | Float[np.ndarray, " k"]
) -> Float[np.ndarray, "*n"]:
    """Values beyond an end of their range mirrored at it: clipped ones would heap up there."""
    inside = np.where(values < low, 2.0 * low - values, values)
    inside = np.where(inside > high, 2.0 * high - inside, inside)
    return np.asarray(np.clip(inside, low, high))
