"""A world behind the `Robot` protocol: the same calls that a real arm's driver answers, with or without cameras."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from gemel.artifacts.capture import Domain
from gemel.geometry import SE3, SO3
from gemel.services.policy import InitialCondition, Observation
from gemel.worlds.control import Control, JointControl, tip_joints
from gemel.worlds.hand import HAND, hand_path
from gemel.worlds.hidden import Stream, stream_rng
from gemel.worlds.history import History
from gemel.worlds.physics import Physics
from gemel.worlds.scenario import World

Joints = Float[np.ndarray, " joint"]
SETTLE_PERIODS = 3


class WorldRobot:
    """One world as a robot. Each reset begins the next episode; `episode` is the number of the first.

    Beyond the task's initial conditions it understands `joint/NAME`, the readings to start from.
    """

    domain = Domain.STAND_IN

    def __init__(
        self,
        world: World,
        *,
        episode: int = 0,
        is_rendering: bool = True,
        cameras: Sequence[str] = (),
        has_tracker: bool = False,
        is_joint_controlled: bool = False,
    ) -> None:
        """`cameras` are those that are rendered, by name; none named means all of them."""
        scenario = world.scenario
        self.world = world
        self.physics = Physics(
            world.machine,
            scenario.model,
            world.hidden,
            world.config.imperfections,
            period_s=world.task.control_period_s,
        )
        make_control = JointControl if is_joint_controlled else scenario.make_control
        self._control: Control = make_control(world.machine, world.kinematics)
        self.action_names = world.machine.joint_names if is_joint_controlled else scenario.action_names
        self._episode, self._step = episode - 1, 0
        self._is_rendering, self._has_tracker = is_rendering, has_tracker
        self._cameras = tuple(cameras) or tuple(camera.name for camera in world.camera_guesses)
        self._rng = np.random.default_rng(0)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the measured joints."""
        return self.world.machine.joint_names

    def reset(self, initial_condition: InitialCondition) -> None:
        """Put the object on its mark and the arm at its start; both a little wrong, as people and encoders are."""
        self._episode, self._step = self._episode + 1, 0
        self._rng = stream_rng(self.world.config.seed, Stream.SENSORS, self._episode)
        start, T_world_object = self.start_of(initial_condition, self._rng)
        velocity = _velocity(initial_condition)
        q_true = start - self.world.hidden.joint_offsets
        self.physics.reset(q_true, T_world_object, velocity)
        if velocity is None:
            self.physics.settle(SETTLE_PERIODS)
        self._control.start(start)

    def start_of(self, initial_condition: InitialCondition, rng: np.random.Generator) -> tuple[Joints, SE3]:
        """Readings and `T_world_object` at the start: what was asked for, off by what people and encoders do."""
        return self._start_readings(initial_condition), self._placed(initial_condition, rng)

    def observe(self) -> Observation:
        """Encoders now, the newest frames, and what a tracker says where one is asked for."""
        images = {}
        if self._is_rendering:
            from gemel.worlds.render_world import world_renderer

            renderer, history = world_renderer(self.world.config), self.history()
            images = {
                name: renderer.frame(history, name, self._step, self.physics.time_s, self._episode)
                for name in self._cameras
            }
        return Observation(
            time_s=self.physics.time_s,
            joint_positions=self._readings(),
            images=images,
            object_poses={self.world.scenario.model.name: self._tracked()} if self._has_tracker else {},
        )

    def act(self, action: Float[np.ndarray, " action"]) -> None:
        """Carry out an action and let one control period pass."""
        targets = self._control.targets(np.asarray(action, dtype=np.float64), self._readings(quiet=True))
        self.physics.command(targets - self.world.hidden.joint_offsets)
        self.physics.advance()
        self._step += 1

    def history(self) -> History:
        """Where everything has been since the reset, the distractor included."""
        history = self.physics.history()
        imperfections = self.world.config.imperfections
        path = hand_path(
            history.times_s,
            stream_rng(self.world.config.seed, Stream.LOOKS, 2, self._episode),
            probability=imperfections.hand_probability,
            duration_s=self.world.scenario.recorded_s or self.world.task.time_limit_s,
        )
        return history.with_bodies({HAND: path})

    def _readings(self, *, quiet: bool = False) -> Joints:
        """What the encoders say: motor side, with zero-point errors and noise (filtered for the controller)."""
        sigma = np.where(self.world.machine.is_gripper, 0.02, 1.0) * self.world.config.imperfections.encoder_noise_rad
        noise = 0.0 if quiet else sigma * self._rng.standard_normal(len(sigma))
        return self.physics.joint_positions + self.physics.drive.play + self.world.hidden.joint_offsets + noise

    def _tracked(self) -> SE3:
        imperfections = self.world.config.imperfections
        true = self.physics.T_world_object
        turn = SO3.exp(imperfections.tracker_noise_rad * self._rng.standard_normal(3))
        shift = imperfections.tracker_noise_m * self._rng.standard_normal(3)
        return SE3(true.rotation @ turn, true.translation + shift)

    def _start_readings(self, initial_condition: InitialCondition) -> Joints:
        home = self.world.machine.home
        if f"joint/{self.joint_names[0]}" in initial_condition:
            return np.array([initial_condition[f"joint/{name}"] for name in self.joint_names])
        if "tip/x" not in initial_condition:
            return home
        place = np.array([initial_condition["tip/x"], initial_condition["tip/y"]])
        return tip_joints(self.world.kinematics, place, home)

    def _placed(self, given: InitialCondition, rng: np.random.Generator) -> SE3:
        """The object where it was asked for, off by the hand that puts it there."""
        imperfections = self.world.config.imperfections
        x, y, yaw = rng.standard_normal(3) * np.array(
            [imperfections.placement_error_m] * 2 + [imperfections.placement_yaw_error_rad]
        )
        height = given.get("object/z", self.world.scenario.model.rest_height)
        position = np.array([given.get("object/x", 0.45) + x, given.get("object/y", 0.0) + y, height])
        return SE3(SO3.exp(np.array([0.0, 0.0, given.get("object/yaw", 0.0) + yaw])), position)


def _velocity(given: InitialCondition) -> Float[np.ndarray, "6"] | None:
    """Linear [m/s] and angular [rad/s] velocity of a thrown object."""
    if "object/velocity_x" not in given:
        return None
    names = [f"object/velocity_{axis}" for axis in "xyz"] + [f"object/spin_{axis}" for axis in "xyz"]
    return np.array([given[name] for name in names])
