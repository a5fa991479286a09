"""Rules of kernels: functions with ``fuse.kernel`` whose body is scalar code over named dims."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import field

from ..analysis.kernel.precision import COARSE, IMPLICIT
from ..base.dataclass import dataclass
from ..index import Expr, parse
from ..index.facts import names_loaded
from ..ir.contractions import ACCUMULATORS, FAST_TYPES, ONLINE_TYPES, PRECISIONS, PRODUCTS
from ..ir.dialects import fuse
from ..ir.dialects.libm import ARITY
from ..ir.kernel import MOST_POINTS
from ..ir.reductions import FOLD_KINDS, LINEAR, LOG_SUM_EXP, POSITION_KINDS, SCAN_KINDS
from ..ir.tile import Tile
from ..mlir import arith, ir
from .rules import (
    Broken,
    Report,
    argument_symbols,
    check_arguments,
    check_tied,
    expressions_of,
    integers_of,
    items_of,
    listed,
    one_of,
    text_of,
    texts_of,
)

#: Arithmetic type of the element types whose memory form differs.
SCALARS = {"ui8": "i8", "ui16": "i16", "ui32": "i32", "ui64": "i64"}
REDUCE_KINDS, ARGREDUCE_KINDS = tuple(FOLD_KINDS), tuple(POSITION_KINDS)
STORE_MODES = ("set", "add", "min", "max")
DISTRIBUTIONS = ("uniform", "normal")

_DIM = re.compile(r"d(0|[1-9]\d*)")
_NO_DIMS: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Accesses:
    """What a scalar kernel reads and writes: argument -> coordinates of each access."""

    loads: dict[int, list[tuple[Expr, ...]]]
    stores: dict[int, list[tuple[Expr, ...]]]


@dataclass
class _Body:
    """What is known while the ops of a body are visited in order."""

    report: Report
    dims: dict[str, Expr]
    symbols: dict[str, int]
    arguments: dict[ir.Value, int]
    value_dims: dict[ir.Value, frozenset[str]] = field(default_factory=dict)
    versions: dict[ir.Value, int] = field(
        default_factory=dict
    )  #: argument or result of a store -> the argument
    latest: dict[int, ir.Value] = field(default_factory=dict)  #: stored argument -> result of its last store
    loads: list[tuple[ir.Operation, int, tuple[Expr, ...]]] = field(default_factory=list)
    stores: list[tuple[ir.Operation, int, tuple[Expr, ...]]] = field(default_factory=list)

    def dims_of(self, op: ir.Operation) -> frozenset[str]:
        """Union of the operands' dim sets."""
        found = _NO_DIMS
        for value in op.operands:
            dims = self.value_dims.get(value)
            if dims and not dims <= found:
                found = found | dims
        return found

    def points_of(self, op: ir.Operation) -> dict[str, Expr]:
        """The dims of the operands' points, with their extents."""
        return {name: self.dims[name] for name in self.dims_of(op)}

    def names(self, expressions: tuple[Expr, ...], indices: int, what: str) -> frozenset[str]:
        """The dims in expressions that may also name sizes and ``indices`` loaded indices."""
        used: set[str] = set()
        for expression in expressions:
            if not expression.is_constant:
                used |= expression.symbols()
        dims = used & self.dims.keys()
        unknown = [n for n in used - dims if n not in self.symbols and not _is_index(n, indices)]
        if unknown:
            raise Broken(
                f"expected {what} over the dims {listed(self.dims)}, the sizes {listed(self.symbols)} and "
                f"{indices} indices, got {listed(unknown)}"
            )
        return frozenset(dims)


def _is_index(name: str, indices: int) -> bool:
    return name[0] == "i" and name[1:].isdigit() and int(name[1:]) < indices


def verify_kernel(func: ir.Operation, report: Report) -> Accesses | None:
    """All rules of one scalar kernel.  None where it breaks one, so that nothing follows from its body."""
    before = report.complaints
    symbols = report.check(func, argument_symbols, func)
    dims = report.check(func, _dims, func, symbols or {})
    ties = report.check(func, check_tied, func, report)
    if symbols is None or dims is None or ties is None or report.complaints != before:
        return None
    report.check(func, check_arguments, func, symbols, report)
    block = func.regions[0].blocks[0]
    body = _Body(report, dims, symbols, {argument: n for n, argument in enumerate(block.arguments)})
    body.versions.update(body.arguments)
    multiplies = any(op.name in PRODUCTS for op in block.operations)
    if not multiplies:
        report.check(func, _countable, dims, "fuse.dims")
    tiled_by = report.check(func, _tile, func, dims)
    if "fuse.anywhere" in func.attributes:
        report.check(func, _anywhere, func)
    for argument, number in body.arguments.items():
        if isinstance(argument.type, ir.RankedTensorType):
            report.check(func, _only_accessed, argument, number)
    for op in block.operations:
        rule = _RULES.get(op.name)
        if rule is None:
            if op.name.partition(".")[0] not in ("arith", "math"):
                report.complain(
                    op, "is not allowed in a kernel: expected arith, math and the fuse dialect's kernel ops"
                )
                continue
            rule = _scalar
        report.check(op, _precise, op)
        dims_of_results = report.check(op, rule, body, op)
        if multiplies:
            report.check(op, _countable, body.points_of(op), "the dims of an op")
        if dims_of_results:
            for result in op.results:
                body.value_dims[result] = dims_of_results
            if isinstance(op, fuse.OnlineDot):
                row = body.value_dims[op.operands[0]] - set(_over_names(op))
                body.value_dims.update(dict.fromkeys(list(op.results)[1:], row))
        if tiled_by is not None and "over" in op.attributes:
            report.check(op, _reduced_in_whole_axes, tiled_by, op)
    if report.complaints != before:
        return None  # what follows would be consequences
    report.check(func, _every_store_is_tied, body, ties)
    final = list(block.operations)[-1]
    report.check(final, _returned, body, ties, final)
    for op, argument, coords in body.loads:
        report.check(op, _reads_no_write, body, argument, coords)
    return Accesses(_by_argument(body.loads), _by_argument(body.stores))


def _by_argument(
    accesses: list[tuple[ir.Operation, int, tuple[Expr, ...]]],
) -> dict[int, list[tuple[Expr, ...]]]:
    found: dict[int, list[tuple[Expr, ...]]] = {}
    for _, argument, coords in accesses:
        found.setdefault(argument, []).append(coords)
    return found


# --- the function -------------------------------------------------------------------------------------------


def _dims(func: ir.Operation, symbols: dict[str, int]) -> dict[str, Expr]:
    if "fuse.dims" not in func.attributes:
        raise Broken("expected a kernel to have fuse.dims")
    dims: dict[str, Expr] = {}
    for name, attribute in items_of(func.attributes["fuse.dims"], "fuse.dims"):
        if _DIM.fullmatch(name) is None:
            raise Broken(f"expected dims named d0, d1, .., got '{name}'")
        extent = dims[name] = parse(text_of(attribute, f"the extent of {name}"))
        unknown = extent.symbols() - symbols.keys()
        if unknown:
            raise Broken(
                f"the extent '{extent}' of {name} needs the size {listed(unknown)}, which is no argument"
            )
        if extent.constant is not None and extent.constant < 0:
            raise Broken(f"expected {name} to have an extent of at least 0, got {extent}")
    return dims


def _countable(dims: Mapping[str, Expr], what: str) -> None:
    """Whether 64-bit integers can number the points of dims."""
    points = math.prod(max(extent.constant or 1, 1) for extent in dims.values())
    if points > MOST_POINTS:
        raise Broken(
            f"expected the constant extents of {what} to have a product of at most {MOST_POINTS}, "
            f"got {points}"
        )


def _tile(func: ir.Operation, dims: dict[str, Expr]) -> Tile | None:
    if "fuse.tile" not in func.attributes:
        return None
    tile = Tile.of(func.attributes["fuse.tile"])
    problem = tile.problem(dims)
    if problem is not None:
        raise Broken(f"fuse.tile: {problem}")
    return tile


def _anywhere(func: ir.Operation) -> None:
    arguments = func.regions[0].blocks[0].arguments
    tensors = [n for n, argument in enumerate(arguments) if isinstance(argument.type, ir.RankedTensorType)]
    for number in integers_of(func.attributes["fuse.anywhere"], "fuse.anywhere"):
        if number not in tensors:
            raise Broken(f"expected fuse.anywhere to number tensors among the arguments, got {number}")


def _reduced_in_whole_axes(tile: Tile, op: ir.Operation) -> None:
    over = _over_names(op)
    placed = {
        d for axis in tile.axes for d in axis.dims
    }  # that `over` names dims of the kernel is a rule, too
    for number in sorted({tile.axis_of(d) for d in over if d in placed}):
        axis = tile.axes[number]
        if axis.kind == "grid":
            raise Broken(f"reduces over {listed(over)}, which fuse.tile spreads over programs (a grid axis)")
        if not set(axis.dims) <= set(over):
            raise Broken(f"reduces over {listed(over)}, which is a part of the axis of {listed(axis.dims)}")


def _only_accessed(argument: ir.Value, number: int) -> None:
    """Ops that have no place in a kernel at all have a complaint of their own."""
    for use in argument.uses:
        name = use.owner.name
        allowed = name in ("func.return", "fuse.base") or (
            name in ("fuse.load", "fuse.store") and use.operand_number == 0
        )
        if not allowed:
            raise Broken(
                f"expected the tensor argument {number} to be only loaded and stored, got a use by '{name}'"
            )


def _every_store_is_tied(body: _Body, ties: tuple[int, ...]) -> None:
    for _, argument, _ in body.stores:
        if argument not in ties:
            raise Broken(f"stores into argument {argument}, whose storage no result takes over (fuse.ties)")


def _returned(body: _Body, ties: tuple[int, ...], op: ir.Operation) -> None:
    for number, (value, tie) in enumerate(zip(op.operands, ties, strict=True)):
        if body.versions.get(value) != tie:
            raise Broken(f"expected result {number} to be a store into argument {tie}, to which it is tied")
        if tie in body.latest and body.latest[tie] != value:
            raise Broken(f"expected result {number} to be the last store into argument {tie}")


def _reads_no_write(body: _Body, argument: int, coords: tuple[Expr, ...]) -> None:
    stores = [s for s in body.stores if s[1] == argument]
    if not stores:
        return
    if len(stores) > 1 or stores[0][2] != coords:
        raise Broken(
            f"reads argument {argument}, which the kernel stores: "
            "only its old contents at the coordinates of the only store may be read"
        )
    if names_loaded(coords):
        raise Broken(
            f"reads argument {argument} at loaded indices, at which the kernel stores: "
            "where two are equal, one point would read what another has stored"
        )


# --- single ops: each rule gives the dim set of the op's results --------------------------------------------


def _scalar(body: _Body, op: ir.Operation) -> frozenset[str]:
    if len(op.regions):
        raise Broken("is not allowed in a kernel: expected ops without regions")
    if "fastmath" in op.attributes and str(op.attributes["fastmath"]) != "#arith.fastmath<none>":
        raise Broken(f"expected no fast-math flags, got {op.attributes['fastmath']}")
    return body.dims_of(op)


def _rounding(body: _Body, op: ir.Operation) -> frozenset[str]:
    types = str(op.operands[0].type), str(op.results[0].type)
    if IMPLICIT in op.attributes and types not in (("f32", "f16"), ("f32", "bf16")):
        raise Broken(f"expected {IMPLICIT} to round f32 to f16 or bf16, got {' to '.join(types)}")
    return _scalar(body, op)


def _precise(op: ir.Operation) -> None:
    """What is said of the precision of an op is said where something reads it."""
    if IMPLICIT in op.attributes and not isinstance(op, arith.TruncFOp):
        raise Broken(f"expected {IMPLICIT} on an arith.truncf, got {op.name}")
    if COARSE not in op.attributes:
        return
    types = [str(result.type) for result in op.results]
    scalar = op.name.startswith(("arith.", "math."))
    if not (scalar and types == ["f32"]):
        expected = f"expected {COARSE} on an arith or math op with one result of f32"
        raise Broken(f"{expected}, got {op.name} with {', '.join(types) or 'none'}")


def _coordinates(
    body: _Body, op: ir.Operation, first_index: int, rank: int
) -> tuple[tuple[Expr, ...], frozenset[str]]:
    coords = expressions_of(op.attributes["at"], "at")
    if len(coords) != rank:
        raise Broken(
            f"expected {rank} coordinates, one for each dim of {op.operands[0].type}, got {len(coords)}"
        )
    return coords, body.names(coords, len(op.operands) - first_index, "coordinates")


def _load(body: _Body, op: ir.Operation) -> frozenset[str]:
    source = op.operands[0]
    argument = body.arguments.get(source)
    spec = body.report.tensor(source, "the source")
    if argument is None:
        raise Broken("expected the source to be an argument of the kernel, got another value")
    expected = SCALARS.get(spec.element, spec.element)
    found = body.report.text(op.results[0].type)
    if found != expected:
        raise Broken(f"expected a result of type {expected} for elements of {spec.element}, got {found}")
    coords, dims = _coordinates(body, op, 3, spec.rank)
    body.loads.append((op, argument, coords))
    return dims | body.dims_of(op)


def _store(body: _Body, op: ir.Operation) -> frozenset[str]:
    dest, value, result = op.operands[0], op.operands[1], op.results[0]
    argument = body.versions.get(dest)
    spec = body.report.tensor(dest, "the destination")
    if argument is None:
        raise Broken("expected the destination to be an argument of the kernel or an earlier store's result")
    if result.type != dest.type:
        raise Broken(f"expected a result of the destination's type {dest.type}, got {result.type}")
    if argument in body.latest and dest != body.latest[argument] and dest not in body.arguments:
        raise Broken(f"expected the destination to be the last version of argument {argument}")
    expected = SCALARS.get(spec.element, spec.element)
    found = body.report.text(value.type)
    if found != expected:
        raise Broken(f"expected a value of type {expected} for elements of {spec.element}, got {found}")
    one_of(text_of(op.attributes["mode"], "mode"), STORE_MODES, "mode")
    coords, _ = _coordinates(body, op, 3, spec.rank)
    body.stores.append((op, argument, coords))
    body.versions[result] = argument
    body.latest[argument] = result
    return _NO_DIMS


def _index(body: _Body, op: ir.Operation) -> frozenset[str]:
    expression = parse(text_of(op.attributes["expr"], "expr"))
    return body.names((expression,), len(op.operands), "an expression") | body.dims_of(op)


def _over_names(op: ir.Operation) -> tuple[str, ...]:
    attribute = op.attributes["over"]
    return (attribute.value,) if isinstance(attribute, ir.StringAttr) else texts_of(attribute, "over")


def _over(body: _Body, op: ir.Operation) -> frozenset[str]:
    """The dims that a reduction crosses, each a dim of its operands."""
    over = _over_names(op)
    dims = body.dims_of(op)
    if not over or len(set(over)) != len(over):
        raise Broken(f"expected one or more different dims in over, got {list(over)}")
    missing = [d for d in over if d not in dims]
    if missing:
        raise Broken(f"expected over to name dims of the operand ({listed(dims)}), got {listed(missing)}")
    return dims - set(over)


def _kind(op: ir.Operation, known: tuple[str, ...]) -> str:
    return one_of(text_of(op.attributes["kind"], "kind"), known, "kind")


def _reduce(body: _Body, op: ir.Operation) -> frozenset[str]:
    kind, type_ = _kind(op, REDUCE_KINDS), body.report.text(op.operands[0].type)
    if FOLD_KINDS[kind].truth and type_ != "i1":
        raise Broken(f"expected an i1 operand for kind '{kind}', got {type_}")
    if not FOLD_KINDS[kind].floats and type_[0] != "i":
        raise Broken(f"expected an integer operand for kind '{kind}', got {type_}")
    return _over(body, op)


def _argreduce(body: _Body, op: ir.Operation) -> frozenset[str]:
    _kind(op, ARGREDUCE_KINDS)
    return _over(body, op)


def _float_reduce(body: _Body, op: ir.Operation) -> frozenset[str]:
    _floating(body, op)
    return _over(body, op)


def _welford(body: _Body, op: ir.Operation) -> frozenset[str]:
    if len(op.operands) > 2:
        raise Broken(f"expected a value and at most one weight, got {len(op.operands)} operands")
    return _float_reduce(body, op)


def _online_expectation(body: _Body, op: ir.Operation) -> frozenset[str]:
    signs = list(ir.DenseI64ArrayAttr(op.attributes["signs"]))
    if not signs or any(sign not in (-1, 0, 1) for sign in signs):
        raise Broken(f"expected signs to be -1, 0 or 1, one at least, got {signs}")
    if len(op.operands) - len(signs) not in (0, 1):
        raise Broken(f"expected {len(signs)} or {len(signs) + 1} operands, got {len(op.operands)}")
    if len(op.results) != 1 + 2 * len(signs):
        raise Broken(f"expected {1 + 2 * len(signs)} results, got {len(op.results)}")
    if any(value.type != op.operands[0].type for value in (*op.operands, *op.results)):
        raise Broken("expected operands and results of one type")
    return _float_reduce(body, op)


def _floating(body: _Body, op: ir.Operation) -> None:
    for value in op.operands:
        if body.report.text(value.type)[0] not in "fb":
            raise Broken(f"expected operands of a float type, got {value.type}")


def _scan(body: _Body, op: ir.Operation) -> frozenset[str]:
    kind, type_ = _kind(op, SCAN_KINDS), body.report.text(op.operands[0].type)
    if kind in (LOG_SUM_EXP, LINEAR) and type_[0] == "i":
        raise Broken(f"expected a float operand for kind '{kind}', got {type_}")
    if not isinstance(op.attributes["reverse"], ir.BoolAttr):
        raise Broken(f"expected reverse to be true or false, got {op.attributes['reverse']}")
    if [value.type for value in op.operands] != [op.results[0].type] * (1 + (kind == LINEAR)):
        raise Broken("expected a value and, of kind 'linear' alone, a gate, all of the result's type")
    if kind == LINEAR and op.attributes["reverse"].value:
        raise Broken("expected reverse to be false for kind 'linear'")
    _over(body, op)
    return body.dims_of(op)


def _dot(body: _Body, op: ir.Operation) -> frozenset[str]:
    lhs, rhs, made = (body.report.text(v.type) for v in (*op.operands, *op.results))
    if lhs != rhs:
        raise Broken(f"expected operands of one type, got {lhs} and {rhs}")
    if lhs not in ACCUMULATORS:
        raise Broken(f"expected operands of a type that is multiplied ({listed(ACCUMULATORS)}), got {lhs}")
    if made != ACCUMULATORS[lhs]:
        raise Broken(f"expected operands of {lhs} to add up to {ACCUMULATORS[lhs]}, got {made}")
    if "precision" in op.attributes:
        precision = one_of(text_of(op.attributes["precision"], "precision"), PRECISIONS, "precision")
        if precision == "tf32" and lhs != "f32":
            raise Broken(f"expected precision 'tf32' on operands of f32, got {lhs}")
    if "fast_accum" in op.attributes:
        if not isinstance(op.attributes["fast_accum"], ir.UnitAttr):
            raise Broken(f"expected fast_accum to have no value, got {op.attributes['fast_accum']}")
        if lhs not in FAST_TYPES:
            raise Broken(f"expected fast_accum on operands of 8-bit floats, got {lhs}")
    return _over(body, op)


def _online_dot(body: _Body, op: ir.Operation) -> frozenset[str]:
    if (factor := body.report.text(op.operands[1].type)) not in ONLINE_TYPES:
        raise Broken(f"expected rhs of {' or '.join(ONLINE_TYPES)}, got {factor}")
    for what, value in zip(("value", "rhs"), op.operands, strict=True):
        if missing := set(_over_names(op)) - body.value_dims.get(value, _NO_DIMS):
            raise Broken(f"expected {what} to have the dims of over, and it lacks {listed(sorted(missing))}")
    return _over(body, op)


def _rand(body: _Body, op: ir.Operation) -> frozenset[str]:
    one_of(text_of(op.attributes["dist"], "dist"), DISTRIBUTIONS, "dist")
    return body.dims_of(op)


def _libm(body: _Body, op: ir.Operation) -> frozenset[str]:
    name = text_of(op.attributes["fn"], "fn")
    if name not in ARITY:
        raise Broken(f"expected fn to be a function of ir/dialects/libm.py, got '{name}'")
    if len(op.operands) != ARITY[name]:
        raise Broken(f"expected {ARITY[name]} arguments for '{name}', got {len(op.operands)}")
    _floating(body, op)
    return body.dims_of(op)


def _effect(body: _Body, op: ir.Operation) -> frozenset[str]:
    return _NO_DIMS


_RULES: dict[str, Callable[[_Body, ir.Operation], frozenset[str]]] = {
    "arith.truncf": _rounding,
    "cf.assert": _effect,
    "func.return": _effect,
    "fuse.argreduce": _argreduce,
    "fuse.device_assert": _effect,
    "fuse.dot": _dot,
    "fuse.index": _index,
    "fuse.libm": _libm,
    "fuse.load": _load,
    "fuse.online_dot": _online_dot,
    "fuse.online_expectation": _online_expectation,
    "fuse.online_softmax": _float_reduce,
    "fuse.rand": _rand,
    "fuse.reduce": _reduce,
    "fuse.scan": _scan,
    "fuse.store": _store,
    "fuse.welford": _welford,
}

#: Ops that only a scalar kernel may hold.
KERNEL_OPS = frozenset(name for name in _RULES if name.startswith("fuse."))
