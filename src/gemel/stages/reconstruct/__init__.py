"""Reconstruct: frames, masks and cameras -> SplatMesh objects."""
