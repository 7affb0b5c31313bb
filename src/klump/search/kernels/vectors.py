"""What numba cannot be talked into: a hint to the processor, and four entries handled as one vector.

Each has a plain counterpart, which stands in where nothing is compiled.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic


def _pointer(context: Any, builder: Any, kind: Any, array: Any, index: Any, target: Any) -> Any:
    """Address of ``array[index]``, whatever lies behind the first dimension."""
    view = context.make_array(kind)(context, builder, array)
    offset = builder.mul(builder.extract_value(view.strides, 0), index)
    return builder.bitcast(
        builder.gep(builder.bitcast(view.data, ir.IntType(8).as_pointer()), [offset]), target
    )


def _prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Ask for the line where ``array[index]`` begins; any index is safe, nothing is read."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, index = arguments
        address = _pointer(context, builder, signature.args[0], array, index, ir.IntType(8).as_pointer())
        flag = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [address.type, flag, flag, flag])
        hint = builder.module.declare_intrinsic("llvm.prefetch", [address.type], kind)
        # For reading, to be kept in all levels of the cache, data rather than instructions.
        builder.call(hint, [address, flag(0), flag(3), flag(1)])
        return context.get_dummy_value()

    return types.void(array, types.uint64), generate


def _plain_prefetch(array: Any, index: Any) -> None:
    """Nothing to be had in advance."""


def _add_block(
    typing_context: Any,
    value: Any,
    group: Any,
    block: Any,
    home: Any,
    mass: Any,
    mass_f: Any,
    argument: Any,
    minus: Any,
    to: Any,
    filled: Any,
) -> Any:
    """Write what f takes, what is subtracted and the groups for the four entries of a block of a list."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = signature.args
        value, group, block, home, mass, mass_f, argument, minus, to, filled = arguments
        double, integer = ir.DoubleType(), ir.IntType(32)
        doubles, integers = ir.VectorType(double, 4), ir.VectorType(integer, 4)

        def at(place: int, array: Any, index: Any, kind: Any) -> Any:
            return _pointer(context, builder, kinds[place], array, index, kind.as_pointer())

        def four(scalar: Any, kind: Any) -> Any:
            one = builder.insert_element(ir.Constant(kind, ir.Undefined), scalar, integer(0))
            return builder.shuffle_vector(
                one, ir.Constant(kind, ir.Undefined), ir.Constant(integers, [0] * 4)
            )

        masses = at(0, value, block, doubles)
        groups = builder.load(at(1, group, block, integers), align=4)
        own = builder.icmp_signed("==", groups, four(home, integers))
        nothing = ir.Constant(doubles, [0.0] * 4)
        change = builder.select(own, four(builder.fneg(mass), doubles), four(mass, doubles))
        change_f = builder.select(own, nothing, four(mass_f, doubles))
        second = builder.gep(masses, [integer(1)])
        builder.store(
            builder.fadd(builder.load(masses, align=8), change), at(6, argument, filled, doubles), align=8
        )
        builder.store(
            builder.fadd(builder.load(second, align=8), change_f), at(7, minus, filled, doubles), align=8
        )
        builder.store(groups, at(8, to, filled, integers), align=4)
        return context.get_dummy_value()

    index = types.uint64
    return types.void(
        value, group, index, types.int32, types.float64, types.float64, argument, minus, to, index
    ), generate


def _plain_add_block(
    value: Any,
    group: Any,
    block: Any,
    home: Any,
    mass: Any,
    mass_f: Any,
    argument: Any,
    minus: Any,
    to: Any,
    filled: Any,
) -> None:
    """Do the same one by one."""
    for e in range(4):
        own = group[block, e] == home
        argument[filled + e] = value[block, 0, e] + (-mass if own else mass)
        minus[filled + e] = value[block, 1, e] + (0.0 if own else mass_f)
        to[filled + e] = group[block, e]


_plain = bool(vars(config)["DISABLE_JIT"])
prefetch: Any = _plain_prefetch if _plain else intrinsic(_prefetch)
add_block: Any = _plain_add_block if _plain else intrinsic(_add_block)
