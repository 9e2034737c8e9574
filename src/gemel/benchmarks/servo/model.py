"""A pendulum on a geared servo in MuJoCo.

The servo's firmware turns the position error into a duty cycle, `clip(gain · kp · error, ±1)`; the motor makes torque
of it in proportion to the supply, minus what its own speed takes away. That is MuJoCo's position servo with a force
range, plus damping; gain and range follow the logged supply, which sags by a fifth under load. The gear adds dry
friction, which falls with speed (Stribeck) and grows with the torque that the gear carries; it is set at every entry of
the run from the state at that moment. Torque off means no duty, and damping of the gear alone.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from gemel.benchmarks.servo.data import STEP_S, Pendulum, Run

_SUBSTEPS = 4
_GRAVITY = 9.81
_NO_LIMIT = 1e3
_DIVERGED = 50.0
"""No pendulum here turns this far [rad]."""
Column = Float[np.ndarray, " n"]


@dataclass(frozen=True, eq=False)
class Servo:
    """Parameters of n simulated servos."""

    stiffness: Column
    """Torque per error and firmware gain at the nominal supply [N·m/rad]."""
    torque_per_volt: Column
    """Stall torque per supply voltage [N·m/V]; infinite for a servo that knows no supply."""
    damping: Column
    """While torque is on: motor and gear [N·m·s/rad]."""
    off_damping: Column
    """While torque is off [N·m·s/rad]."""
    armature: Column
    """Inertia of the rotor behind the gear [kg·m²]."""
    coulomb: Column
    """Dry friction of the unloaded gear at speed [N·m]."""
    breakaway: Column
    """What dry friction has more at rest [N·m]."""
    stribeck_speed: Column
    """Speed at which most of that is gone [rad/s]."""
    load_friction: Column
    """Dry friction per torque carried."""
    delay_s: Column
    """Between a goal and the servo's acting on it."""


def pendulum_model(pendulum: Pendulum) -> Any:
    """A compiled `mujoco.MjModel`: one hinge, one servo; angle zero hangs down."""
    import mujoco

    spec = mujoco.MjSpec()
    spec.option.timestep = STEP_S / _SUBSTEPS
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.gravity = [0, 0, -_GRAVITY]
    arm = spec.worldbody.add_body(
        name="arm", mass=pendulum.mass_kg, ipos=[0, 0, -pendulum.length_m], inertia=[1e-6] * 3, explicitinertial=True
    )
    hinge = arm.add_joint(name="hinge", type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 1, 0])
    hinge.frictionloss, hinge.armature = 1e-3, 1e-3
    # By its formula, MuJoCo's default lets a pendulum that friction holds creep by about a degree in two seconds.
    hinge.solref_friction, hinge.solimp_friction = [2.0 * STEP_S / _SUBSTEPS, 1.0], [0.99, 0.999, 0.001, 0.5, 2.0]
    servo = spec.add_actuator(name="servo", trntype=mujoco.mjtTrn.mjTRN_JOINT, target="hinge")
    servo.gaintype, servo.biastype = mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtBias.mjBIAS_AFFINE
    servo.gainprm[0], servo.biasprm[1] = 1.0, -1.0
    servo.forcelimited, servo.forcerange = mujoco.mjtLimited.mjLIMITED_TRUE, [-1.0, 1.0]
    return spec.compile()


def simulate(pendulum: Pendulum, runs: list[Run], servo: Servo, *, threads: int = 0) -> Float[np.ndarray, "n t"]:
    """Positions [rad] of simulation i doing run i, all runs padded to the longest; NaN rows where one diverged."""
    from mujoco.batch import Batch

    count, length = len(runs), max(len(run.times_s) for run in runs)
    goal, volts, is_on = (_padded(runs, name, length) for name in ("goal", "volts", "is_on"))
    goal = _delayed(goal, servo.delay_s)
    stiffness = servo.stiffness * np.array([run.firmware_gain for run in runs])
    batch = Batch(pendulum_model(pendulum), count, nthread=threads)
    batch.expand("dof_armature")[:, 0] = servo.armature
    damping, loss = batch.expand("dof_damping"), batch.expand("dof_frictionloss")
    gain, bias, limit = (batch.expand(f"actuator_{field}") for field in ("gainprm", "biasprm", "forcerange"))
    damping[:, 0] = servo.damping
    batch.set_const()
    q, v, ctrl = batch.bind("qpos"), batch.bind("qvel"), batch.bind("ctrl")
    q[:, 0] = [run.position[0] for run in runs]
    v[:] = 0.0
    positions = np.empty((count, length))
    positions[:, 0] = q[:, 0]
    for t in range(1, length):
        on = is_on[:, t - 1].astype(bool)
        stall = np.minimum(servo.torque_per_volt * volts[:, t - 1], _NO_LIMIT)
        supply = np.where(stall < _NO_LIMIT, volts[:, t - 1] / pendulum.nominal_volts, 1.0)
        gain[:, 0, 0] = np.where(on, supply * stiffness, 0.0)
        bias[:, 0, 1] = -gain[:, 0, 0]
        limit[:, 0, 0], limit[:, 0, 1] = -stall, stall
        damping[:, 0] = np.where(on, servo.damping, servo.off_damping)
        loss[:, 0] = _dry_friction(pendulum, servo, q[:, 0], v[:, 0], np.clip(
            gain[:, 0, 0] * (goal[:, t - 1] - q[:, 0]), -stall, stall))  # fmt: skip
        ctrl[:, 0] = 0.5 * (goal[:, t - 1] + goal[:, t])
        batch.step(nstep=_SUBSTEPS)
        positions[:, t] = q[:, 0]
    is_bad: Bool[np.ndarray, " n"] = ~np.all(np.abs(positions) < _DIVERGED, axis=1)
    positions[is_bad] = np.nan
    return positions


def _dry_friction(pendulum: Pendulum, servo: Servo, q: Column, v: Column, motor: Column) -> Column:
    """Coulomb, Stribeck and load-dependent friction [N·m]; the load is what motor and weight press on the gear."""
    weight = -pendulum.mass_kg * _GRAVITY * pendulum.length_m * np.sin(q)
    slow = np.exp(-((v / servo.stribeck_speed) ** 2))
    return np.asarray(servo.coulomb + servo.breakaway * slow + servo.load_friction * np.abs(motor - weight))


def _delayed(goal: Float[np.ndarray, "n t"], delay_s: Column) -> Float[np.ndarray, "n t"]:
    """Goals as the servo sees them, straight between entries."""
    at = np.maximum(np.arange(goal.shape[1]) - delay_s[:, None] / STEP_S, 0.0)
    before = at.astype(int)
    after = np.minimum(before + 1, goal.shape[1] - 1)
    early, late = (np.take_along_axis(goal, k, axis=1) for k in (before, after))
    return np.asarray(early + (at - before) * (late - early))


def _padded(runs: list[Run], name: str, length: int) -> np.ndarray:
    """A column of all runs, its last entry repeated."""
    rows = [np.asarray(getattr(run, name), float) for run in runs]
    return np.stack([np.pad(row, (0, length - len(row)), mode="edge") for row in rows])
