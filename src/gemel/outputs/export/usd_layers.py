"""Two layers of USD compared spec by spec and field by field: whatever a stage says, it says there.

A layer is a tree of specs (prims, attributes, relationships), each a set of fields (type, applied schemas, value,
targets, remarks). Nothing is left out, so that a change that no check of meaning thinks of is noticed too.
"""

from typing import Any

from gemel.outputs.export.report import Check

_KINDS = {
    "types and schemas": ("typeName", "apiSchemas", "specifier", "active", "instanceable", "kind", "variability"),
    "values": ("default", "timeSamples", "spline"),
    "targets and connections": ("targetPaths", "connectionPaths"),
}
"""Fields by what a reader calls them; all others are remarks: units, interpolation, names, conventions."""
_OTHERS = "remarks"


def layer_checks(ours: Any, theirs: Any) -> tuple[Check, ...]:
    """How many specs and fields of two `Sdf.Layer` differ, by kind."""
    mine, other = _specs(ours), _specs(theirs)
    alone = sorted({*mine} ^ {*other})
    found: dict[str, list[str]] = {kind: [] for kind in (*_KINDS, _OTHERS)}
    for path in mine.keys() & other.keys():
        for field in _different_fields(mine[path], other[path]):
            found[_kind(field)].append(f"{path} {field}")
    return (
        Check("prims and properties on one side only", float(len(alone)), 0.0, where=alone[0] if alone else ""),
        *(Check(f"{kind} that differ from what was meant", float(len(places)), 0.0, where=min(places, default=""))
          for kind, places in found.items()),
    )  # fmt: skip


def _specs(layer: Any) -> dict[str, Any]:
    """The layer itself, all prims and their properties by path; variants would show as a field of their prim."""
    found, waiting = {"/": layer.pseudoRoot}, list(layer.rootPrims)
    while waiting:
        prim = waiting.pop()
        found[str(prim.path)] = prim
        found |= {str(own.path): own for own in prim.properties}
        waiting += prim.nameChildren
    return found


def _different_fields(ours: Any, theirs: Any) -> list[str]:
    """Fields that only one spec has, or that are not equal; NaN never is."""
    fields = {*ours.ListInfoKeys(), *theirs.ListInfoKeys()}
    return [field for field in fields if not _is_same(ours, theirs, field)]


def _is_same(ours: Any, theirs: Any, field: str) -> bool:
    if ours.HasInfo(field) != theirs.HasInfo(field):
        return False
    mine, other = ours.GetInfo(field), theirs.GetInfo(field)
    if field == "default" and hasattr(mine, "path") and hasattr(other, "path"):  # what it resolves to is the reader's
        return bool(mine.path == other.path)
    return bool(mine == other)


def _kind(field: str) -> str:
    return next((kind for kind, fields in _KINDS.items() if field in fields), _OTHERS)
