"""A project folder: `twin.toml`, which says what the log cannot, and the store beside it."""

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from gemel.artifacts.capture import Domain
from gemel.errors import ConfigError, choices_text
from gemel.services.formats.calibration import JointScale
from gemel.services.formats.toml_table import from_table, read_toml
from gemel.stages.assemble.config import AssembleConfig
from gemel.stages.evaluate.config import EvaluateConfig
from gemel.stages.identify.config import IdentifyConfig
from gemel.stages.ingest.config import IngestConfig
from gemel.stages.prior.config import Matter, Measurement, Part, PriorConfig, Surface
from gemel.stages.reconstruct.config import ReconstructConfig
from gemel.stages.segment.config import ObjectPrompt, SegmentConfig
from gemel.stages.split.config import SplitConfig
from gemel.stages.track.config import TrackConfig
from gemel.stages.train.config import TrainConfig

SETTINGS = "twin.toml"
STORE = ".gemel"
CORRECTIONS = "corrections"


@dataclass(frozen=True)
class CaptureSettings:
    """`[capture]`: where the log is."""

    source: str
    """Path of the log, absolute or relative to the project folder."""
    domain: Literal["real", "stand-in"] = "real"
    """Where it was recorded: on a real robot, or in a stand-in world; claims say it."""


@dataclass(frozen=True)
class RobotSettings:
    """`[robot]`: the robot's description."""

    model: str = ""
    """Path of an MJCF or URDF file; empty without a robot model."""


@dataclass(frozen=True)
class TaskSettings:
    """`[task]`: which task contract applies."""

    name: str = ""


@dataclass(frozen=True)
class EpisodeSettings:
    """`[episodes]`: what the log does not say of its episodes."""

    scan: tuple[str, ...] = ()
    """Episodes that only look at the scene; always calibration."""
    object: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Episodes by the object that they handle."""


@dataclass(frozen=True)
class ObjectSettings(ObjectPrompt):
    """`[objects.NAME]`: which object is meant, what it is made of, and what was measured of it."""

    material: str = ""
    """A name of the materials table (docs/prior.md)."""
    fill: tuple[float, ...] = ()
    """Part of the volume inside its surface that is material: [low, high]."""
    uneven: float | None = None
    """Part of the mass, on average, that may sit anywhere inside."""
    parts: tuple[Part, ...] = ()
    """Ends that are of another material."""
    measured: dict[str, Measurement] = field(default_factory=dict)
    """Readings by quantity: mass_kg, com_x_m, com_y_m, com_z_m, size_x_m, size_y_m, size_z_m."""

    def __post_init__(self) -> None:
        for key in self.measured:
            if key not in _MEASURED_KEYS:
                raise ConfigError(f"measured {choices_text(key, _MEASURED_KEYS)}", remedy="use one of the choices")
        self.matter()

    def prompted(self) -> ObjectPrompt:
        """Only what segment needs: a new material is no reason to segment again."""
        return ObjectPrompt(self.prompt, self.points, self.boxes)

    def matter(self) -> Matter:
        """What it is made of."""
        return Matter(self.material, self.fill, self.uneven, self.parts)


_MEASURED_KEYS = ("mass_kg", *(f"{what}_{axis}_m" for what in ("com", "size") for axis in "xyz"))


@dataclass(frozen=True)
class Settings:
    """All of `twin.toml`."""

    capture: CaptureSettings
    seed: int = 0
    robot: RobotSettings = field(default_factory=RobotSettings)
    task: TaskSettings = field(default_factory=TaskSettings)
    joints: dict[str, JointScale] = field(default_factory=dict)
    actions: dict[str, JointScale] = field(default_factory=dict)
    cameras: dict[str, Any] = field(default_factory=dict)
    episodes: EpisodeSettings = field(default_factory=EpisodeSettings)
    split: SplitConfig = field(default_factory=SplitConfig)
    segment: SegmentConfig = field(default_factory=SegmentConfig)
    objects: dict[str, ObjectSettings] = field(default_factory=dict)
    reconstruct: ReconstructConfig = field(default_factory=ReconstructConfig)
    prior: PriorConfig = field(default_factory=PriorConfig)
    surfaces: dict[str, Surface] = field(default_factory=dict)
    measured: dict[str, Measurement] = field(default_factory=dict)
    identify: IdentifyConfig = field(default_factory=IdentifyConfig)
    assemble: AssembleConfig = field(default_factory=AssembleConfig)
    track: TrackConfig = field(default_factory=TrackConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    evaluate: EvaluateConfig = field(default_factory=EvaluateConfig)


@dataclass(frozen=True)
class Project:
    """A project folder and its settings."""

    folder: Path
    settings: Settings

    @property
    def store_folder(self) -> Path:
        """Where its artifacts live."""
        return self.folder / STORE

    @property
    def source(self) -> Path:
        """The log."""
        return _resolve(self.folder, self.settings.capture.source)

    @property
    def robot_model(self) -> Path | None:
        """The robot's description, if there is one."""
        model = self.settings.robot.model
        return _resolve(self.folder, model) if model else None

    def ingest_config(self) -> IngestConfig:
        """What ingest is told."""
        settings = self.settings
        return IngestConfig(
            joints=settings.joints,
            actions=settings.actions,
            cameras=settings.cameras,
            scan_episodes=settings.episodes.scan,
            object_from_episode={e: name for name, es in settings.episodes.object.items() for e in es},
            domain=Domain(settings.capture.domain),
        )

    def segment_config(self) -> SegmentConfig:
        """What segment is told."""
        prompts = {name: item.prompted() for name, item in self.settings.objects.items()}
        return replace(self.settings.segment, objects={**self.settings.segment.objects, **prompts})

    def prior_config(self) -> PriorConfig:
        """What prior is told; the model's address and name may come from the environment, its key never does here."""
        settings, prior = self.settings, self.settings.prior
        of_objects = {
            f"object/{name}/{key.rsplit('_', 1)[0]}": measurement
            for name, item in settings.objects.items() for key, measurement in item.measured.items()
        }  # fmt: skip
        matters = {name: item.matter() for name, item in settings.objects.items() if item.matter() != Matter()}
        return replace(
            prior,
            vlm=replace(
                prior.vlm,
                url=os.environ.get("GEMEL_VLM_URL") or prior.vlm.url,
                model=os.environ.get("GEMEL_VLM_MODEL") or prior.vlm.model,
            ),
            objects={**prior.objects, **matters},
            surfaces={**prior.surfaces, **settings.surfaces},
            measured={**prior.measured, **settings.measured, **of_objects},
        )

    def identify_config(self) -> IdentifyConfig:
        """What identify is told; what actions are need be said only once, under [evaluate]."""
        own, evaluate = self.settings.identify, self.settings.evaluate
        actions = evaluate.actions if own.actions == "auto" else own.actions
        return replace(own, actions=actions, arms=own.arms or evaluate.arms)

    @property
    def prior_file(self) -> Path | None:
        """The user's own prior, if there is one."""
        return _resolve(self.folder, self.settings.prior.file) if self.settings.prior.file else None

    @property
    def segment_model(self) -> str:
        """The segmenter's weights: a path if there is something at it, else what was written (a hub id)."""
        path = _resolve(self.folder, self.settings.segment.model)
        return str(path) if self.settings.segment.model and path.exists() else self.settings.segment.model

    @property
    def masks_folder(self) -> Path | None:
        """The user's own masks, if there are any."""
        masks = self.settings.segment.masks
        return _resolve(self.folder, masks) if masks else None

    @property
    def corrections_folder(self) -> Path:
        """Masks that were painted with `gemel prompt`: OBJECT/EPISODE/CAMERA/STEP.png."""
        return self.folder / CORRECTIONS


def open_project(folder: Path) -> Project:
    """Read and check a project's settings."""
    path = folder / SETTINGS
    if not folder.exists():
        raise ConfigError(
            f"There is nothing at {folder}; a project folder was expected.",
            remedy=f"check the path, or make a project with `gemel new {folder} --capture SOURCE`",
        )
    if not folder.is_dir():
        raise ConfigError(
            f"{folder} is a file; a project folder was expected.", remedy=f"give a folder with {SETTINGS}"
        )
    if not path.exists():
        raise ConfigError(
            f"{folder} is not a Gemel project: it has no {SETTINGS}.",
            remedy=f"make one with `gemel new {folder} --capture SOURCE`",
        )
    return Project(folder, from_table(Settings, read_toml(path), where=SETTINGS))


def portable_path(path: Path, folder: Path) -> str:
    """How to write a path into `twin.toml`: relative when it lies beside the project, else absolute."""
    target, base = path.resolve(), folder.resolve()
    return os.path.relpath(target, base) if target.is_relative_to(base.parent) else str(target)


def _resolve(folder: Path, text: str) -> Path:
    path = Path(text).expanduser()
    return path if path.is_absolute() else folder / path
