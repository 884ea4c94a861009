"""One thread's part of a batch, in compiled code: the state, streams and journal that the loop is called with.

A batch is the nested NamedTuple of one run, with each array replaced by one for all runs, in one of three layouts:

| layout | shape | for |
|---|---|---|
| an array alone | (runs, ...) | what grows with the rounds: a run's own numbers lie side by side |
| `Woven` | (groups, ..., 32) | the rest, for each thread: those of all threads of a warp lie side by side |
| `Common` | (cells, ...) | what never changes, kept once for all runs of a cell |

That the last axis of what is woven has a known length makes its addresses cheap: exact FEWA needs 209 registers so, and
242 otherwise.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import types
from numba.core.types.containers import BaseNamedTuple, BaseTuple

from rotting.play.gpu.device import SIMULATED, WARP


class Woven(NamedTuple):
    """An array whose last axis is the thread of a warp, its first the group of runs that a warp plays at a time."""

    array: Any


class Common(NamedTuple):
    """An array whose first axis is the cell."""

    array: Any


def _part_in_python(batch: Any, run: int, thread: int, cell: int) -> Any:
    if isinstance(batch, Common):
        return batch.array[cell]
    if isinstance(batch, Woven):
        group, lane = divmod(thread, WARP)
        return batch.array[group, ..., lane]
    if isinstance(batch, tuple):
        return type(batch)(*(_part_in_python(each, run, thread, cell) for each in batch))
    return batch[run]


def _part_type(batch: Any) -> Any:
    if not isinstance(batch, BaseNamedTuple):
        return types.Array(batch.dtype, batch.ndim - 1, "C")
    if batch.instance_class is Common:
        return types.Array(batch[0].dtype, batch[0].ndim - 1, "C")
    if batch.instance_class is Woven:
        return types.Array(batch[0].dtype, batch[0].ndim - 2, "A")
    return BaseTuple.from_types([_part_type(each) for each in batch], batch.instance_class)


class _Emitter:
    """Emits the code that makes a batch's part: the same tuples, of arrays that begin further on."""

    def __init__(self, context: Any, builder: Any, run: Any, thread: Any, cell: Any):
        self.context, self.builder, self.run, self.thread, self.cell = context, builder, run, thread, cell

    def part(self, batch: Any, value: Any) -> Any:
        """Return the part of a value of this type."""
        if not isinstance(batch, BaseNamedTuple):
            return self._row(batch, value, self.run)
        inside = [self.builder.extract_value(value, place) for place in range(len(batch))]
        if batch.instance_class is Common:
            return self._row(batch[0], inside[0], self.cell)
        if batch.instance_class is Woven:
            return self._strand(batch[0], inside[0])
        parts = [self.part(each, own) for each, own in zip(batch, inside, strict=True)]
        return self.context.make_tuple(self.builder, _part_type(batch), parts)

    def _row(self, whole_type: Any, value: Any, index: Any) -> Any:
        whole, shape, strides = self._opened(whole_type, value)
        offset = self.builder.mul(index, strides[0])
        return self._array(
            whole, types.Array(whole_type.dtype, whole_type.ndim - 1, "C"), offset, shape[1:], strides[1:]
        )

    def _strand(self, whole_type: Any, value: Any) -> Any:
        whole, shape, strides = self._opened(whole_type, value)
        builder, integer = self.builder, strides[-1].type
        item = self.context.get_abi_sizeof(self.context.get_data_type(whole_type.dtype))
        warp, lane_stride, stride = (ir.Constant(integer, number) for number in (WARP, item, WARP * item))
        group, lane = builder.udiv(self.thread, warp), builder.urem(self.thread, warp)
        offset = builder.add(builder.mul(group, strides[0]), builder.mul(lane, lane_stride))
        kind = types.Array(whole_type.dtype, whole_type.ndim - 2, "A")
        return self._array(whole, kind, offset, shape[1:-1], [*strides[1:-2], stride])

    def _opened(self, whole_type: Any, value: Any) -> tuple[Any, list[Any], list[Any]]:
        whole = self.context.make_array(whole_type)(self.context, self.builder, value)
        axes = range(whole_type.ndim)
        return whole, *(
            [self.builder.extract_value(each, axis) for axis in axes] for each in (whole.shape, whole.strides)
        )

    def _array(self, whole: Any, kind: Any, offset: Any, shape: list[Any], strides: list[Any]) -> Any:
        builder = self.builder
        array = self.context.make_array(kind)(self.context, builder)
        start = builder.gep(builder.bitcast(whole.data, ir.IntType(8).as_pointer()), [offset])
        array.data = builder.bitcast(start, whole.data.type)
        array.nitems = ir.Constant(whole.itemsize.type, 1)
        for length in shape:
            array.nitems = builder.mul(array.nitems, length)
        array.itemsize, array.meminfo, array.parent = whole.itemsize, whole.meminfo, whole.parent
        array.shape, array.strides = self._packed(shape), self._packed(strides)
        return array._getvalue()

    def _packed(self, values: list[Any]) -> Any:
        packed = ir.Constant(ir.ArrayType(values[0].type, len(values)), ir.Undefined)
        for place, value in enumerate(values):
            packed = self.builder.insert_value(packed, value, place)
        return packed


if SIMULATED:
    part_of = _part_in_python
else:
    from numba.cuda.extending import intrinsic

    @intrinsic
    def part_of(typing_context, batch, run, thread, cell):
        """Return the part of every array that belongs to a run, its thread and its cell, in the same tuples."""

        def emit(context, builder, signature, arguments):
            value, *indices = arguments
            return _Emitter(context, builder, *indices).part(batch, value)

        return _part_type(batch)(batch, run, thread, cell), emit
