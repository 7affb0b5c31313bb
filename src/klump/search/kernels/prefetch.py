"""A hint to the processor: this cache line will be needed soon."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic


def _prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Ask for the line where ``array[index]`` begins; any index is safe, nothing is read."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        offset = builder.mul(builder.extract_value(view.strides, 0), arguments[1])
        address = builder.gep(builder.bitcast(view.data, ir.IntType(8).as_pointer()), [offset])
        flag = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [address.type, flag, flag, flag])
        hint = builder.module.declare_intrinsic("llvm.prefetch", [address.type], kind)
        # For reading, to be kept in all levels of the cache, data rather than instructions.
        builder.call(hint, [address, flag(0), flag(3), flag(1)])
        return context.get_dummy_value()

    return types.void(array, types.uint64), generate


def _nothing(array: Any, index: Any) -> None:
    """Stand in where nothing is compiled."""


prefetch: Any = _nothing if vars(config)["DISABLE_JIT"] else intrinsic(_prefetch)
