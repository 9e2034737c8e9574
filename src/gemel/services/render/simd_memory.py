"""Bare pointers for kernels: `floats(address)[i]` reads, `floats(address)[i] = x` writes.

This file's whole point is numba, so it imports numba at module level.

Why not numpy arrays: numba passes an array as seven words and counts references around every call that it does not
inline. With a dozen arrays per kernel the benchmark's frame took 19.0 ms instead of 12.8, and the kernels 21 s to
compile instead of 16. The caller owns the memory and keeps it alive during the call; nothing checks bounds (numba
would not either).
"""

# mypy: disallow-untyped-decorators=false, disallow-subclassing-any=false

import operator
from typing import Any

import numpy as np
from numba import types  # noqa: TID253 - this file exists for numba
from numba.extending import intrinsic, models, overload, register_model  # noqa: TID253


class Pointer(types.Type):
    """numba type of a bare pointer to items of one kind."""

    def __init__(self, item: Any) -> None:
        self.item = item
        super().__init__(name=f"gemel_pointer_{item}")


@register_model(Pointer)
class _PointerModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, dmm.lookup(fe_type.item).get_data_type().as_pointer())


def _opener(item: Any) -> Any:
    """An intrinsic that turns an address into a pointer."""
    kind = Pointer(item)

    @intrinsic
    def open_pointer(typing: Any, address: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.inttoptr(args[0], context.get_value_type(kind))

        return kind(types.int64), codegen

    return open_pointer


floats = _opener(types.float32)
integers = _opener(types.int32)
unsigned = _opener(types.uint32)
counters = _opener(types.int64)


@intrinsic
def _read(typing: Any, pointer: Any, index: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(builder.gep(args[0], [args[1]]))

    return pointer.item(pointer, types.int64), codegen


@intrinsic
def _write(typing: Any, pointer: Any, index: Any, value: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], builder.gep(args[0], [args[1]]))
        return context.get_dummy_value()

    return types.void(pointer, types.int64, pointer.item), codegen


@overload(operator.getitem, strict=False)
def _overload_getitem(pointer: Any, index: Any) -> Any:
    return (lambda pointer, index: _read(pointer, index)) if isinstance(pointer, Pointer) else None


@overload(operator.setitem, strict=False)
def _overload_setitem(pointer: Any, index: Any, value: Any) -> Any:
    return (lambda pointer, index, value: _write(pointer, index, value)) if isinstance(pointer, Pointer) else None


def address(array: np.ndarray) -> int:
    """Where an array's data starts."""
    return int(array.__array_interface__["data"][0])
