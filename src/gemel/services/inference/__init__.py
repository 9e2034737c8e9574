"""Inference that several rooms share: the prior as a standard normal, the ensemble Kalman update, unknown noise.

Owns maths on arrays. Does not own what is simulated or how data become residuals (`stages/identify`, the live twin).
"""

from gemel.services.inference.emulator import Ball, Emulator
from gemel.services.inference.importance import Population, Proposal, sample_importance
from gemel.services.inference.kalman import kalman_step, tempering_step
from gemel.services.inference.noise import NoiseLayout, NoiseLevel, NoiseModel
from gemel.services.inference.prior_map import PriorMap, flat_belief
from gemel.services.inference.tempered import tempered_draws

__all__ = [
    "Ball",
    "Emulator",
    "NoiseLayout",
    "NoiseLevel",
    "NoiseModel",
    "Population",
    "PriorMap",
    "Proposal",
    "flat_belief",
    "kalman_step",
    "sample_importance",
    "tempered_draws",
    "tempering_step",
]
