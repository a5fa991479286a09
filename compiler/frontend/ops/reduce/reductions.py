"""Reductions: one kernel that loads the operand once and folds it over the reduced dims.

Dtypes are eager's.  Sums and products of booleans and integers are int64.  ``dtype=`` converts (and rounds)
before anything is added.  16-bit floats accumulate in float32, and the result is converted at the end.  A
reduction over no elements gives the identity where eager does.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ....base.dataclass import dataclass
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
class LoadedOperand:
    """A kernel that has loaded the operand of a reduction.

    ``raw``: the element at the current point, in the stored dtype.  ``over``: names of the dims to
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
        """The element in the dtype that arithmetic on it uses."""
        return self.kernel.widen(self.raw)

    @property
    def ordered(self) -> Scalar:
        """The value in a dtype that ``fuse.reduce`` compares rightly."""
        return ordered(self.call, self.kernel, self.value)

    def converted(self, dtype: torch.dtype) -> Scalar:
        """The element converted to ``dtype``, ready for arithmetic."""
        return self.kernel.widen(self.kernel.cast(self.raw, dtype))

    def fold(self, kind: str, value: Scalar) -> Scalar:
        """``fuse.reduce`` over the reduced dims, as the kernel's ``fold``."""
        return self.kernel.fold(kind, value, self.over)

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
    """The dims that a call reduces, counted from the front.  None means all dims.  So does an empty list,
    except for any and all.
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


def begin(call: Call, outputs: Sequence[Any] | None = None) -> LoadedOperand:
    """Starts the kernel of a reduction and loads the operand; ``outputs`` as in ``Call.kernel``."""
    tensor = operand_of(call)
    keepdim = bool(call.arguments.get("keepdim", False))
    return loaded(call, tensor, reduced_dims(call, tensor), keepdim, outputs)


def loaded(
    call: Call,
    tensor: Tensor,
    dims: Sequence[int],
    keepdim: bool,
    outputs: Sequence[Any] | None = None,
    name: str | None = None,
) -> LoadedOperand:
    """A kernel that reduces ``dims`` of ``tensor``; ``outputs`` and ``name`` as in ``Call.kernel``."""
    kernel = call.kernel([tensor], outputs, name=name)
    at = kernel.iterate(tensor.sizes)
    over = tuple(str(at[d]) for d in dims if not at[d].is_constant)
    kept = tuple(const(0) if d in dims else c for d, c in enumerate(at) if keepdim or d not in dims)
    if any(len(kept) != len(o.sizes) for o in kernel.outputs):
        call.refuse("the shape of the result does not follow from the dims")
    return LoadedOperand(call, kernel, kernel.load_raw(tensor, at), over, kept, count_of(tensor, dims))


def is_void(call: Call) -> bool:
    """Whether the call folds no element at all."""
    tensor = operand_of(call)
    return count_of(tensor, reduced_dims(call, tensor)).constant == 0


def is_filled(call: Call) -> bool:
    """Whether every result has elements, as far as the import knows."""
    fakes = [call.value] if isinstance(call.value, torch.Tensor) else call.value
    return not any(type(n) is int and n == 0 for fake in fakes for n in fake.shape)


def hollow(call: Call) -> list[Tensor]:
    """Results without elements, for which there is no kernel."""
    specs = [call.fresh(fake) for fake in call.value]
    return [
        call.made(call.builder.empty(s, call.location), f, s) for s, f in zip(specs, call.value, strict=True)
    ]


def constants(call: Call, values: Sequence[Operand]) -> Any:
    """Every element of result *i* is ``values[i]``, since no elements are folded."""
    fakes = [call.value] if isinstance(call.value, torch.Tensor) else call.value
    made = []
    for fake, value in zip(fakes, values, strict=True):
        kernel = call.kernel([], [call.fresh(fake)])
        kernel.store(0, kernel.iterate(call.fresh(fake).sizes), value)
        made.append(call.finish(kernel, [fake]))
    return made[0] if isinstance(call.value, torch.Tensor) else made


def _reduction(
    *overloads: str, empty: float | None
) -> Callable[[Callable[[LoadedOperand], Scalar]], Callable[[LoadedOperand], Scalar]]:
    """Registers a body as the lowering of reductions with one result.  ``empty``: the result for no elements,
    None where eager raises.
    """

    def enter(body: Callable[[LoadedOperand], Scalar]) -> Callable[[LoadedOperand], Scalar]:
        def build(call: Call) -> Any:
            if empty is not None and is_void(call):
                return constants(call, [empty])
            operand = begin(call)
            if empty is None:
                require_elements(operand)
            operand.kernel.store(0, operand.kept, body(operand))
            return call.finish(operand.kernel)

        lowers(*overloads)(build)
        return body

    return enter


def require_elements(operand: LoadedOperand) -> None:
    """Refuses an extreme of no elements, as eager raises for it.  For a size that may be 0 at run time, the
    kernel asserts that it is not.
    """
    if is_void(operand.call):
        operand.call.refuse("an extreme of no elements has no value")
    tensor = operand_of(operand.call)
    if all(is_at_least(tensor.fake.shape[d], 1) for d in reduced_dims(operand.call, tensor)):
        return
    k = operand.kernel
    some = k.compare("gt", k.index(operand.count), 0)
    k.assert_(some, "Expected reduction dim to have non-zero size.", is_index=True)


# --- sums and products --------------------------------------------------------------------------------------


def _result(operand: LoadedOperand) -> torch.dtype:
    value = operand.call.value
    return (value if isinstance(value, torch.Tensor) else value[0]).dtype


@_reduction("aten.sum.default", "aten.sum.dim_IntList", "prims.sum.default", empty=0)
def sum_(operand: LoadedOperand) -> Scalar:
    x = operand.converted(_result(operand))
    return operand.fold("any" if x.kind == "bool" else "sum", x)


@_reduction("aten.prod.default", "aten.prod.dim_int", "prims.prod.default", empty=1)
def prod(operand: LoadedOperand) -> Scalar:
    x = operand.converted(_result(operand))
    return operand.fold("all" if x.kind == "bool" else "prod", x)


@_reduction("aten.mean.default", "aten.mean.dim", empty=math.nan)
def mean(operand: LoadedOperand) -> Scalar:
    total = operand.fold("sum", operand.converted(_result(operand)))
    return operand.kernel.div(total, operand.size(operand.count, total.dtype))


@_reduction("aten.nansum.default", empty=0)
def nansum(operand: LoadedOperand) -> Scalar:
    k, x = operand.kernel, operand.converted(_result(operand))
    return operand.fold("sum", k.select(k.is_nan(x), 0, x) if x.is_float else x)


@_reduction("aten.count_nonzero.default", "aten.count_nonzero.dim_IntList", empty=0)
def count_nonzero(operand: LoadedOperand) -> Scalar:
    k = operand.kernel
    return operand.fold("sum", k.cast(k.truth(operand.value), torch.int64))


# --- extremes -----------------------------------------------------------------------------------------------


def ordered(call: Call, k: KernelBuilder, x: Scalar) -> Scalar:
    """The element in a dtype whose order ``fuse.reduce`` knows: it compares integers as signed."""
    if x.kind != "unsigned":
        return x
    if x.bits == 64:
        call.refuse("the extreme of 64-bit unsigned integers is not generated")
    return k.cast(x, torch.int64 if x.bits == 32 else torch.int32)


def extreme(operand: LoadedOperand, x: Scalar, kind: str) -> Scalar:
    """The largest (``max``) or smallest (``min``) of ``x``; NaN if any is."""
    if x.kind == "bool":
        kind = {"max": "any", "min": "all"}[kind]
    return operand.fold(kind, x)


@_reduction("aten.amax.default", "aten.max.default", "prims.amax.default", empty=None)
def amax(operand: LoadedOperand) -> Scalar:
    return extreme(operand, operand.ordered, "max")


@_reduction("aten.amin.default", "aten.min.default", "prims.amin.default", empty=None)
def amin(operand: LoadedOperand) -> Scalar:
    return extreme(operand, operand.ordered, "min")


@_reduction("aten.any.default", "aten.any.dim", "aten.any.dims", empty=0)
def any_(operand: LoadedOperand) -> Scalar:
    return operand.fold("any", operand.kernel.truth(operand.value))


@_reduction("aten.all.default", "aten.all.dim", "aten.all.dims", empty=1)
def all_(operand: LoadedOperand) -> Scalar:
    return operand.fold("all", operand.kernel.truth(operand.value))


def _position(operand: LoadedOperand, kind: str) -> tuple[Scalar, Scalar]:
    """The extreme and where it is first, counted along the reduced dims in row-major order."""
    k, x = operand.kernel, operand.ordered
    if not operand.over:
        return x, k.constant(0, torch.int64)
    x = k.cast(x, torch.int32) if x.kind == "bool" else x
    flat, step = const(0), const(1)
    for name in reversed(operand.over):
        flat = flat + step * sym(name)
        step = step * k.dims[name]
    best, where = operand.several("fuse.argreduce", [x, k.index(flat)], [x.dtype, torch.int64], kind=kind)
    return best, where


@_reduction("aten.argmax.default", empty=None)
def argmax(operand: LoadedOperand) -> Scalar:
    return _position(operand, "argmax")[1]


@_reduction("aten.argmin.default", empty=None)
def argmin(operand: LoadedOperand) -> Scalar:
    return _position(operand, "argmin")[1]


def _several(
    *overloads: str, empty: tuple[float, ...] | None
) -> Callable[[Callable[[LoadedOperand], tuple[Scalar, ...]]], None]:
    """As ``_reduction``, for several results of one shape."""

    def enter(body: Callable[[LoadedOperand], tuple[Scalar, ...]]) -> None:
        def build(call: Call) -> Any:
            if not is_filled(call):
                return hollow(call)
            if empty is not None and is_void(call):
                return constants(call, empty)
            operand = begin(call, [call.fresh(fake) for fake in call.value])
            if empty is None:
                require_elements(operand)
            for output, value in enumerate(body(operand)):
                operand.kernel.store(output, operand.kept, value)
            return call.finish(operand.kernel)

        lowers(*overloads)(build)

    return enter


@_several("aten.max.dim", empty=None)
def max_dim(operand: LoadedOperand) -> tuple[Scalar, ...]:
    return _position(operand, "argmax")


@_several("aten.min.dim", empty=None)
def min_dim(operand: LoadedOperand) -> tuple[Scalar, ...]:
    return _position(operand, "argmin")


@_several("aten.aminmax.default", empty=None)
def aminmax(operand: LoadedOperand) -> tuple[Scalar, ...]:
    x = operand.ordered
    return extreme(operand, x, "min"), extreme(operand, x, "max")


# --- moments ------------------------------------------------------------------------------------------------


def _moments(operand: LoadedOperand) -> tuple[Scalar, Scalar]:
    """(variance, mean), as the arguments of the call say."""
    arguments = operand.call.arguments
    correction = int(arguments["unbiased"]) if "unbiased" in arguments else arguments["correction"]
    correction = 1 if correction is None else correction
    if not isinstance(correction, (int, float)):
        operand.call.refuse("the correction is no number")
    return moments(operand, operand.converted(_result(operand)), correction)


def moments(operand: LoadedOperand, x: Scalar, correction: float) -> tuple[Scalar, Scalar]:
    """(variance, mean) of ``x``: the squared deviations over max(0, n - correction)."""
    k = operand.kernel
    if operand.over:
        middle, squares = operand.several("fuse.welford", [x], [x.dtype] * 2)
    else:
        middle, squares = x, k.sub(x, x)
    if operand.count.constant is not None:
        degrees = k.constant(max(0.0, operand.count.constant - correction), x.dtype)
    else:
        degrees = k.maximum(k.sub(operand.size(operand.count, x.dtype), float(correction)), 0.0)
    return k.div(squares, degrees), middle


@_reduction("aten.var.default", "aten.var.dim", "aten.var.correction", "prims.var.default", empty=math.nan)
def var(operand: LoadedOperand) -> Scalar:
    return _moments(operand)[0]


@_reduction("aten.std.default", "aten.std.dim", "aten.std.correction", empty=math.nan)
def std(operand: LoadedOperand) -> Scalar:
    return operand.kernel.math("sqrt", _moments(operand)[0])


@_several(
    "aten.var_mean.default", "aten.var_mean.dim", "aten.var_mean.correction", empty=(math.nan, math.nan)
)
def var_mean(operand: LoadedOperand) -> tuple[Scalar, ...]:
    return _moments(operand)


@_several(
    "aten.std_mean.default", "aten.std_mean.dim", "aten.std_mean.correction", empty=(math.nan, math.nan)
)
def std_mean(operand: LoadedOperand) -> tuple[Scalar, ...]:
    variance, middle = _moments(operand)
    return operand.kernel.math("sqrt", variance), middle


# --- sums of functions --------------------------------------------------------------------------------------


@_reduction("aten.logsumexp.default", empty=-math.inf)
def logsumexp(operand: LoadedOperand) -> Scalar:
    """From the largest element, unless that is infinite."""
    k, x = operand.kernel, operand.converted(_result(operand))
    top = operand.fold("max", x)
    top = k.select(k.is_inf(top), 0.0, top)
    return k.add(k.math("log", operand.fold("sum", k.math("exp", k.sub(x, top)))), top)


@lowers("aten.linalg_vector_norm.default")
def vector_norm(call: Call) -> Any:
    """(sum of |x| ** ord) ** (1 / ord), and its limits at 0 and at the infinities."""
    order = call["ord"]
    if not isinstance(order, (int, float)):
        call.refuse("the order of the norm is no number")
    if is_void(call) and order >= 0 and order != math.inf:
        return constants(call, [0.0])
    operand = begin(call)
    if order < 0 or order == math.inf:
        require_elements(operand)
    operand.kernel.store(0, operand.kept, _norm(operand, float(order)))
    return call.finish(operand.kernel)


def _norm(operand: LoadedOperand, order: float) -> Scalar:
    k, x = operand.kernel, operand.converted(_result(operand))
    size = k.abs(x)
    if math.isinf(order):
        return operand.fold("max" if order > 0 else "min", size)
    if order == 0:
        return operand.fold("sum", k.cast(k.compare("ne", x, 0), x.dtype))
    if order == 1:
        return operand.fold("sum", size)
    if order == 2:
        return k.math("sqrt", operand.fold("sum", k.mul(x, x))) if operand.over else size
    return k.power(operand.fold("sum", k.power(size, order)), 1 / order)
