"""Reconstructions of known shapes, and a place to keep blobs, for tests of the prior."""

from collections.abc import Mapping

import numpy as np

from gemel.artifacts.blob import BlobRef, Table
from gemel.artifacts.reconstruction import Reconstruction
from gemel.artifacts.splatmesh import SplatMesh
from gemel.geometry import SE3
from gemel.services.tasks import get_object
from gemel.store.address import hash_bytes


class Kept:
    """Blobs in memory."""

    def __init__(self) -> None:
        self.data: dict[str, bytes] = {}

    def put_bytes(self, data: bytes) -> BlobRef:
        self.data[hash_bytes(data)] = data
        return BlobRef(hash_bytes(data), len(data))

    def get_bytes(self, ref: BlobRef) -> bytes:
        return self.data[ref.address]

    def put_table(self, table: Table) -> BlobRef:
        raise NotImplementedError

    def get_table(self, ref: BlobRef) -> Table:
        raise NotImplementedError


def splatmesh(vertices: np.ndarray, faces: np.ndarray, *, seen: bool = True) -> SplatMesh:
    """A bare mesh as an object: no Gaussians."""
    return SplatMesh(
        vertices=np.asarray(vertices, dtype=np.float64), faces=np.asarray(faces, dtype=np.int64),
        is_seen=np.full(len(vertices), seen), face_from_gaussian=np.zeros(0, dtype=np.int64),
        barycentric=np.zeros((0, 3)), in_plane_scale=np.zeros((0, 2)), normal_scale_m=1e-4,
        sh=np.zeros((0, 1, 3)), opacity=np.zeros(0), dilation_px2=0.02,
    )  # fmt: skip


def reconstruction(
    *names: str, is_metric: bool = True, meshes: Mapping[str, SplatMesh] | None = None
) -> Reconstruction:
    """Nominal objects as if they had been reconstructed without error."""
    objects = dict(meshes or {})
    for name in names:
        model = get_object(name)
        objects[name] = splatmesh(model.vertices, model.faces)
    return Reconstruction(
        objects=objects, placements={name: SE3.identity() for name in objects}, links={}, table=None, articulated={},
        background=None, cameras=(), Ts_world_base=SE3.identity(0), joint_offsets=np.zeros(0),
        joint_offset_sigmas=np.zeros(0), joint_plays=np.zeros(0), is_metric=is_metric,
    )  # fmt: skip
