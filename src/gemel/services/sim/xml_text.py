"""A MuJoCo description as text that loses nothing: MuJoCo writes six digits unless told otherwise."""

import ctypes
from typing import Any

from gemel.services.sim.quiet import mujoco_library

_DIGITS = 17
"""Enough to name every float64."""


def exact_xml(spec: Any) -> str:
    """`spec.to_xml()` with all digits; with MuJoCo's six where its library has no such setting."""
    library = mujoco_library()
    if library is None or not hasattr(library, "_mjPRIVATE__set_xml_precision"):
        return str(spec.to_xml())
    library._mjPRIVATE__set_xml_precision.argtypes = [ctypes.c_int]
    before = int(library._mjPRIVATE__get_xml_precision())
    library._mjPRIVATE__set_xml_precision(_DIGITS)
    try:
        return str(spec.to_xml())
    finally:
        library._mjPRIVATE__set_xml_precision(before)
