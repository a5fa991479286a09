"""Reductions: one kernel that loads the operand once and folds it over the reduced dims.

Dtypes are eager's: sums and products of booleans and integers are int64; ``dtype=`` converts (and rounds)
before anything is added; 16-bit floats accumulate in float32; the result is converted last.  A reduction over
no elements gives the identity where eager does.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ....fx.table import lowers
from ....index import Expr, const, sym
from ....mlir import ir
from ...importer.arithmetic import Operand, Scalar
from ...importer.builder import KernelBuilder
from ...importer.call import Call
from ...importer.values import Tensor
from ..indexed.bounds import is_at_least

#: Names that schemas have for the operand and for the dims.
_OPERAND = ("self", "inp", "a")
_DIMS = ("dim", "dims")


@dataclass(frozen=True)
class Region:
    """A kernel that has loaded its operand.

    ``raw``: the element at the current point, in the dtype that is stored.  ``over``: names of the dims to
    fold.  ``kept``: the coordinates of a result.  ``count``: how many elements are folded into one.
    """

    call: Call
    kernel: KernelBuilder
    raw: Scalar
    over: tuple[str, ...]
    kept: tuple[Expr, ...]
    count: Expr

    @property
    def value(self) -> Scalar:
        """The element in the dtype that arithmetic on it has."""
        return self.kernel.widen(self.raw)

    def converted(self, dtype: torch.dtype) -> Scalar:
        """The element as an element of ``dtype``, ready for arithmetic."""
        return self.kernel.widen(self.kernel.cast(self.raw, dtype))

    def fold(self, kind: str, value: Scalar) -> Scalar:
        """``fuse.reduce`` over the reduced dims; ``value`` itself where there are none."""
        if not self.over:
            return value
        k = self.kernel
        attributes = {"kind": k.builder.string(kind), "over": k.builder.strings(self.over)}
        return Scalar(k.emit("fuse.reduce", value.value.type, [value.value], attributes), value.dtype)

    def several(
        self, op: str, operands: Sequence[Scalar], dtypes: Sequence[torch.dtype], **attributes: str
    ) -> list[Scalar]:
        """A reduction with a result for each of ``dtypes``."""
        k = self.kernel
        given = {name: k.builder.string(text) for name, text in attributes.items()}
        created = ir.Operation.create(
            op,
            results=[k.type_of(d) for d in dtypes],
            operands=[x.value for x in operands],
            attributes={**given, "over": k.builder.strings(self.over)},
            loc=k.location,
            ip=k.point,
        )
        return [Scalar(value, dtype) for value, dtype in zip(created.results, dtypes, strict=True)]

    def size(self, expression: Expr, dtype: torch.dtype) -> Scalar:
        """A size as a scalar of ``dtype``."""
        if expression.constant is not None:
            return self.kernel.constant(expression.constant, dtype)
        return self.kernel.cast(self.kernel.index(expression), dtype)


def operand_of(call: Call) -> Tensor:
    """The tensor that is reduced."""
    return call.tensor(next(n for n in _OPERAND if n in call.arguments))


def reduced_dims(call: Call, tensor: Tensor) -> tuple[int, ...]:
    """The dims that a call reduces, counted from the front.  None is all of them; so is an empty list, but
    not for any and all.
    """
    given = next((call[n] for n in _DIMS if n in call.arguments), None)
    if given is None:
        return tuple(range(tensor.rank))
    listed = given if isinstance(given, list) else [given]
    if not listed:
        unchanged = call.node.target._schema.name in ("aten::any", "aten::all")
        return () if unchanged else tuple(range(tensor.rank))
    return tuple(sorted({d % tensor.rank for d in listed})) if tensor.rank else ()


def count_of(tensor: Tensor, dims: Sequence[int]) -> Expr:
    """The number of elements that are folded into one."""
    count = const(1)
    for d in dims:
        count = count * tensor.sizes[d]
    return count


def begin(call: Call, outputs: Sequence[Any] | None = None) -> Region:
    """Opens the kernel of a reduction and loads the operand; ``outputs`` as in ``Call.kernel``."""
    tensor = operand_of(call)
    dims = reduced_dims(call, tensor)
    kernel = call.kernel([tensor], outputs)
    at = kernel.iterate(tensor.sizes)
    keepdim = bool(call.arguments.get("keepdim", False))
    over = tuple(str(at[d]) for d in dims if not at[d].is_constant)
    kept = tuple(const(0) if d in dims else c for d, c in enumerate(at) if keepdim or d not in dims)
    if any(len(kept) != len(o.sizes) for o in kernel.outputs):
        call.refuse("the result has a shape that the dims do not explain")
    return Region(call, kernel, kernel.load_raw(tensor, at), over, kept, count_of(tensor, dims))


def is_void(call: Call) -> bool:
    """Whether the call folds no element at all."""
    tensor = operand_of(call)
    return count_of(tensor, reduced_dims(call, tensor)).constant == 0


def is_filled(call: Call) -> bool:
    """Whether every result has elements, as far as the import knows."""
    fakes = [call.value] if isinstance(call.value, torch.Tensor) else call.value
    return not any(type(n) is int and n == 0 for fake in fakes for n in fake.shape)


def hollow(call: Call) -> list[Tensor]:
    """Results without elements: no kernel."""
    specs = [call.fresh(fake) for fake in call.value]
    return [
        call.made(call.builder.empty(s, call.location), f, s) for s, f in zip(specs, call.value, strict=True)
    ]


def constants(call: Call, values: Sequence[Operand]) -> Any:
    """Every element of result *i* is ``values[i]``: what is folded is empty."""
    fakes = [call.value] if isinstance(call.value, torch.Tensor) else call.value
    made = []
    for fake, value in zip(fakes, values, strict=True):
        kernel = call.kernel([], [call.fresh(fake)])
        kernel.store(0, kernel.iterate(call.fresh(fake).sizes), value)
        made.append(call.finish(kernel, [fake]))
    return made[0] if isinstance(call.value, torch.Tensor) else made


def _reduction(
    *overloads: str, empty: float | None
) -> Callable[[Callable[[Region], Scalar]], Callable[[Region], Scalar]]:
    """Enters a body as the lowering of reductions with one result; ``empty``: the fold of nothing, None where
    eager raises.
    """

    def enter(body: Callable[[Region], Scalar]) -> Callable[[Region], Scalar]:
        def build(call: Call) -> Any:
            if empty is not None and is_void(call):
                return constants(call, [empty])
            region = begin(call)
            if empty is None:
                require_elements(region)
            region.kernel.store(0, region.kept, body(region))
            return call.finish(region.kernel)

        lowers(*overloads)(build)
        return body

    return enter


def require_elements(region: Region) -> None:
    """Eager refuses to look for an extreme of nothing.  A size that may turn out to be 0 is asserted on the
    device.
    """
    if is_void(region.call):
        region.call.refuse("an extreme of no elements has no value")
    tensor = operand_of(region.call)
    if all(is_at_least(tensor.fake.shape[d], 1) for d in reduced_dims(region.call, tensor)):
        return
    k = region.kernel
    k.assert_(k.compare("gt", k.index(region.count), 0), "Expected reduction dim to have non-zero size.")


# --- sums and products --------------------------------------------------------------------------------------


def _result(region: Region) -> torch.dtype:
    value = region.call.value
    return (value if isinstance(value, torch.Tensor) else value[0]).dtype


@_reduction("aten.sum.default", "aten.sum.dim_IntList", "prims.sum.default", empty=0)
def sum_(region: Region) -> Scalar:
    x = region.converted(_result(region))
    return region.fold("any" if x.kind == "bool" else "sum", x)


@_reduction("aten.prod.default", "aten.prod.dim_int", "prims.prod.default", empty=1)
def prod(region: Region) -> Scalar:
    x = region.converted(_result(region))
    return region.fold("all" if x.kind == "bool" else "prod", x)


@_reduction("aten.mean.default", "aten.mean.dim", empty=math.nan)
def mean(region: Region) -> Scalar:
    total = region.fold("sum", region.converted(_result(region)))
    return region.kernel.div(total, region.size(region.count, total.dtype))


@_reduction("aten.nansum.default", empty=0)
def nansum(region: Region) -> Scalar:
    k, x = region.kernel, region.converted(_result(region))
    return region.fold("sum", k.select(k.is_nan(x), 0, x) if x.is_float else x)


@_reduction("aten.count_nonzero.default", "aten.count_nonzero.dim_IntList", empty=0)
def count_nonzero(region: Region) -> Scalar:
    k = region.kernel
    return region.fold("sum", k.cast(k.truth(region.value), torch.int64))


# --- extremes -----------------------------------------------------------------------------------------------


def ordered(region: Region) -> Scalar:
    """The element in a dtype whose order ``fuse.reduce`` knows: it compares integers as signed."""
    k, x = region.kernel, region.value
    if x.kind != "unsigned":
        return x
    if x.bits == 64:
        region.call.refuse("the extreme of 64-bit unsigned integers is not generated")
    return k.cast(x, torch.int64 if x.bits == 32 else torch.int32)


def extreme(region: Region, x: Scalar, kind: str) -> Scalar:
    """The largest (``max``) or smallest (``min``) of ``x``; NaN if any is."""
    if x.kind == "bool":
        kind = {"max": "any", "min": "all"}[kind]
    return region.fold(kind, x)


@_reduction("aten.amax.default", "aten.max.default", "prims.amax.default", empty=None)
def amax(region: Region) -> Scalar:
    return extreme(region, ordered(region), "max")


@_reduction("aten.amin.default", "aten.min.default", "prims.amin.default", empty=None)
def amin(region: Region) -> Scalar:
    return extreme(region, ordered(region), "min")


@_reduction("aten.any.default", "aten.any.dim", "aten.any.dims", empty=0)
def any_(region: Region) -> Scalar:
    return region.fold("any", region.kernel.truth(region.value))


@_reduction("aten.all.default", "aten.all.dim", "aten.all.dims", empty=1)
def all_(region: Region) -> Scalar:
    return region.fold("all", region.kernel.truth(region.value))


def _position(region: Region, kind: str) -> tuple[Scalar, Scalar]:
    """The extreme and where it is first, counted along the reduced dims in row-major order."""
    k, x = region.kernel, ordered(region)
    if not region.over:
        return x, k.constant(0, torch.int64)
    x = k.cast(x, torch.int32) if x.kind == "bool" else x
    flat, step = const(0), const(1)
    for name in reversed(region.over):
        flat = flat + step * sym(name)
        step = step * k.dims[name]
    best, where = region.several("fuse.argreduce", [x, k.index(flat)], [x.dtype, torch.int64], kind=kind)
    return best, where


@_reduction("aten.argmax.default", empty=None)
def argmax(region: Region) -> Scalar:
    return _position(region, "argmax")[1]


@_reduction("aten.argmin.default", empty=None)
def argmin(region: Region) -> Scalar:
    return _position(region, "argmin")[1]


def _several(
    *overloads: str, empty: tuple[float, ...] | None
) -> Callable[[Callable[[Region], tuple[Scalar, ...]]], None]:
    """As ``_reduction``, for several results of one shape."""

    def enter(body: Callable[[Region], tuple[Scalar, ...]]) -> None:
        def build(call: Call) -> Any:
            if not is_filled(call):
                return hollow(call)
            if empty is not None and is_void(call):
                return constants(call, empty)
            region = begin(call, [call.fresh(fake) for fake in call.value])
            if empty is None:
                require_elements(region)
            for output, value in enumerate(body(region)):
                region.kernel.store(output, region.kept, value)
            return call.finish(region.kernel)

        lowers(*overloads)(build)

    return enter


@_several("aten.max.dim", empty=None)
def max_dim(region: Region) -> tuple[Scalar, ...]:
    return _position(region, "argmax")


@_several("aten.min.dim", empty=None)
def min_dim(region: Region) -> tuple[Scalar, ...]:
    return _position(region, "argmin")


@_several("aten.aminmax.default", empty=None)
def aminmax(region: Region) -> tuple[Scalar, ...]:
    x = ordered(region)
    return extreme(region, x, "min"), extreme(region, x, "max")


# --- moments ------------------------------------------------------------------------------------------------


def _moments(region: Region) -> tuple[Scalar, Scalar]:
    """(variance, mean): the squared deviations over max(0, n - correction)."""
    k, arguments = region.kernel, region.call.arguments
    correction = int(arguments["unbiased"]) if "unbiased" in arguments else arguments["correction"]
    correction = 1 if correction is None else correction
    if not isinstance(correction, (int, float)):
        region.call.refuse("the correction is no number")
    x = region.converted(_result(region))
    if region.over:
        middle, squares = region.several("fuse.welford", [x], [x.dtype] * 2)
    else:
        middle, squares = x, k.sub(x, x)
    if region.count.constant is not None:
        degrees = k.constant(max(0.0, region.count.constant - correction), x.dtype)
    else:
        degrees = k.maximum(k.sub(region.size(region.count, x.dtype), float(correction)), 0.0)
    return k.div(squares, degrees), middle


@_reduction("aten.var.default", "aten.var.dim", "aten.var.correction", "prims.var.default", empty=math.nan)
def var(region: Region) -> Scalar:
    return _moments(region)[0]


@_reduction("aten.std.default", "aten.std.dim", "aten.std.correction", empty=math.nan)
def std(region: Region) -> Scalar:
    return region.kernel.math("sqrt", _moments(region)[0])


@_several(
    "aten.var_mean.default", "aten.var_mean.dim", "aten.var_mean.correction", empty=(math.nan, math.nan)
)
def var_mean(region: Region) -> tuple[Scalar, ...]:
    return _moments(region)


@_several(
    "aten.std_mean.default", "aten.std_mean.dim", "aten.std_mean.correction", empty=(math.nan, math.nan)
)
def std_mean(region: Region) -> tuple[Scalar, ...]:
    variance, middle = _moments(region)
    return region.kernel.math("sqrt", variance), middle


# --- sums of functions --------------------------------------------------------------------------------------


@_reduction("aten.logsumexp.default", empty=-math.inf)
def logsumexp(region: Region) -> Scalar:
    """From the largest element, unless that is infinite."""
    k, x = region.kernel, region.converted(_result(region))
    top = region.fold("max", x)
    top = k.select(k.is_inf(top), 0.0, top)
    return k.add(k.math("log", region.fold("sum", k.math("exp", k.sub(x, top)))), top)


@lowers("aten.linalg_vector_norm.default")
def vector_norm(call: Call) -> Any:
    """(sum of |x| ** ord) ** (1 / ord), and its limits at 0 and at the infinities."""
    order = call["ord"]
    if not isinstance(order, (int, float)):
        call.refuse("the order of the norm is no number")
    if is_void(call) and order >= 0 and order != math.inf:
        return constants(call, [0.0])
    region = begin(call)
    if order < 0 or order == math.inf:
        require_elements(region)
    region.kernel.store(0, region.kept, _norm(region, float(order)))
    return call.finish(region.kernel)


def _norm(region: Region, order: float) -> Scalar:
    k, x = region.kernel, region.converted(_result(region))
    size = k.abs(x)
    if math.isinf(order):
        return region.fold("max" if order > 0 else "min", size)
    if order == 0:
        return region.fold("sum", k.cast(k.compare("ne", x, 0), x.dtype))
    if order == 1:
        return region.fold("sum", size)
    if order == 2:
        return k.math("sqrt", region.fold("sum", k.mul(x, x))) if region.over else size
    return k.power(region.fold("sum", k.power(size, order)), 1 / order)
