"""Which classes the store may write and read, and the schema version of each artifact."""

from functools import cache
from importlib import import_module

SCHEMA_VERSION = {
    "Capture": 1,
    "Split": 1,
    "Segmentation": 1,
    "Reconstruction": 2,
    "Track": 1,
    "Tracks": 1,
    "Belief": 1,
    "Twin": 1,
    "PolicyCard": 1,
    "Evidence": 1,
    "Inspection": 1,
}
"""Version of each artifact's layout; raise it when a field changes meaning, and teach the reader the old one."""

_MODULES = {
    "gemel.geometry": ("SO3", "SE3", "Pinhole", "OpenCV", "Fisheye", "Inertia"),
    "gemel.artifacts.belief": ("Belief", "Parameter", "ValueSource"),
    "gemel.artifacts.blob": ("BlobRef", "FileRef"),
    "gemel.artifacts.camera": ("Camera",),
    "gemel.artifacts.capture": (
        "Capture", "ClockReport", "DepthCode", "DepthVideo", "Domain", "EpisodeKind", "EpisodeRecord", "ImageSequence",
        "JointSignal", "UnitSource", "VideoSegment",
    ),
    "gemel.artifacts.evidence": ("Claim", "Curve", "Evidence", "Failure", "FailureLabel", "Following", "Range"),
    "gemel.artifacts.finding": ("Finding", "Severity"),
    "gemel.artifacts.gaussians": ("Gaussians",),
    "gemel.artifacts.inspection": (
        "EpisodeSummary", "Estimate", "Inspection", "StreamSummary", "UnitGuess",
    ),
    "gemel.artifacts.policy_card": ("PolicyCard",),
    "gemel.artifacts.reconstruction": ("ArticulatedObject", "ColourResponse", "Reconstruction"),
    "gemel.artifacts.robot": ("RobotJoint", "RobotModel"),
    "gemel.artifacts.segmentation": ("MaskTrack", "Segmentation"),
    "gemel.artifacts.splatmesh": ("SplatMesh",),
    "gemel.artifacts.split": ("Likeness", "Role", "Split"),
    "gemel.artifacts.task": ("Criterion", "Quantity", "Task"),
    "gemel.artifacts.track": ("Track", "Tracks"),
    "gemel.artifacts.twin": ("Twin",),
}  # fmt: skip


@cache
def stored_types() -> dict[str, type]:
    """Every class that may be read from a store, by name. `HeldOutData` is not among them: it is only a view."""
    return {name: getattr(import_module(module), name) for module, names in _MODULES.items() for name in names}
