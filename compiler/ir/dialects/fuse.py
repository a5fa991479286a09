"""The ``fuse`` dialect, which represents a captured graph from import to launch.

Graph ops stand in ``func.func @main`` and work on immutable tensors.  Kernel ops stand in private functions
with the attribute ``fuse.kernel`` and are scalar code over the named dims of ``fuse.dims``.
docs/architecture.md explains the levels.  ``compiler/verifier`` checks the rules that concern more than one
op.

Kernels, extern ops and launches are functions that ``func.call`` calls, rather than ops.  The reason is that
all elements of a variadic of an op defined in Python have one type.  A kernel is a private function, an
extern op a declaration with ``fuse.extern``, a launch a declaration with ``fuse.launch``.
"""

# The bindings read annotations when a class is created, so this file must not defer their evaluation.
from collections.abc import Sequence
from typing import Any, TypeVar

from ...mlir import ext, ir, load_dialect

Operand, Result = ext.Operand, ext.Result
I1 = ir.IntegerType[1]
I64 = ir.IntegerType[64]
T = TypeVar("T")


class Fuse(ext.Dialect, name="fuse"):
    """Namespace of the dialect; ``register`` loads it."""


class Token(Fuse.Type, name="token"):
    """A point in time.  An operation that takes a token runs after the one that made it.  A token holds
    no data and keeps no storage alive.
    """


class Layout(Fuse.Attribute, name="layout"):
    """Encoding of a tensor type: comma-separated index expressions for sizes and strides (elements), an
    offset (elements), a device.

    A tensor type without encoding has static sizes, is contiguous, starts at offset 0 and lives on the
    module's ``fuse.device``.
    """

    sizes: ir.StringAttr
    strides: ir.StringAttr
    offset: ir.StringAttr
    device: ir.StringAttr


class Arg(Fuse.Attribute, name="arg"):
    """In ``fuse.args``/``fuse.kwargs`` of an extern declaration: operand ``position`` of the call."""

    position: ir.IntegerAttr


class Torch(Fuse.Attribute, name="torch"):
    """In ``fuse.args``/``fuse.kwargs``: a torch object by kind and name, ``device:cuda:0``,
    ``memory_format:channels_last``, ``op:aten.mm.default``, ``object:NAME``.
    """

    text: ir.StringAttr


class Tuple(Fuse.Attribute, name="tuple"):
    """In ``fuse.args``/``fuse.kwargs`` of a higher-order op: a tuple.  (A plain array is a list.)"""

    elements: ir.ArrayAttr


# --- graph level


class Empty(Fuse.Operation, name="empty"):
    """A fresh uninitialised tensor: the destination of a store.  ``syms`` names the index operands that its
    sizes use.
    """

    sizes: Sequence[Operand[ir.IndexType]]
    syms: ir.ArrayAttr
    result: Result[Any]


class View(Fuse.Operation, name="view", traits=[ext.Pure]):
    """Another shape of the same storage.  ``map`` has a coordinate for each dim of the source.
    Coordinates are over the dims of the result, ``v0``.., and over symbols.
    """

    source: Operand[Any]
    sizes: Sequence[Operand[ir.IndexType]]
    map: ir.ArrayAttr
    syms: ir.ArrayAttr
    result: Result[Any]


class Sym(Fuse.Operation, name="sym", traits=[ext.Pure]):
    """Names a size.  Its value is ``expr``, an expression over the operands, whose names are ``syms``.
    Types, extents and coordinates call it ``symbol``.  ``fuse.min`` and ``fuse.max`` bound a value that may
    be negative.
    """

    inputs: Sequence[Operand[ir.IndexType]]
    symbol: ir.StringAttr
    expr: ir.StringAttr
    syms: ir.ArrayAttr
    result: Result[ir.IndexType]


class Size(Fuse.Operation, name="size", traits=[ext.Pure]):
    """Reads a size from a tensor: the extent of dim ``dim``."""

    source: Operand[Any]
    dim: ir.IntegerAttr
    symbol: ir.StringAttr
    result: Result[ir.IndexType]


class After(Fuse.Operation, name="after"):
    """The time at which ``value`` is complete.  It does not count as a use of the value: it keeps no storage
    alive.
    """

    value: Operand[Any]
    token: Result[Token]


class Rng(Fuse.Operation, name="rng"):
    """Draws (seed, offset) from ``device``'s default generator and advances it by ``count`` draws.  It keeps
    its order among the other draws.
    """

    device: ir.StringAttr
    count: ir.IntegerAttr
    seed: Result[I64]
    offset: Result[I64]


class Alloc(Fuse.Operation, name="alloc"):
    """Planned level: storage is allocated here."""

    sizes: Sequence[Operand[ir.IndexType]]
    syms: ir.ArrayAttr
    result: Result[Any]


class Reuse(Fuse.Operation, name="reuse"):
    """Planned level: the result takes over the storage of ``source``, which is not used any more.  It
    fits in the bytes of ``source``.
    """

    source: Operand[Any]
    sizes: Sequence[Operand[ir.IndexType]]
    syms: ir.ArrayAttr
    result: Result[Any]


class Free(Fuse.Operation, name="free"):
    """Planned level: storage is freed here."""

    buffer: Operand[Any]


# --- kernel level


class Load(Fuse.Operation, name="load", traits=[ext.Pure]):
    """The element ``source[at]`` where ``guard`` is true; elsewhere ``other``, without an access.  ``at``
    has a coordinate for each dim of the source, in which ``i0``.. are the operands ``indices``.
    """

    source: Operand[Any]
    guard: Operand[I1]
    other: Operand[T]
    indices: Sequence[Operand[I64]]
    at: ir.ArrayAttr
    result: Result[T]


class Store(Fuse.Operation, name="store"):
    """Writes ``value`` to ``dest[at]`` where ``guard`` is true.  The result is the new value of the
    destination.  ``mode``: ``set`` writes; ``add``, ``min`` and ``max`` update the element atomically.
    """

    dest: Operand[Any]
    value: Operand[Any]
    guard: Operand[I1]
    indices: Sequence[Operand[I64]]
    at: ir.ArrayAttr
    mode: ir.StringAttr
    result: Result[Any]


class Index(Fuse.Operation, name="index", traits=[ext.Pure]):
    """The value of an index expression over dims, symbols and ``i0``.. (``indices``)."""

    indices: Sequence[Operand[I64]]
    expr: ir.StringAttr
    result: Result[I64]


class Reduce(Fuse.Operation, name="reduce", traits=[ext.Pure]):
    """Folds ``value`` over the dims ``over``.  ``kind``: sum, prod, max, min, any, all, xor.  NaN is the max
    and the min of whatever contains it.
    """

    value: Operand[T]
    kind: ir.StringAttr
    over: ir.ArrayAttr
    result: Result[T]


class ArgReduce(Fuse.Operation, name="argreduce", traits=[ext.Pure]):
    """The extreme value and its index.  ``kind``: argmax, argmin.  A NaN counts as the extreme.  Of equal
    values the one with the smallest index is taken.
    """

    value: Operand[T]
    index: Operand[I64]
    kind: ir.StringAttr
    over: ir.ArrayAttr
    result: Result[T]
    position: Result[I64]


class Welford(Fuse.Operation, name="welford", traits=[ext.Pure]):
    """Mean and sum of squared deviations (m2) of ``value`` over ``over`` (Welford 1962; combined as in Chan
    et al. 1983).  If all values are equal, the mean is exactly that value and m2 is 0.  This needs a finite
    sum: if adding up the values overflows their type, the mean is infinite, and m2 infinite or NaN.

    ``weights`` has at most one value: how often each of ``value`` counts, at least 0.  What counts 0 times
    may be anything, NaN too.  The mean is sum(weight * value) / sum(weight), m2 is sum(weight * (value -
    mean)**2).
    """

    value: Operand[T]
    weights: Sequence[Operand[T]]
    over: ir.ArrayAttr
    mean: Result[T]
    m2: Result[T]


class OnlineSoftmax(Fuse.Operation, name="online_softmax", traits=[ext.Pure]):
    """max(value) and sum(exp(value - max)) over ``over`` in one read (Milakov and Gimelshein 2018)."""

    value: Operand[T]
    over: ir.ArrayAttr
    max: Result[T]
    sum: Result[T]


class OnlineExpectation(Fuse.Operation, name="online_expectation", traits=[ext.Pure]):
    """A sum weighted by a softmax, together with the maxima and sums of the softmaxes involved, over ``over``
    in one read.

    ``values`` has one value for each of ``signs`` (-1, 0 or 1), and optionally one more.  For value number k,
    m_k and s_k are the results of ``online_softmax``.  Results: sum(exp(value_0 - m_0) * w), then m_0, s_0,
    m_1, s_1, ..  Here w is the sum of sign_k * (value_k - m_k) over k, plus the value that has no sign.
    """

    values: Sequence[Operand[T]]
    over: ir.ArrayAttr
    signs: Any
    sums: Sequence[Result[T]]


class Scan(Fuse.Operation, name="scan", traits=[ext.Pure]):
    """Inclusive prefix ``kind`` along the dim ``over``; ``reverse``: from the end.  Kinds are sum, prod,
    max, min and, of floats, logsumexp: log(sum(exp(value))), and linear, a linear recurrence:
    h[t] = gate[t] * h[t - 1] + value[t], which begins with h[0] = value[0].

    ``gates`` has one value of kind linear, which runs forward only, and none of the other kinds.
    """

    value: Operand[T]
    gates: Sequence[Operand[T]]
    kind: ir.StringAttr
    over: ir.StringAttr
    reverse: Any
    result: Result[T]


class Dot(Fuse.Operation, name="dot", traits=[ext.Pure]):
    """sum(lhs * rhs) over ``over``, accumulated in the result's type: f64 of f64, f32 of other floats, i64 of
    i64, i32 of other integers.  A dim of ``over`` that one operand lacks repeats that operand: ``fold-views``
    loads one element of a factor that torch expands along the sum.  Both may not lack it.

    The op may have an attribute ``precision``.  ``ieee``, which holds where there is none, multiplies the
    operands as they are.  ``tf32`` allows tile code to round operands of f32 to 10 bits of mantissa first, as
    torch's ``allow_tf32`` does; the interpreter does not round.

    The unit attribute ``fast_accum``, of operands of 8-bit floats, is torch's ``use_fast_accum``: the tensor
    cores of Hopper may add up the whole sum, with fewer bits than f32 has.  Without it, they add up at most
    128 products before these are added to a sum in f32.  It changes nothing on other GPUs, in the
    interpreter, nor where products are multiplied and summed one by one (``expand-dots``).
    """

    lhs: Operand[T]
    rhs: Operand[T]
    over: ir.ArrayAttr
    result: Result[Any]


class OnlineDot(Fuse.Operation, name="online_dot", traits=[ext.Pure]):
    """A ``fuse.dot`` of the exponentials of an ``online_softmax``, with the maximum and the sum of these,
    over ``over`` in one read.

    Results: sum(exp(value - max) * rhs), max(value) and sum(exp(value - max)).  All are accumulated in f32.
    Each exponential is rounded to the type of ``rhs`` before it is multiplied, and is not before it is added
    to ``sum``.  ``rhs`` may have dims that ``value`` lacks, and does not lack those of ``over``; ``max`` and
    ``sum`` have the dims of ``value`` alone.
    """

    value: Operand[ir.F32Type]
    rhs: Operand[Any]
    over: ir.ArrayAttr
    result: Result[ir.F32Type]
    max: Result[ir.F32Type]
    sum: Result[ir.F32Type]


class Rand(Fuse.Operation, name="rand", traits=[ext.Pure]):
    """Philox 4x32-10 at (seed, offset, counter): a pure function of the three.  ``dist``: uniform in [0, 1),
    or normal.
    """

    seed: Operand[I64]
    offset: Operand[I64]
    counter: Operand[I64]
    dist: ir.StringAttr
    result: Result[ir.F32Type]


class Libm(Fuse.Operation, name="libm", traits=[ext.Pure]):
    """A C math function that the ``math`` dialect lacks, by its C name without the type suffix (``lgamma``,
    ``erfinv``).
    """

    args: Sequence[Operand[T]]
    fn: ir.StringAttr
    result: Result[T]


class DeviceAssert(Fuse.Operation, name="device_assert"):
    """Stops the program with ``message`` where ``guard`` is true and ``condition`` is not.  Like a store, it
    is never dead.
    """

    condition: Operand[I1]
    guard: Operand[I1]
    message: ir.StringAttr


class Base(Fuse.Operation, name="base", traits=[ext.Pure]):
    """Tiled level: the address of a tensor's first element (storage base + offset), as a ``!tt.ptr``."""

    source: Operand[Any]
    result: Result[Any]


class BaseOf(Fuse.Operation, name="base_of", traits=[ext.Pure]):
    """Tiled level: ``fuse.base`` of source number ``index`` (an i32, from 0).

    The sources are arguments of the kernel, of one type.
    """

    index: Operand[ir.IntegerType[32]]
    sources: Sequence[Operand[Any]]
    result: Result[Any]


#: Attributes that an op may have beside those of its class.
OPTIONAL = {"fuse.dot": ("precision", "fast_accum")}


def register(context: ir.Context) -> None:
    """Loads the dialect into ``context``; a second call does nothing."""
    if context.is_dialect_loaded("fuse"):
        return
    with context, ir.Location.unknown(context):
        load_dialect(Fuse)
