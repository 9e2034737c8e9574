"""Fields of eight neighbouring records as vectors: from an array of structures to lanes and back.

This file's whole point is numba, so it imports numba at module level.
"""

# mypy: disallow-untyped-decorators=false, disallow-subclassing-any=false

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types  # noqa: TID253 - this file exists for numba
from numba.extending import intrinsic  # noqa: TID253

from gemel.services.render import simd

LANES = simd.LANES


def _record_positions(builder: Any, first: Any, count: Any, stride: Any, offset: Any) -> list[Any]:
    """Where one field of the records first, first + 1, ... lies; lanes past the last record repeat the last one."""
    last = builder.sub(count, ir.Constant(simd.I64, 1))
    positions = []
    for lane in range(LANES):
        record = builder.add(first, ir.Constant(simd.I64, lane))
        record = builder.select(builder.icmp_signed("<", record, last), record, last)
        positions.append(builder.add(builder.mul(record, stride), offset))
    return positions


@intrinsic
def load_field(typing: Any, array: Any, first: Any, count: Any, stride: Any, offset: Any) -> Any:
    """One field of eight records of a float32 pointer: records `stride` floats long, field at `offset`.

    Lanes past the last of the `count` records repeat the last one.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value = ir.Constant(simd.VECTOR, ir.Undefined)
        for lane, position in enumerate(_record_positions(builder, *args[1:5])):
            item = builder.load(builder.gep(args[0], [position]))
            value = builder.insert_element(value, item, ir.Constant(simd.I32, lane))
        return value

    return simd.vector(array, types.int64, types.int64, types.int64, types.int64), codegen


@intrinsic
def store_field(typing: Any, array: Any, first: Any, count: Any, stride: Any, offset: Any, value: Any) -> Any:
    """Write one field of eight records; lanes past the last record are dropped.

    They all aim at the last record, so the lanes are written backwards: the right one comes last.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        for lane, position in reversed(list(enumerate(_record_positions(builder, *args[1:5])))):
            item = builder.extract_element(args[5], ir.Constant(simd.I32, lane))
            builder.store(item, builder.gep(args[0], [position]))
        return context.get_dummy_value()

    kinds = (array, types.int64, types.int64, types.int64, types.int64, value)
    return types.void(*kinds), codegen


def _transpose(builder: Any, rows: list[Any]) -> list[Any]:
    """Eight vectors as the rows of a matrix; returns its columns."""
    rows = list(rows)
    for step in (1, 2, 4):
        for i in range(LANES):
            if not i & step:
                rows[i], rows[i + step] = simd.interleave(builder, rows[i], rows[i + step], step)
    return rows


@intrinsic
def load_fields(typing: Any, array: Any, first: Any, count: Any, stride: Any, offset: Any) -> Any:
    """Eight neighbouring fields of eight records: like eight `load_field`, by whole rows and a transposition."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        positions = _record_positions(builder, *args[1:5])
        rows = [builder.load(simd.lanes_pointer(builder, args[0], p), align=4) for p in positions]
        return context.make_tuple(builder, signature.return_type, _transpose(builder, rows))

    kinds = (array, types.int64, types.int64, types.int64, types.int64)
    return types.UniTuple(simd.vector, LANES)(*kinds), codegen


@intrinsic
def store_fields(typing: Any, array: Any, first: Any, count: Any, stride: Any, offset: Any, values: Any) -> Any:
    """Write eight neighbouring fields of eight records: like eight `store_field`."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        positions = _record_positions(builder, *args[1:5])
        rows = _transpose(builder, [builder.extract_value(args[5], k) for k in range(LANES)])
        for position, row in reversed(list(zip(positions, rows, strict=True))):
            builder.store(row, simd.lanes_pointer(builder, args[0], position), align=4)
        return context.get_dummy_value()

    kinds = (array, types.int64, types.int64, types.int64, types.int64, values)
    return types.void(*kinds), codegen
