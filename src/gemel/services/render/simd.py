"""Eight float32 lanes as one numba value: the renderer's kernels are written with explicit vectors.

This file's whole point is numba, so it imports numba at module level; load it only from the CPU back end.

Why explicit: LLVM's automatic vectoriser gives up on the blending loop (masks, early stop, a dozen running sums)
and numba's wheels come without Intel's vector `exp`. With a vector type the running sums stay in registers, masks
are one instruction, and the same arithmetic function serves a scalar (tests) and a vector (kernels). LLVM lowers
the eight lanes to AVX, AVX-512VL or pairs of NEON registers; nothing here names an instruction set.

Floating-point flags: only `contract` (fused multiply-add). Re-association stays off, because `exp2_negative` relies
on exact rounding and because sums must not depend on what the optimiser fancies: equal input, equal bits.
"""

from typing import Any

from llvmlite import ir
from numba import types  # noqa: TID253 - this file exists for numba
from numba.core import cgutils  # noqa: TID253
from numba.extending import intrinsic, models, register_model  # noqa: TID253

LANES = 8
"""Lanes of a vector. Sixteen were tried on an AVX-512 machine: 12 % slower, splats are mostly narrower than that."""

_F32 = ir.FloatType()
_I32 = ir.IntType(32)
_I64 = ir.IntType(64)
_VECTOR = ir.VectorType(_F32, LANES)
_INTEGERS = ir.VectorType(_I32, LANES)
_MASK = ir.VectorType(ir.IntType(1), LANES)


class Vector(types.Type):
    """numba type of eight float32 lanes."""

    def __init__(self) -> None:
        super().__init__(name="gemel_vector")


class Mask(types.Type):
    """numba type of eight truth values."""

    def __init__(self) -> None:
        super().__init__(name="gemel_mask")


vector = Vector()
mask = Mask()


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, _VECTOR)


@register_model(Mask)
class _MaskModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, _MASK)


def spread(builder: Any, value: Any) -> Any:
    """One float32 in all lanes."""
    first = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), value, ir.Constant(_I32, 0))
    return builder.shuffle_vector(first, ir.Constant(_VECTOR, ir.Undefined), ir.Constant(_INTEGERS, [0] * LANES))


def _constant(value: float) -> Any:
    return ir.Constant(_VECTOR, [value] * LANES)


def _lanes_pointer(builder: Any, pointer: Any, index: Any) -> Any:
    return builder.bitcast(builder.gep(pointer, [index]), _VECTOR.as_pointer())


@intrinsic
def load(typing: Any, array: Any, index: Any) -> Any:
    """Eight consecutive values of a float32 pointer, from `index` on (unaligned)."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_lanes_pointer(builder, *args), align=4)

    return vector(array, types.intp), codegen


@intrinsic
def store(typing: Any, array: Any, index: Any, value: Any) -> Any:
    """Write eight consecutive values of a float32 pointer."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], _lanes_pointer(builder, *args[:2]), align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, value), codegen


def _record_positions(builder: Any, first: Any, count: Any, stride: Any, offset: Any) -> list[Any]:
    """Where one field of the records first, first + 1, ... lies; lanes past the last record repeat the last one."""
    last = builder.sub(count, ir.Constant(_I64, 1))
    positions = []
    for lane in range(LANES):
        record = builder.add(first, ir.Constant(_I64, lane))
        record = builder.select(builder.icmp_signed("<", record, last), record, last)
        positions.append(builder.add(builder.mul(record, stride), offset))
    return positions


@intrinsic
def load_field(typing: Any, array: Any, first: Any, count: Any, stride: Any, offset: Any) -> Any:
    """One field of eight records of a float32 pointer: records `stride` floats long, field at `offset`.

    Lanes past the last of the `count` records repeat the last one.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value = ir.Constant(_VECTOR, ir.Undefined)
        for lane, position in enumerate(_record_positions(builder, *args[1:5])):
            item = builder.load(builder.gep(args[0], [position]))
            value = builder.insert_element(value, item, ir.Constant(_I32, lane))
        return value

    return vector(array, types.int64, types.int64, types.int64, types.int64), codegen


@intrinsic
def store_field(typing: Any, array: Any, first: Any, count: Any, stride: Any, offset: Any, value: Any) -> Any:
    """Write one field of eight records; lanes past the last record are dropped.

    They all aim at the last record, so the lanes are written backwards: the right one comes last.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        for lane, position in reversed(list(enumerate(_record_positions(builder, *args[1:5])))):
            item = builder.extract_element(args[5], ir.Constant(_I32, lane))
            builder.store(item, builder.gep(args[0], [position]))
        return context.get_dummy_value()

    kinds = (array, types.int64, types.int64, types.int64, types.int64, value)
    return types.void(*kinds), codegen


def _interleave(builder: Any, a: Any, b: Any, step: int) -> tuple[Any, Any]:
    """One exchange of a transposition: lanes whose number has the bit `step` set swap with the partner's others."""
    low = [i if not i & step else LANES + i - step for i in range(LANES)]
    high = [i + step if not i & step else LANES + i for i in range(LANES)]
    return (
        builder.shuffle_vector(a, b, ir.Constant(_INTEGERS, low)),
        builder.shuffle_vector(a, b, ir.Constant(_INTEGERS, high)),
    )


def _transpose(builder: Any, rows: list[Any]) -> list[Any]:
    """Eight vectors as the rows of a matrix; returns its columns."""
    rows = list(rows)
    for step in (1, 2, 4):
        for i in range(LANES):
            if not i & step:
                rows[i], rows[i + step] = _interleave(builder, rows[i], rows[i + step], step)
    return rows


@intrinsic
def load_fields(typing: Any, array: Any, first: Any, count: Any, stride: Any, offset: Any) -> Any:
    """Eight neighbouring fields of eight records: like eight `load_field`, by whole rows and a transposition."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        positions = _record_positions(builder, *args[1:5])
        rows = [builder.load(_lanes_pointer(builder, args[0], p), align=4) for p in positions]
        return context.make_tuple(builder, signature.return_type, _transpose(builder, rows))

    kinds = (array, types.int64, types.int64, types.int64, types.int64)
    return types.UniTuple(vector, LANES)(*kinds), codegen


@intrinsic
def store_fields(typing: Any, array: Any, first: Any, count: Any, stride: Any, offset: Any, values: Any) -> Any:
    """Write eight neighbouring fields of eight records: like eight `store_field`."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        positions = _record_positions(builder, *args[1:5])
        rows = _transpose(builder, [builder.extract_value(args[5], k) for k in range(LANES)])
        for position, row in reversed(list(zip(positions, rows, strict=True))):
            builder.store(row, _lanes_pointer(builder, args[0], position), align=4)
        return context.get_dummy_value()

    kinds = (array, types.int64, types.int64, types.int64, types.int64, values)
    return types.void(*kinds), codegen


@intrinsic
def store_truncated(typing: Any, pointer: Any, index: Any, value: Any) -> Any:
    """Write eight values, truncated to int32, to an int32 pointer."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = builder.bitcast(builder.gep(args[0], [args[1]]), _INTEGERS.as_pointer())
        builder.store(builder.fptosi(args[2], _INTEGERS), place, align=4)
        return context.get_dummy_value()

    return types.void(pointer, types.intp, value), codegen


@intrinsic
def splat(typing: Any, value: Any) -> Any:
    """One float32 in all lanes."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return spread(builder, args[0])

    return vector(types.float32), codegen


@intrinsic
def lane_numbers(typing: Any) -> Any:
    """0, 1, ... 7."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return ir.Constant(_VECTOR, [float(lane) for lane in range(LANES)])

    return vector(), codegen


@intrinsic
def select(typing: Any, condition: Any, yes: Any, no: Any) -> Any:
    """`yes` where the condition holds, else `no`, lane by lane."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.select(*args)

    return vector(mask, vector, vector), codegen


@intrinsic
def any_lane(typing: Any, condition: Any) -> Any:
    """Whether the condition holds in at least one lane."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        bits = builder.bitcast(args[0], ir.IntType(LANES))
        return builder.icmp_unsigned("!=", bits, ir.Constant(ir.IntType(LANES), 0))

    return types.boolean(mask), codegen


@intrinsic
def lane_bits(typing: Any, condition: Any) -> Any:
    """The mask as an integer, lane 0 in the lowest bit."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.zext(builder.bitcast(args[0], ir.IntType(LANES)), ir.IntType(64))

    return types.int64(mask), codegen


def _reduce(builder: Any, value: Any) -> Any:
    """Sum of the lanes by halving: a fixed order, hence equal bits on every machine."""
    width = LANES
    while width > 1:
        width //= 2
        low = ir.Constant(ir.VectorType(_I32, width), list(range(width)))
        high = ir.Constant(ir.VectorType(_I32, width), list(range(width, 2 * width)))
        undefined = ir.Constant(value.type, ir.Undefined)
        value = builder.fadd(
            builder.shuffle_vector(value, undefined, low), builder.shuffle_vector(value, undefined, high)
        )
    return builder.extract_element(value, ir.Constant(_I32, 0))


@intrinsic
def lane_sum(typing: Any, value: Any) -> Any:
    """Sum of the eight lanes."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _reduce(builder, args[0])

    return types.float32(vector), codegen


@intrinsic
def lane_sums(typing: Any, values: Any) -> Any:
    """Eight vectors in, one out: lane k holds the sum of vector k. Three steps of adding pairs, no separate sums."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        rows = [builder.extract_value(args[0], k) for k in range(LANES)]
        step = 1
        while len(rows) > 1:
            pairs = [_interleave(builder, rows[2 * k], rows[2 * k + 1], step) for k in range(len(rows) // 2)]
            rows = [builder.fadd(*pair) for pair in pairs]
            step *= 2
        return rows[0]

    return vector(values), codegen


@intrinsic
def square_root(typing: Any, value: Any) -> Any:
    """Square root, of a float or of each lane."""
    kind = vector if isinstance(value, Vector) else types.float32

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(args[0].type, [args[0].type]),
            f"llvm.sqrt.{'v%df32' % LANES if kind is vector else 'f32'}",
        )
        return builder.call(function, [args[0]])

    return kind(kind), codegen


@intrinsic
def scale_by_power(typing: Any, value: Any, shifted: Any) -> Any:
    """value * 2^n, where n sits in the low mantissa bits of `shifted` = n + 1.5 * 2^23."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        exponent = builder.shl(
            builder.bitcast(args[1], _INTEGERS), ir.Constant(_INTEGERS, [23] * LANES)
        )
        return builder.bitcast(builder.add(builder.bitcast(args[0], _INTEGERS), exponent), _VECTOR)

    return vector(vector, vector), codegen


@intrinsic
def split_power(typing: Any, value: Any) -> Any:
    """(m, e) with value = m * 2^e, 1 <= m < 2, for positive normal numbers."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def constant(number: int) -> Any:
            return ir.Constant(_INTEGERS, [number] * LANES)

        bits = builder.bitcast(args[0], _INTEGERS)
        exponent = builder.sub(builder.lshr(bits, constant(23)), constant(127))
        fraction = builder.or_(builder.and_(bits, constant(0x007FFFFF)), constant(0x3F800000))
        items = [builder.bitcast(fraction, _VECTOR), builder.sitofp(exponent, _VECTOR)]
        return context.make_tuple(builder, signature.return_type, items)

    return types.UniTuple(vector, 2)(vector), codegen


@intrinsic
def prefetch(typing: Any, pointer: Any, index: Any) -> Any:
    """Ask for the cache line of pointer[index]; harmless wherever it points."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        byte = builder.bitcast(builder.gep(args[0], [args[1]]), ir.IntType(8).as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer(), _I32, _I32, _I32])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [byte, ir.Constant(_I32, 0), ir.Constant(_I32, 3), ir.Constant(_I32, 1)])
        return context.get_dummy_value()

    return types.void(pointer, types.int64), codegen


@intrinsic
def atomic_take(typing: Any, counter: Any, index: Any, amount: Any) -> Any:
    """Add to counter[index] (int64) and return what was there before, safely between threads."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.atomic_rmw("add", builder.gep(args[0], [args[1]]), args[2], "seq_cst")

    return types.int64(counter, types.int64, types.int64), codegen
