"""Assemble: Reconstruction + Belief -> Twin, something that can be simulated.

Owns: convex pieces that objects touch with and how far they are from what is seen; flat bottoms; where objects stand
on the table; what the table looks like without them; mass properties of uniform density; the judgement whether the
scene can be started from.
Does not own: what is believed of parameters (`prior`, `identify`), how the scene is compiled (`services/sim`).
Inputs: a Reconstruction, any Belief, the robot's description if there is one. Output: a Twin.
Judged by: objects at rest stay at rest, nothing starts inside something else, inertia is physical, mass fits volume.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from gemel.artifacts.belief import Belief
from gemel.artifacts.blob import Blobs
from gemel.artifacts.capture import JointSignal
from gemel.artifacts.finding import Finding, Severity
from gemel.artifacts.reconstruction import Reconstruction
from gemel.artifacts.robot import RobotModel
from gemel.artifacts.splatmesh import SplatMesh
from gemel.artifacts.task import Task
from gemel.artifacts.twin import Twin
from gemel.errors import ConfigError, GemelError
from gemel.geometry import SE3, Inertia
from gemel.services.sim.compile import compile_twin
from gemel.services.sim.parameters import ParameterMap
from gemel.stages.assemble.bare_table import SeenTrials, with_bare_table
from gemel.stages.assemble.collider_gap import largest_gap
from gemel.stages.assemble.config import AssembleConfig
from gemel.stages.assemble.convex import convex_pieces
from gemel.stages.assemble.gate import check_meshes, insist, judge
from gemel.stages.assemble.resting import with_flat_bottom
from gemel.stages.assemble.standing import Pieces, put_down

OnProgress = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class AssembleInfo:
    """What was noticed."""

    findings: tuple[Finding, ...]


def assemble(
    reconstruction: Reconstruction,
    belief: Belief,
    config: AssembleConfig,
    *,
    robot: RobotModel | None,
    joints: Sequence[JointSignal],
    task: Task | None,
    blobs: Blobs,
    rng: np.random.Generator,
    home: Float[np.ndarray, " joint"] | None = None,
    trials: SeenTrials | None = None,
    on_progress: OnProgress = lambda fraction: None,
) -> tuple[Twin, AssembleInfo]:
    """The twin, with what the belief says of things that its scene has.

    `home` are logged joint positions at which the robot waits for a trial; None where nobody knows them. `trials` show
    the table where objects lay in the scan; None where nothing has been tracked yet.
    """
    check_meshes(reconstruction)
    _check_home(home, len(joints))
    findings = list(_scene_findings(reconstruction))
    if trials is not None:
        reconstruction, unseen = with_bare_table(reconstruction, trials)
        findings += unseen
    table_height_m = table_height(reconstruction)
    pieces: dict[str, Pieces] = {}
    for index, (name, mesh) in enumerate(reconstruction.objects.items()):
        pieces[name] = _pieces(mesh, reconstruction.placements[name], config, rng)
        on_progress((index + 1) / (len(reconstruction.objects) + 1))
    poses, left = put_down(pieces, reconstruction.placements, table_height_m, config.lift_m)
    findings += [_not_on_table(name, above_m) for name, above_m in left.items()]
    twin = Twin(
        robot=robot,
        reconstruction=reconstruction,
        belief=belief,
        colliders={
            name: tuple(blobs.put_table({"vertices": piece}) for piece in parts) for name, parts in pieces.items()
        },
        initial_poses=poses,
        task=task,
        inertias={
            name: Inertia.from_mesh(mesh.vertices, mesh.faces, config.density_kg_m3)
            for name, mesh in reconstruction.objects.items()
        },
        collider_gaps_m={
            name: largest_gap(mesh.vertices, mesh.faces, pieces[name], rng)
            for name, mesh in reconstruction.objects.items()
        },
        table_height_m=table_height_m,
        joints=tuple(_model_joint(joint) for joint in joints) if robot is not None else (),
    )
    twin, left_out = _with_known(twin, blobs, has_bounce=config.has_bounce)
    findings += left_out
    findings += judge(twin, blobs, config, home=home, rng=rng)
    if config.is_gate_strict:
        insist(findings)
    return twin, AssembleInfo(tuple(findings))


def _check_home(home: Float[np.ndarray, " joint"] | None, joint_count: int) -> None:
    if home is not None and (len(home) != joint_count or not np.isfinite(home).all()):
        raise ConfigError(
            f"The robot waits at {np.round(home, 3).tolist()}; {joint_count} finite joint positions were expected.",
            remedy="give the position of each logged joint, in their order, or none",
        )


def _model_joint(joint: JointSignal) -> str:
    """The model's joint whose value a logged joint is; none where the log has only a fraction of a range."""
    return joint.model_joint if joint.unit in ("rad", "m") else ""


def table_height(reconstruction: Reconstruction) -> float | None:
    """Height of the table: where it was seen, else where the lowest object ends; None with neither."""
    if reconstruction.table is not None and len(reconstruction.table.vertices):
        return float(np.median(reconstruction.table.vertices[:, 2]))
    ends = [
        float((reconstruction.placements[name] @ mesh.vertices)[:, 2].min())
        for name, mesh in reconstruction.objects.items()
    ]
    return min(ends, default=None)


def _pieces(mesh: SplatMesh, placement: SE3, config: AssembleConfig, rng: np.random.Generator) -> Pieces:
    """What an object touches with, its bottom made flat as it lies."""
    cut = convex_pieces(
        mesh.vertices, mesh.faces, concavity=config.concavity, convex_gap_m=config.convex_gap_m,
        face_count=config.faces, rng=rng,
    )  # fmt: skip
    return with_flat_bottom(cut, placement, config.flat_m)


def _with_known(twin: Twin, blobs: Blobs, *, has_bounce: bool) -> tuple[Twin, tuple[Finding, ...]]:
    """The twin without belief in sizes, which its shapes tell, in contacts that its scene lacks, and in bounce."""
    try:
        parameters = ParameterMap(compile_twin(twin, blobs, draw={}).model)
    except GemelError:
        return twin, ()  # the gate says what is wrong
    unknown = [
        name
        for name in twin.belief.names
        if (not parameters.has(name) and _is_about_others(name)) or (not has_bounce and name.endswith("/restitution"))
    ]
    if not unknown:
        return twin, ()
    kept = twin.belief.only([name for name in twin.belief.names if name not in unknown])
    finding = Finding(
        "not-in-scene", Severity.NOTE, f"Left out of the twin: {', '.join(unknown)}.",
        "contacts go by objects, `table` and the robot's links (docs/sim.md); `has_bounce = true` under [assemble] "
        "keeps restitution, for tossed objects",
    )  # fmt: skip
    return replace(twin, belief=kept), (finding,)


def _is_about_others(name: str) -> bool:
    return name.startswith("contact/") or "/size_" in name


def _scene_findings(reconstruction: Reconstruction) -> list[Finding]:
    if not reconstruction.objects:
        return [Finding(
            "nothing-to-assemble", Severity.WARNING, "The reconstruction has no objects; the twin is the robot alone.",
            "segment and reconstruct an object first: `gemel prompt DIR`",
        )]  # fmt: skip
    if reconstruction.is_metric:
        return []
    return [Finding(
        "no-metric-scale", Severity.WARNING,
        "Nothing in the log fixes the scale, so lengths may not be metres and things may fall too fast or too slowly.",
        "add the robot's model, or cameras with positions in metres",
    )]  # fmt: skip


def _not_on_table(name: str, above_m: float) -> Finding:
    where = "above the table and all other objects" if above_m > 0.0 else "inside the table"
    return Finding(
        "not-on-table", Severity.WARNING, f"{name!r} ends {1e3 * abs(above_m):.0f} mm {where}.",
        "check the table's height and the scan's cameras; raise `lift_m` under [assemble] to put it down regardless",
        stream=name, value=1e3 * above_m,
    )  # fmt: skip
