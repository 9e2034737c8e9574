"""One agent's networks and their updates: PPO of rsl-rl-lib, with an asymmetric critic. All about torch.

Its runner is not used: it knows one agent, writes pickles and owns the loop; here several agents share a simulation.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch  # noqa: TID253
from jaxtyping import Float, Float32

from gemel.errors import ConfigError, MissingExtraError
from gemel.services.policy.checkpoint import TrainedNetwork
from gemel.services.policy.mlp import Mlp
from gemel.stages.train.config import TrainConfig

ACTIONS = 2
_GROUPS = {"actor": ["policy"], "critic": ["critic"]}
Views = Mapping[str, Float32[np.ndarray, "n _"]]


class Learner:
    """PPO of one agent."""

    def __init__(self, views: Views, rollout: int, config: TrainConfig, *, seed: int, device: str) -> None:
        """`views` are observations of the agent's worlds by group: `policy` and `critic`."""
        try:
            from rsl_rl.algorithms import PPO
            from rsl_rl.models import MLPModel
            from rsl_rl.storage import RolloutStorage
        except ModuleNotFoundError as error:
            raise MissingExtraError(str(error.name), extra="train", needed_for="Training") from None
        torch.manual_seed(seed)
        self._device = device
        example = self._tensors(views)
        layers = {"hidden_dims": list(config.hidden), "activation": "elu", "obs_normalization": True}
        noise = {
            "class_name": "GaussianDistribution",
            "init_std": config.first_sigma,
            "std_range": (config.least_sigma, 1.0),
        }
        actor = MLPModel(example, _GROUPS, "actor", ACTIONS, distribution_cfg=noise, **layers)
        critic = MLPModel(example, _GROUPS, "critic", 1, **layers)
        storage = RolloutStorage("rl", len(views["policy"]), rollout, example, [ACTIONS], device)
        self.ppo: Any = PPO(
            actor, critic, storage, num_learning_epochs=config.epochs, num_mini_batches=config.batches,
            gamma=config.discount, lam=config.trace, entropy_coef=config.entropy, learning_rate=config.learning_rate,
            desired_kl=config.change, use_clipped_value_loss=False, device=device,
        )  # fmt: skip
        self.ppo.train_mode()

    def act(self, views: Views) -> Any:
        """Actions (n, 2) with noise, still on the device; remembered until `learn_from`."""
        with torch.inference_mode():
            return self.ppo.act(self._tensors(views))

    def learn_from(
        self, views: Views, rewards: np.ndarray, is_over: np.ndarray, is_out_of_time: np.ndarray
    ) -> None:  # fmt: skip
        """What the last actions led to."""
        with torch.inference_mode():
            given = [torch.from_numpy(np.ascontiguousarray(a)).to(self._device) for a in (rewards, is_over)]
            late = torch.from_numpy(is_out_of_time.astype(np.float32)).to(self._device)
            self.ppo.process_env_step(None, given[0], given[1], {"time_outs": late})

    def update(self, views: Views) -> dict[str, float]:
        """Improve the networks by what was collected; losses by name."""
        with torch.inference_mode():
            self.ppo.compute_returns(self._tensors(views))
        losses = {name: float(value) for name, value in self.ppo.update().items()}
        return losses | {"learning_rate": float(self.ppo.learning_rate), "sigma": self.sigma}

    @property
    def sigma(self) -> float:
        """Standard deviation of the actions now."""
        noise = self.ppo.actor.distribution
        return float(noise.std_param.detach().clamp(*noise.std_range).mean())

    def explore_at_least(self, sigma: float) -> None:
        """Standard deviations of actions are no smaller than this from here on."""
        self.ppo.actor.distribution.std_range[0] = sigma

    def network(self, *, unused_inputs: Sequence[int] = ()) -> Mlp:
        """The policy without its noise, for numpy.

        Inputs that were always zero have had no say in training; their random weights would have one on a robot.
        """
        actor = self.ppo.get_policy()
        linear = [layer for layer in actor.mlp if isinstance(layer, torch.nn.Linear)]
        normal = actor.obs_normalizer
        weights = [_array(layer.weight).T.copy() for layer in linear]
        weights[0][list(unused_inputs)] = 0.0
        return Mlp(
            tuple(weights),
            tuple(_array(layer.bias) for layer in linear),
            _array(normal.mean),
            _array(normal.std) + np.float32(normal.eps),
        )

    def start_from(self, network: TrainedNetwork) -> None:
        """Take over a trained policy."""
        actor, layers = self.ppo.get_policy(), network.layers
        linear = [layer for layer in actor.mlp if isinstance(layer, torch.nn.Linear)]
        wanted = [tuple(layer.weight.shape[::-1]) for layer in linear]
        given = [weight.shape for weight in layers.weights]
        if wanted != given:
            raise ConfigError(
                f"The policy to start from has layers {given}; this training has {wanted}.",
                remedy="give --hidden as that policy has it, or start anew",
            )
        with torch.no_grad():
            for layer, weight, bias in zip(linear, layers.weights, layers.biases, strict=True):
                layer.weight.copy_(torch.from_numpy(weight.T.copy()))
                layer.bias.copy_(torch.from_numpy(bias))
            normal = actor.obs_normalizer
            std = torch.from_numpy(layers.std - np.float32(normal.eps))
            normal._mean.copy_(torch.from_numpy(layers.mean)[None])
            normal._std.copy_(std[None])
            normal._var.copy_(std[None] ** 2)
            normal.count.fill_(1_000_000)

    def _tensors(self, views: Views) -> Any:
        from tensordict import TensorDict

        data = {name: torch.from_numpy(np.ascontiguousarray(rows)).to(self._device) for name, rows in views.items()}
        return TensorDict(data, batch_size=[len(next(iter(views.values())))], device=self._device)


def joined(actions: list[Any]) -> Float[np.ndarray, "n 2"]:
    """Actions of all agents, brought to the processor at once."""
    return np.asarray(torch.cat(actions).cpu().numpy())


def seed_sampling(*parts: int) -> None:
    """What torch draws from here on depends on these numbers alone."""
    torch.manual_seed(int(np.random.default_rng(list(parts)).integers(2**31)))


def one_thread() -> None:
    """Torch leaves the other cores to MuJoCo: with threads of its own, both become several times slower."""
    torch.set_num_threads(1)


def device_of(backend: str) -> str:
    """Where networks are for simulations of that back end."""
    return "cuda" if backend == "warp" and torch.cuda.is_available() else "cpu"


def _array(tensor: Any) -> Float32[np.ndarray, "*shape"]:
    return np.asarray(tensor.detach().cpu().numpy(), dtype=np.float32).copy()
