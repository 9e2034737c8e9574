"""Settings of the reconstruct stage: `[reconstruct]` in twin.toml."""

from dataclasses import dataclass, field

from gemel.errors import ConfigError, choices_text
from gemel.stages.reconstruct.calibration.config import CalibrationConfig
from gemel.stages.reconstruct.scene.config import SceneConfig

ROUTES = ("observed", "generated")


@dataclass(frozen=True)
class ReconstructConfig:
    """How frames become shapes and looks; nothing here is tuned to an object."""

    calibration: CalibrationConfig = field(default_factory=CalibrationConfig)
    """How cameras and robot are calibrated first."""
    is_calibrated: bool = True
    """Whether cameras and robot are corrected at all; if not, the given ones are taken as they are."""
    is_refined: bool = True
    """Whether the object's own looks correct cameras further."""
    start: str = "hull"
    """What an object's mesh starts from: `hull`, or `sphere` for comparison."""
    is_smooth: bool = True
    """Whether rough surfaces cost; off for comparison only."""
    is_flat: bool = True
    """Whether Gaussians are kept flat on their faces; off for comparison only."""
    voxels: int = 96
    """Voxels of the visual hull along an object's longest side."""
    faces: int = 2000
    """Faces of an object's mesh, about."""
    gaussians: int = 8000
    """Gaussians of an object, about."""
    steps: tuple[int, ...] = (200, 400, 800)
    """Steps of the joint fit at a quarter, half and full size of the images."""
    fixed_views: int = 2
    """Views of each fixed camera that an object's fit looks at."""
    route: str = "observed"
    """Where shapes come from: `observed` (outlines) or `generated` (a model from elsewhere, fitted to the views)."""
    generated_file: str = ""
    """A .glb, .ply or .obj of the object in any frame and unit; `{object}` stands for its name."""
    generated_command: str = ""
    """A local command that makes one, such as `trellis --image {image} --mask {mask} --out {output}`."""
    generated_server: str = ""
    """Address of a server that answers a POST of image and mask (PNG) with a .glb."""
    is_gate_strict: bool = True
    """Whether errors that the gate finds stop the stage; if not, they are only reported."""
    scene: SceneConfig = field(default_factory=SceneConfig)
    """How robot links, table and background are drawn."""
    renderer: str = "auto"
    """Which back end draws: auto, cpu, cuda or reference."""

    def __post_init__(self) -> None:
        if self.route not in ROUTES:
            raise ConfigError(f"route {choices_text(self.route, ROUTES)}", remedy="correct it under [reconstruct]")
