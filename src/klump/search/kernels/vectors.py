"""What numba cannot be talked into: a hint to the processor, and loops over vectors as wide as they should be.

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

from klump.search.kernels.tables import GROUPS, WIDE

# Where quotients end: their logarithms are large enough, and floats have room for them.
LARGEST = 2.0**100


def _pointer(context: Any, builder: Any, kind: Any, array: Any, index: Any, target: Any) -> Any:
    """Address of ``array[index]``, whatever lies behind the first dimension."""
    view = context.make_array(kind)(context, builder, array)
    offset = builder.mul(builder.extract_value(view.strides, 0), index)
    return builder.bitcast(
        builder.gep(builder.bitcast(view.data, ir.IntType(8).as_pointer()), [offset]), target
    )


def _constant(kind: Any, value: float) -> Any:
    """A vector of the same number everywhere."""
    return ir.Constant(kind, [ir.Constant(kind.element, value)] * kind.count)


def _alike(builder: Any, kind: Any, scalar: Any) -> Any:
    """The same for a number that is known only when the program runs."""
    nothing, places = ir.Constant(kind, ir.Undefined), ir.VectorType(ir.IntType(32), kind.count)
    one = builder.insert_element(nothing, scalar, ir.IntType(32)(0))
    return builder.shuffle_vector(one, nothing, ir.Constant(places, [0] * kind.count))


def _larger(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


def _times_plus(builder: Any, a: Any, b: Any, c: Any) -> Any:
    return builder.fadd(builder.fmul(a, b, flags=("contract",)), c, flags=("contract",))


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
    mass: Any,
    marks: Any,
    block: Any,
    home: Any,
    brought: Any,
    inverse: Any,
    part: Any,
    ratio: Any,
    share: Any,
    to: Any,
    filled: Any,
) -> Any:
    """Write the entries of a block of a list, divided by what is brought, which is not in the own group yet."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = signature.args
        mass, marks, block, home, brought, inverse, part, ratio, share, to, filled = arguments
        double, single, integer = ir.DoubleType(), ir.FloatType(), ir.IntType(32)
        doubles, singles, integers = (ir.VectorType(kind, 4) for kind in (double, single, integer))

        def at(place: int, array: Any, index: Any, kind: Any) -> Any:
            return _pointer(context, builder, kinds[place], array, index, kind.as_pointer())

        entries = builder.load(at(0, mass, block, doubles), align=8)
        groups = builder.load(builder.gep(at(1, marks, block, integers), [integer(2)]), align=4)
        own = builder.icmp_signed("==", groups, _alike(builder, integers, home))
        entries = builder.select(own, builder.fsub(entries, _alike(builder, doubles, brought)), entries)
        quotient = builder.fmul(entries, _alike(builder, doubles, inverse))
        largest = _constant(doubles, LARGEST)
        quotient = builder.select(builder.fcmp_ordered("<", quotient, largest), quotient, largest)
        builder.store(builder.fptrunc(quotient, singles), at(7, ratio, filled, singles), align=4)
        builder.store(_alike(builder, singles, part), at(8, share, filled, singles), align=4)
        builder.store(groups, at(9, to, filled, integers), align=4)
        return context.get_dummy_value()

    index, number = types.uint64, types.float64
    return types.void(
        mass, marks, index, types.int32, number, number, types.float32, ratio, share, to, index
    ), generate


def _plain_add_block(
    mass: Any,
    marks: Any,
    block: Any,
    home: Any,
    brought: Any,
    inverse: Any,
    part: Any,
    ratio: Any,
    share: Any,
    to: Any,
    filled: Any,
) -> None:
    """Do the same one by one."""
    for e in range(4):
        group = marks[block, GROUPS + e]
        left = mass[block, e] - (brought if group == home else 0.0)
        ratio[filled + e] = min(left * inverse, LARGEST)
        share[filled + e] = part
        to[filled + e] = group


def _find_in_block(typing_context: Any, marks: Any, block: Any, group: Any) -> Any:
    """Which of the four entries of a block is that of a group; 4 if none is."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        marks, block, group = arguments
        integer, index = ir.IntType(32), ir.IntType(64)
        integers = ir.VectorType(integer, 4)
        begin = _pointer(context, builder, signature.args[0], marks, block, integers.as_pointer())
        groups = builder.load(builder.gep(begin, [integer(2)]), align=4)
        wanted = _alike(builder, integers, group)
        found = builder.bitcast(builder.icmp_signed("==", groups, wanted), ir.IntType(4))
        return builder.cttz(builder.or_(builder.zext(found, index), index(16)), ir.IntType(1)(1))

    return types.int64(marks, types.uint64, types.int32), generate


def _plain_find_in_block(marks: Any, block: Any, group: Any) -> int:
    """Do the same one by one."""
    for e in range(4):
        if marks[block, GROUPS + e] == group:
            return e
    return 4


# log2(1 + t) / t near 0, and up to 1, with half the digits; the highest power first.
_NEAR_ZERO = (0.17162445, -0.26932028, 0.29569957, -0.35937163, 0.48062676, -0.7213636, 1.4426965)
_UP_TO_ONE = (0.02040109, -0.09579726, 0.21528421, -0.33908886, 0.47766834, -0.72115946, 1.4426932)
_LEAST, _SQRT_HALF, _MANTISSA = 2.0**-120, 0x3F3504F3, 23
# So many at once.
_MANY = 16


def _gain_of_ratios(typing_context: Any, ratio: Any, count: Any) -> Any:
    """Replace each u by ``f(1 + u) - f(u)`` with half its digits; up to 15 behind the last are lost.

    With v the smaller of u and 1 divided by the larger: their sum times ``log2(1 + v)``, less the smaller times
    ``log2 v``, which are both positive.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        ratio, count = arguments
        single, integer, index = ir.FloatType(), ir.IntType(32), ir.IntType(64)
        singles, integers = ir.VectorType(single, _MANY), ir.VectorType(integer, _MANY)
        begin = _pointer(context, builder, signature.args[0], ratio, index(0), singles.as_pointer())

        def series(coefficients: tuple[float, ...], t: Any) -> Any:
            total = _constant(singles, coefficients[0])
            for coefficient in coefficients[1:]:
                total = _times_plus(builder, total, t, _constant(singles, coefficient))
            return total

        with cgutils.for_range(
            builder, builder.udiv(builder.add(count, index(_MANY - 1)), index(_MANY))
        ) as chunk:
            place = builder.gep(begin, [chunk.index])
            u, one = builder.load(place, align=4), _constant(singles, 1.0)
            less = _larger(
                builder, builder.select(builder.fcmp_ordered("<", u, one), u, one), _constant(singles, 0.0)
            )
            more = _larger(builder, u, one)
            v = _larger(builder, builder.fdiv(less, more), _constant(singles, _LEAST))
            bits = builder.bitcast(v, integers)
            exponent = builder.ashr(
                builder.sub(bits, _constant(integers, _SQRT_HALF)), _constant(integers, _MANTISSA)
            )
            mantissa = builder.bitcast(
                builder.sub(bits, builder.shl(exponent, _constant(integers, _MANTISSA))), singles
            )
            t = builder.fsub(mantissa, one)
            log = _times_plus(builder, series(_NEAR_ZERO, t), t, builder.sitofp(exponent, singles))
            plus = builder.fmul(series(_UP_TO_ONE, v), v)
            gain = builder.fsub(
                builder.fmul(builder.fadd(more, less), plus, flags=("contract",)),
                builder.fmul(less, log, flags=("contract",)),
                flags=("contract",),
            )
            builder.store(gain, place, align=4)
        return context.get_dummy_value()

    return types.void(ratio, types.uint64), generate


def _plain_gain_of_ratios(ratio: Any, count: Any) -> None:
    """Do the same for all at once."""
    u = ratio[:count]
    less, more = np.clip(u, np.float32(0.0), np.float32(1.0)), np.maximum(u, np.float32(1.0))
    v = np.maximum(less / more, np.float32(_LEAST))
    exponent = (v.view(np.int32) - np.int32(_SQRT_HALF)) >> np.int32(_MANTISSA)
    t = (v.view(np.int32) - (exponent << np.int32(_MANTISSA))).view(np.float32) - np.float32(1.0)
    log = np.polyval(np.array(_NEAR_ZERO, dtype=np.float32), t) * t + exponent.astype(np.float32)
    ratio[:count] = (more + less) * (np.polyval(np.array(_UP_TO_ONE, dtype=np.float32), v) * v) - less * log


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
    """Add up, for some rows of logarithms, what their entries gain at most from what has a logarithm, by weight."""

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

        sums = cgutils.alloca_once(builder, singles)  # type: ignore[no-untyped-call]
        with cgutils.for_range(builder, chunks) as chunk:
            builder.store(_constant(singles, 0.0), sums)
            with cgutils.for_range(builder, count) as rows:
                j = rows.index
                place = builder.add(builder.mul(scalar(1, row, j, index), chunks), chunk.index)
                entries = builder.load(builder.gep(begin, [place]), align=4)
                difference = builder.fsub(entries, _alike(builder, singles, scalar(3, log, j, single)))
                most = _constant(singles, LINES[0][1])
                for slope, level in LINES[1:]:
                    line = _times_plus(
                        builder, difference, _constant(singles, slope), _constant(singles, level)
                    )
                    most = _larger(builder, line, most)
                product = _times_plus(
                    builder, most, _alike(builder, singles, scalar(2, weight, j, single)), builder.load(sums)
                )
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
find_in_block: Any = _plain_find_in_block if _plain else intrinsic(_find_in_block)
gain_of_ratios: Any = _plain_gain_of_ratios if _plain else intrinsic(_gain_of_ratios)
