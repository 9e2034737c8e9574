"""Eight float32 lanes as one numba value: the renderer's kernels are written with explicit vectors.

This file's whole point is numba, so it imports numba at module level; load it only from the CPU back end.

Why explicit: LLVM's automatic vectoriser gives up on the blending loop (masks, early stop, a dozen running sums)
and numba's wheels come without Intel's vector `exp`. With a vector type the running sums stay in registers, masks
are one instruction, and the same arithmetic function serves a scalar (tests) and a vector (kernels). LLVM lowers
the eight lanes to AVX, AVX-512VL or pairs of NEON registers; nothing here names an instruction set.

Floating-point flags: only `contract` (fused multiply-add). Re-association stays off, because `exp2_negative` relies
on exact rounding and because sums must not depend on what the optimiser fancies: equal input, equal bits.
"""

# mypy: disallow-untyped-decorators=false, disallow-subclassing-any=false

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types  # noqa: TID253 - this file exists for numba
from numba.core import cgutils  # noqa: TID253
from numba.extending import intrinsic, models, register_model  # noqa: TID253

LANES = 8
"""Lanes of a vector: about the width of a small splat. Sixteen have not been tried."""

F32 = ir.FloatType()
I32 = ir.IntType(32)
I64 = ir.IntType(64)
VECTOR = ir.VectorType(F32, LANES)
INTEGERS = ir.VectorType(I32, LANES)
MASK = ir.VectorType(ir.IntType(1), LANES)


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
        super().__init__(dmm, fe_type, VECTOR)


@register_model(Mask)
class _MaskModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, MASK)


def spread(builder: Any, value: Any) -> Any:
    """One float32 in all lanes."""
    first = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), value, ir.Constant(I32, 0))
    return builder.shuffle_vector(first, ir.Constant(VECTOR, ir.Undefined), ir.Constant(INTEGERS, [0] * LANES))


def _constant(value: float) -> Any:
    return ir.Constant(VECTOR, [value] * LANES)


def lanes_pointer(builder: Any, pointer: Any, index: Any) -> Any:
    """Pointer to the eight floats from `index` on."""
    return builder.bitcast(builder.gep(pointer, [index]), VECTOR.as_pointer())


@intrinsic
def load(typing: Any, array: Any, index: Any) -> Any:
    """Eight consecutive values of a float32 pointer, from `index` on (unaligned)."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(lanes_pointer(builder, *args), align=4)

    return vector(array, types.intp), codegen


@intrinsic
def store(typing: Any, array: Any, index: Any, value: Any) -> Any:
    """Write eight consecutive values of a float32 pointer."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], lanes_pointer(builder, *args[:2]), align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, value), codegen


@intrinsic
def store_truncated(typing: Any, pointer: Any, index: Any, value: Any) -> Any:
    """Write eight values, truncated to int32, to an int32 pointer."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = builder.bitcast(builder.gep(args[0], [args[1]]), INTEGERS.as_pointer())
        builder.store(builder.fptosi(args[2], INTEGERS), place, align=4)
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
        return ir.Constant(VECTOR, [float(lane) for lane in range(LANES)])

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
        low = ir.Constant(ir.VectorType(I32, width), list(range(width)))
        high = ir.Constant(ir.VectorType(I32, width), list(range(width, 2 * width)))
        undefined = ir.Constant(value.type, ir.Undefined)
        value = builder.fadd(
            builder.shuffle_vector(value, undefined, low), builder.shuffle_vector(value, undefined, high)
        )
    return builder.extract_element(value, ir.Constant(I32, 0))


@intrinsic
def lane_sum(typing: Any, value: Any) -> Any:
    """Sum of the eight lanes."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _reduce(builder, args[0])

    return types.float32(vector), codegen


def interleave(builder: Any, a: Any, b: Any, step: int) -> tuple[Any, Any]:
    """One exchange of a transposition: lanes whose number has the bit `step` set swap with the partner's others."""
    low = [i if not i & step else LANES + i - step for i in range(LANES)]
    high = [i + step if not i & step else LANES + i for i in range(LANES)]
    return (
        builder.shuffle_vector(a, b, ir.Constant(INTEGERS, low)),
        builder.shuffle_vector(a, b, ir.Constant(INTEGERS, high)),
    )


@intrinsic
def lane_sums(typing: Any, values: Any) -> Any:
    """Eight vectors in, one out: lane k holds the sum of vector k. Three steps of adding pairs, no separate sums."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        rows = [builder.extract_value(args[0], k) for k in range(LANES)]
        step = 1
        while len(rows) > 1:
            pairs = [interleave(builder, rows[2 * k], rows[2 * k + 1], step) for k in range(len(rows) // 2)]
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
            "llvm.sqrt.v8f32" if kind is vector else "llvm.sqrt.f32",
        )
        return builder.call(function, [args[0]])

    return kind(kind), codegen


@intrinsic
def scale_by_power(typing: Any, value: Any, shifted: Any) -> Any:
    """value * 2^n, where n sits in the low mantissa bits of `shifted` = n + 1.5 * 2^23."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        exponent = builder.shl(builder.bitcast(args[1], INTEGERS), ir.Constant(INTEGERS, [23] * LANES))
        return builder.bitcast(builder.add(builder.bitcast(args[0], INTEGERS), exponent), VECTOR)

    return vector(vector, vector), codegen


@intrinsic
def split_power(typing: Any, value: Any) -> Any:
    """(m, e) with value = m * 2^e, 1 <= m < 2, for positive normal numbers."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def constant(number: int) -> Any:
            return ir.Constant(INTEGERS, [number] * LANES)

        bits = builder.bitcast(args[0], INTEGERS)
        exponent = builder.sub(builder.lshr(bits, constant(23)), constant(127))
        fraction = builder.or_(builder.and_(bits, constant(0x007FFFFF)), constant(0x3F800000))
        items = [builder.bitcast(fraction, VECTOR), builder.sitofp(exponent, VECTOR)]
        return context.make_tuple(builder, signature.return_type, items)

    return types.UniTuple(vector, 2)(vector), codegen


@intrinsic(prefer_literal=True)
def prefetch(typing: Any, pointer: Any, index: Any, is_for_writing: Any) -> Any:
    """Ask for the cache line of pointer[index], to read or (constant 1) to write; harmless wherever it points."""
    write = ir.Constant(I32, int(getattr(is_for_writing, "literal_value", 0)))

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        byte = builder.bitcast(builder.gep(args[0], [args[1]]), ir.IntType(8).as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer(), I32, I32, I32])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [byte, write, ir.Constant(I32, 3), ir.Constant(I32, 1)])
        return context.get_dummy_value()

    return types.void(pointer, types.int64, is_for_writing), codegen


@intrinsic
def atomic_take(typing: Any, counter: Any, index: Any, amount: Any) -> Any:
    """Add to counter[index] (int64) and return what was there before, safely between threads."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.atomic_rmw("add", builder.gep(args[0], [args[1]]), args[2], "seq_cst")

    return types.int64(counter, types.int64, types.int64), codegen
