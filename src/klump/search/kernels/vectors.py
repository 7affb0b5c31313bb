"""What numba cannot be talked into: a hint to the processor, and four entries handled as one vector.

Each has a plain counterpart, which stands in where nothing is compiled.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
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


# So many floats are added at once.
WIDE = 64
# What an entry of a table gains when something is added to it, divided by that, is its logarithm and a convex function
# of the difference of both logarithms, which is at most the largest of these lines: a slope and the value at 0 each.
_NODES = (-4.0, 1.5, 7.0)


def _gain(difference: float) -> float:
    u = 2.0**difference
    return (1.0 + u) * math.log2(1.0 + u) - u * difference


def _lines() -> list[tuple[float, float]]:
    lines = [(0.0, _gain(_NODES[0]))]
    for a, b in itertools.pairwise(_NODES):
        slope = (_gain(b) - _gain(a)) / (b - a)
        lines.append((slope, _gain(a) - slope * a))
    return [*lines, (1.0, _gain(_NODES[-1]) - _NODES[-1])]


LINES = _lines()


def _add_rows(
    typing_context: Any, table: Any, row: Any, weight: Any, log: Any, count: Any, total: Any
) -> Any:
    """Add up, for some rows of logarithms, what their entries gain at most from what has a logarithm, times a weight."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = signature.args
        table, row, weight, log, count, total = arguments
        single, index = ir.FloatType(), ir.IntType(64)
        singles = ir.VectorType(single, WIDE)
        chunks = builder.udiv(
            builder.extract_value(context.make_array(kinds[0])(context, builder, table).shape, 1), index(WIDE)
        )
        begin = _pointer(context, builder, kinds[0], table, index(0), singles.as_pointer())
        result = _pointer(context, builder, kinds[5], total, index(0), singles.as_pointer())

        def scalar(place: int, array: Any, j: Any, kind: Any) -> Any:
            return builder.load(_pointer(context, builder, kinds[place], array, j, kind.as_pointer()))

        def alike(value: Any) -> Any:
            one = builder.insert_element(ir.Constant(singles, ir.Undefined), value, index(0))
            places = ir.Constant(ir.VectorType(ir.IntType(32), WIDE), [0] * WIDE)
            return builder.shuffle_vector(one, ir.Constant(singles, ir.Undefined), places)

        def constant(value: float) -> Any:
            return ir.Constant(singles, [ir.Constant(single, value)] * WIDE)

        def times_plus(a: Any, b: Any, c: Any) -> Any:
            return builder.fadd(builder.fmul(a, b, flags=("contract",)), c, flags=("contract",))

        sums = cgutils.alloca_once(builder, singles)
        with cgutils.for_range(builder, chunks) as chunk:
            builder.store(constant(0.0), sums)
            with cgutils.for_range(builder, count) as rows:
                j = rows.index
                place = builder.add(builder.mul(scalar(1, row, j, index), chunks), chunk.index)
                entries = builder.load(builder.gep(begin, [place]), align=4)
                difference = builder.fsub(entries, alike(scalar(3, log, j, single)))
                most = constant(LINES[0][1])
                for slope, level in LINES[1:]:
                    line = times_plus(difference, constant(slope), constant(level))
                    most = builder.select(builder.fcmp_ordered(">", line, most), line, most)
                product = times_plus(most, alike(scalar(2, weight, j, single)), builder.load(sums))
                builder.store(product, sums)
            builder.store(builder.load(sums), builder.gep(result, [chunk.index]), align=4)
        return context.get_dummy_value()

    return types.void(table, row, weight, log, types.int64, total), generate


def _plain_add_rows(table: Any, row: Any, weight: Any, log: Any, count: Any, total: Any) -> None:
    """Do the same row by row."""
    total[:] = 0.0
    for j in range(count):
        difference = table[row[j]] - log[j]
        total += weight[j] * np.max([slope * difference + level for slope, level in LINES], axis=0)


_plain = bool(vars(config)["DISABLE_JIT"])
prefetch: Any = _plain_prefetch if _plain else intrinsic(_prefetch)
add_block: Any = _plain_add_block if _plain else intrinsic(_add_block)
add_rows: Any = _plain_add_rows if _plain else intrinsic(_add_rows)
