"""What logged depth says of an object's shape: space before a measured surface is empty.

Outlines cannot look into a hollow; a depth camera can. Every point of the hull asks the views how far before the
surface that they measured it lies, and goes by the median, so that noise moves the surface to neither side and a wrong
view carves nothing on its own. A view whose surface lies well before the point does not see it and says nothing.
"""

from dataclasses import replace

import numpy as np

from gemel.stages.reconstruct.hull import Field
from gemel.stages.reconstruct.views import Views

REACH_VOXELS = 3.0
"""How far behind a measured surface a view still knows that there is something, in voxels."""
FEWEST_VIEWS = 2
"""A single view carves nothing."""
ENOUGH = 0.5
"""Part of the object's pixels with a depth from which on depth says more than the agreement of pictures (cap.py)."""


def carved_by_depth(hull: Field, views: Views) -> Field:
    """The hull without what lies before measured surfaces; nothing is added to it."""
    from gemel.stages.reconstruct.voxel_kernel import measured_distance

    assert views.depths is not None
    grid = (hull.low, np.array(hull.values.shape), hull.spacing)
    reach = REACH_VOXELS * hull.spacing
    before = measured_distance(
        views.depths, views.Ts_camera_world, views.intrinsics, grid, reach, min(FEWEST_VIEWS, len(views))
    )
    return replace(hull, values=np.maximum(hull.values, before))


def measured_part(views: Views) -> float:
    """Part of the object's pixels whose depth was measured."""
    if views.depths is None:
        return 0.0
    is_object = (views.masks > 0.5) & ~views.ignore
    return float((is_object & (views.depths > 0.0)).sum() / max(is_object.sum(), 1))
