"""Prior: shapes, labels, measurements and pictures -> what is believed before anything is touched.

Owns: the belief over mass, centre of mass, friction and restitution before any interaction, and where each comes from.
Does not own: shapes (reconstruct), what motion teaches (identify), which of the belief's values a simulator uses.
Inputs: a `Reconstruction`, labels and measurements of twin.toml, the task's ranges, pictures for a model that is asked.
Output: a `Belief`: equally likely draws that are physical together (masses positive and no denser than osmium, centres
of mass inside the convex hull, mass and centre of mass of one draw from the same densities), with a record of what each
value rests on.
Precedence for each parameter: measured, your file, the prior that `kind` names, the task's range, unknown material.
Judged by: the laws in tests/stages/prior; every interval is wide enough to be wrong rarely and is never sharpened here.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gemel.artifacts.belief import Belief
from gemel.artifacts.blob import Blobs
from gemel.artifacts.finding import Finding, Severity
from gemel.artifacts.reconstruction import Reconstruction
from gemel.errors import ConfigError, choices_text
from gemel.stages.prior.config import Matter, PriorConfig
from gemel.stages.prior.made_of import material_opinions
from gemel.stages.prior.measurements import measured_opinion
from gemel.stages.prior.model import TABLE, Model
from gemel.stages.prior.opinion import Opinion, combined
from gemel.stages.prior.own_file import file_opinion
from gemel.stages.prior.ranges import flat_opinion, task_opinion
from gemel.stages.prior.solid import solid_of
from gemel.stages.prior.vlm.ask import Asked, ask
from gemel.stages.prior.vlm.client import Chat
from gemel.stages.prior.vlm.opinion import vlm_opinion
from gemel.stages.prior.vlm.picture import ObjectPicture

OnProgress = Callable[[float], None]
Ranges = Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class PriorInfo:
    """What the stage noticed."""

    findings: tuple[Finding, ...]
    origins: Mapping[str, str]
    """By parameter: which source its values are from."""


def prior(
    reconstruction: Reconstruction,
    config: PriorConfig,
    *,
    blobs: Blobs,
    rng: np.random.Generator,
    task_ranges: Ranges | None = None,
    tools: Sequence[str] = (),
    file_table: Mapping[str, Any] | None = None,
    pictures: Callable[[str], Sequence[ObjectPicture]] = lambda name: (),
    chat: Chat | None = None,
    on_progress: OnProgress = lambda fraction: None,
) -> tuple[Belief, PriorInfo]:
    """The belief before any interaction.

    `task_ranges` are the task's, by parameter; `tools` are parts of the robot that objects may touch; `file_table` is
    the content of the user's file; `pictures` gives views of an object, and `chat` is the model that is shown them:
    both are used only when `kind` is `vlm`.
    """
    ranges, count = task_ranges or {}, config.samples
    if not reconstruction.objects:  # reconstruct has said so
        return Belief((), np.empty((count, 0)), np.full(count, 1.0 / count)), PriorInfo((), {})
    model = _model(reconstruction, config, ranges, tools, rng)
    strong = [measured_opinion(model, config.measured, count, rng)]
    if file_table is not None:
        strong.append(file_opinion(model, file_table, count, rng, where=config.file or "the prior's file"))
    asked: tuple[Asked, ...] = ()
    findings = _model_findings(model)
    if config.kind == "vlm":
        asked = tuple(_ask_all(model, config, pictures, chat, on_progress))
        opinion, noted = vlm_opinion(model, asked, count, rng)
        strong.append(opinion)
        config, findings = _with_seen_materials(config, asked), findings + noted
    weak, noted = _weak(model, config, ranges, strong, rng)
    opinions = [*strong, *weak]
    sizes = dict.fromkeys(name for opinion in strong for name in opinion.draws if name in model.sizes)
    names = (*model.names, *sizes)
    belief, chosen = combined(model, opinions, names, count)
    record = _record(config, belief, chosen, opinions, asked)
    belief = replace(belief, record=blobs.put_bytes(json.dumps(record, indent=1, ensure_ascii=False).encode()))
    on_progress(1.0)
    return belief, PriorInfo(findings + noted, {name: opinion.origin for name, opinion in chosen.items()})


def _weak(
    model: Model, config: PriorConfig, ranges: Ranges, strong: Sequence[Opinion], rng: np.random.Generator
) -> tuple[list[Opinion], tuple[Finding, ...]]:
    """Opinions that speak where nothing better does, best first."""
    count = config.samples
    task = task_opinion(model, ranges, count, rng)
    if config.kind == "flat":
        return [task, flat_opinion(model, count, rng)], ()
    better = {name: span for opinion in reversed(strong) for name, span in _spans(opinion).items()}
    labelled, rest, findings = material_opinions(
        model, config, better, count, rng, is_uniform=config.kind == "geometry"
    )
    return [labelled, task, rest], findings


def _spans(opinion: Opinion) -> dict[str, tuple[float, float]]:
    """What each parameter may be, in the eyes of one source."""
    spans = {}
    for name, draws in opinion.draws.items():
        low, high = np.quantile(draws, [0.05, 0.95])
        spans[name] = opinion.ranges.get(name, (float(low), float(high)))
    return spans


def _model(
    reconstruction: Reconstruction, config: PriorConfig, ranges: Ranges, tools: Sequence[str], rng: np.random.Generator
) -> Model:
    """Objects and what they touch: the table, the robot's tools, surfaces of twin.toml and of the task."""
    objects = tuple(reconstruction.objects)
    for name in config.objects:
        if objects and name not in objects and config.objects[name] != Matter():
            raise ConfigError(f"[objects.{name}]: {choices_text(name, objects)}", remedy="use a reconstructed object")
    contacts = [name.split("/")[1] for name in (*ranges, *config.measured) if name.startswith("contact/")]
    surfaces: dict[str, tuple[str, ...]] = {}
    for name in objects:
        in_task = [key.split("/")[1].removeprefix(f"{name}-") for key in ranges if key.startswith(f"contact/{name}-")]
        links = [c.removeprefix(f"{name}-") for c in contacts if c.removeprefix(f"{name}-") in reconstruction.links]
        surfaces[name] = tuple(dict.fromkeys([TABLE, *in_task, *config.surfaces, *tools, *links]))
    solids = {name: solid_of(mesh, rng) for name, mesh in reconstruction.objects.items()}
    return Model(solids, surfaces, reconstruction.is_metric)


def _model_findings(model: Model) -> tuple[Finding, ...]:
    findings = [
        Finding("mesh-open", Severity.WARNING,
                f"The mesh of {name!r} does not enclose a volume; its convex hull, {1e6 * solid.volume_m3:.3g} cm³, "
                "stands for it.", "look at the gate's findings, and measure the mass", stream=name)
        for name, solid in model.solid_from_object.items() if not solid.is_mesh_solid
    ]  # fmt: skip
    if model.solid_from_object and not model.is_metric:
        findings.append(Finding(
            "scale-unknown", Severity.WARNING,
            "Nothing fixes the scale of this reconstruction, so masses do not follow from volumes.",
            "measure the mass, or give a robot model or metric camera poses",
        ))  # fmt: skip
    return tuple(findings)


def _ask_all(
    model: Model,
    config: PriorConfig,
    pictures: Callable[[str], Sequence[ObjectPicture]],
    chat: Chat | None,
    on_progress: OnProgress,
) -> Sequence[Asked]:
    """What the model says of each object; nothing where there is no model to ask."""
    if chat is None:
        raise ConfigError(
            'kind = "vlm" needs the address and the name of a model.',
            remedy="set GEMEL_VLM_URL and GEMEL_VLM_MODEL, or url and model under [prior.vlm] in twin.toml",
        )
    asked = []
    for index, (name, solid) in enumerate(model.solid_from_object.items()):
        asked.append(ask(name, solid, config.objects.get(name, Matter()), pictures(name), chat, config.vlm))
        on_progress((index + 1) / len(model.solid_from_object))
    return asked


def _with_seen_materials(config: PriorConfig, asked: Sequence[Asked]) -> PriorConfig:
    """The model's majority for a material, where the user names none."""
    objects = dict(config.objects)
    for item in asked:
        matter = objects.get(item.object, Matter())
        if item.material and not matter.material:
            objects[item.object] = replace(matter, material=item.material)
    return replace(config, objects=objects)


def _record(
    config: PriorConfig,
    belief: Belief,
    chosen: Mapping[str, Opinion],
    opinions: Sequence[Opinion],
    asked: Sequence[Asked],
) -> dict[str, Any]:
    """What each value rests on, what was overruled, and every answer of a model as it came."""
    parameters = {}
    for name, column in zip(belief.names, belief.samples.T, strict=True):
        low, median, high = np.quantile(column, [0.05, 0.5, 0.95])
        others = [o for o in opinions if o is not chosen[name] and name in o.draws and o.origin != chosen[name].origin]
        parameters[name] = {
            "origin": chosen[name].origin, "said": chosen[name].said.get(name, ""),
            "cited": chosen[name].cited.get(name, ""),
            "low": float(low), "median": float(median), "high": float(high),
            "overruled": {o.origin: [float(q) for q in np.quantile(o.draws[name], [0.05, 0.5, 0.95])] for o in others},
        }  # fmt: skip
    return {
        "format": "gemel-prior",
        "kind": config.kind,
        "parameters": parameters,
        "asked": [a.record() for a in asked],
    }
