"""`+ - * / < >= & |` and friends for the vectors of simd.py, so that kernels read like formulas.

This file's whole point is numba, so it imports numba at module level. Importing it registers the operators.
"""

# mypy: disallow-untyped-decorators=false, disallow-subclassing-any=false

import operator
from collections.abc import Callable
from typing import Any

from numba import types  # noqa: TID253 - this file exists for numba
from numba.extending import intrinsic, overload  # noqa: TID253

from gemel.services.render import simd

_FLAGS = ("contract",)


def _is_operand(kind: Any) -> bool:
    return isinstance(kind, (simd.Vector, types.Number))


def _is_vector_pair(a: Any, b: Any) -> bool:
    """At least one vector, and the other a vector or a number to be spread over the lanes."""
    return _is_operand(a) and _is_operand(b) and (isinstance(a, simd.Vector) or isinstance(b, simd.Vector))


def _as_vector(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    if isinstance(kind, simd.Vector):
        return value
    return simd.spread(builder, context.cast(builder, value, kind, types.float32))


def _binary(result: Any, emit: Callable[[Any, Any, Any], Any]) -> Any:
    """An intrinsic of two operands, each a vector or a number, that emits one LLVM operation."""

    @intrinsic
    def operation(typing: Any, a: Any, b: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            left, right = (
                _as_vector(context, builder, kind, value) for kind, value in zip(signature.args, args, strict=True)
            )
            return emit(builder, left, right)

        return result(a, b), codegen

    return operation


def _register(symbol: Any, operation: Any) -> None:
    @overload(symbol, strict=False)
    def for_vectors(a: Any, b: Any) -> Any:
        return (lambda a, b: operation(a, b)) if _is_vector_pair(a, b) else None


def _arithmetic(name: str) -> Callable[[Any, Any, Any], Any]:
    return lambda builder, x, y: getattr(builder, name)(x, y, flags=_FLAGS)


def _comparison(sign: str) -> Callable[[Any, Any, Any], Any]:
    return lambda builder, x, y: builder.fcmp_ordered(sign, x, y)


def _register_all() -> None:
    arithmetic = {operator.add: "fadd", operator.sub: "fsub", operator.mul: "fmul", operator.truediv: "fdiv"}
    for symbol, name in arithmetic.items():
        _register(symbol, _binary(simd.vector, _arithmetic(name)))
    comparisons = {operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">="}
    for symbol, sign in comparisons.items():
        _register(symbol, _binary(simd.mask, _comparison(sign)))


_register_all()


def _smaller(builder: Any, x: Any, y: Any) -> Any:
    return builder.select(builder.fcmp_ordered("<", x, y), x, y)


def _larger(builder: Any, x: Any, y: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", x, y), x, y)


minimum = _binary(simd.vector, _smaller)
maximum = _binary(simd.vector, _larger)


@intrinsic
def _negate(typing: Any, a: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fneg(args[0])

    return simd.vector(a), codegen


@overload(operator.neg, strict=False)
def _overload_neg(a: Any) -> Any:
    return (lambda a: _negate(a)) if isinstance(a, simd.Vector) else None


@intrinsic
def _mask_and(typing: Any, a: Any, b: Any) -> Any:
    return simd.mask(a, b), lambda context, builder, signature, args: builder.and_(*args)


@overload(operator.and_, strict=False)
def _overload_and(a: Any, b: Any) -> Any:
    both = isinstance(a, simd.Mask) and isinstance(b, simd.Mask)
    return (lambda a, b: _mask_and(a, b)) if both else None


@intrinsic
def _mask_not(typing: Any, a: Any) -> Any:
    return simd.mask(a), lambda context, builder, signature, args: builder.not_(args[0])


@overload(operator.invert, strict=False)
def _overload_invert(a: Any) -> Any:
    return (lambda a: _mask_not(a)) if isinstance(a, simd.Mask) else None
