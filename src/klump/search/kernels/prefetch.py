"""The prefetch instruction, which numba has no name for."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic


def _emit_prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Prefetch the cache line of ``array[index]``; an index out of bounds is harmless, because nothing is read."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        byte = ir.IntType(8).as_pointer()
        offset = builder.mul(builder.extract_value(view.strides, 0), arguments[1])
        address = builder.gep(builder.bitcast(view.data, byte), [offset])
        flag = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [address.type, flag, flag, flag])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [address.type], kind)
        # Arguments of llvm.prefetch: 0 for reading, 3 for all levels of the cache, 1 for data.
        builder.call(prefetch, [address, flag(0), flag(3), flag(1)])
        return context.get_dummy_value()

    return types.void(array, types.uint64), generate


def _no_prefetch(array: Any, index: Any) -> None:
    """Stand in for the instruction where kernels are not compiled."""


prefetch: Any = _no_prefetch if vars(config)["DISABLE_JIT"] else intrinsic(_emit_prefetch)
