"""Settings of what stands around the objects."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SceneConfig:
    """How robot links, table and background are drawn; lengths and budgets, nothing tuned to a scene."""

    link_edge_m: float = 0.012
    """Longest edge of a link's mesh [m], about; longer where the link would need too many Gaussians."""
    link_gaussians: int = 3000
    """At most so many Gaussians on a link."""
    table_gaussians: int = 12000
    """At most so many Gaussians on the table, finest where most pixels fall."""
    table_edge_m: float = 0.008
    """Shortest edge of the table's mesh [m]."""
    table_reach_m: float = 1.2
    """How far from the middle of the views the table is drawn at most [m]."""
    background_gaussians: int = 4000
    """At most so many free Gaussians behind table and robot."""
    background_distance_m: float = 2.0
    """How far from the middle of the views the background is put, whose depth no view tells [m]."""
    steps: int = 200
    """Steps of the fit of colours."""
