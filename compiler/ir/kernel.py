"""A kernel function read as plain Python: dims, accesses, the dim set of every value.  Nothing here changes
IR.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

from ..base.dataclass import dataclass
from ..index import Expr, Facts, parse
from ..mlir import cf, ir
from .contractions import PRODUCTS
from .dialects import fuse
from .layout import TensorSpec
from .reductions import reductions

_NO_DIMS: frozenset[str] = frozenset()

#: Points that a kernel may have: 64-bit integers number them, rounded up to blocks, and count the bytes of
#: hundreds of accesses at each.
MOST_POINTS = 2**52

#: Ops that remove the dims ``over`` from their operand's dim set.
REDUCTIONS = reductions(lambda op: not op.keeps)

#: Ops that assert.
ASSERTS = ("fuse.device_assert", "cf.assert")
#: The attribute of an assertion that an index is in range.
INDEX_CHECK = "fuse.index_check"

#: The attribute of a kernel that is a product of a wide chain (``analysis/contraction/wide.py``).
WIDE = "fuse.wide"
#: Of a kernel that is a product alone, what it is instead of: the declaration of the library's op.
INSTEAD = "fuse.instead"

#: The attribute of a kernel that is a product of a cascade (``analysis/contraction/cascades.py``).
CASCADE = "fuse.cascade"
#: The attribute of a kernel with products whose columns a program goes through (``derive-cascades``).
LOOPED = "fuse.looped"
#: The attribute of a kernel that computes vectors of points (``unroll-and-jam``).
VECTORS = "fuse.vectors"


def natural(name: str) -> tuple[str, int]:
    """Sort key that puts d2 before d10."""
    match = re.fullmatch(r"(.*?)(\d*)", name)
    assert match is not None
    return match[1], int(match[2] or -1)


def is_kernel(op: ir.Operation) -> bool:
    """Whether ``op`` is a ``func.func`` with a kernel body (at the graph, scheduled or tiled level)."""
    return op.operation.name == "func.func" and "fuse.kernel" in op.attributes


def index_check(op: ir.Operation) -> dict[str, ir.Attribute]:
    """What an assertion that replaces ``op`` says of the kind of its condition, as ``op`` does."""
    return {INDEX_CHECK: op.attributes[INDEX_CHECK]} if INDEX_CHECK in op.attributes else {}


def is_tiled(op: ir.Operation) -> bool:
    """Whether a kernel's body is tile code: ``apply-tiling`` marks it with its grid."""
    return "fuse.grid" in op.attributes


def is_users(op: ir.Operation) -> bool:
    """Whether a kernel is a user's Triton kernel, which is tiled from the start."""
    return "fuse.user" in op.attributes


def further_configurations(op: ir.Operation) -> tuple[str, ...]:
    """The functions beside a user's kernel that are the same kernel in other configurations
    (``fuse.configs``).  One of all is launched.  A pass that changes one of them changes all alike.
    """
    if "fuse.configs" not in op.attributes:
        return ()
    return tuple([ir.FlatSymbolRefAttr(a).value for a in ir.ArrayAttr(op.attributes["fuse.configs"])])


def takes_others(op: ir.Operation) -> bool:
    """Whether a kernel is a user's that others may be fused with, on its own: one with further configurations
    is fused with all of them together (``passes/user_fusion/configurations.py``).  One without ``fuse.tile``
    says nothing of its warps, and takes none.
    """
    known = is_users(op) and is_kernel(op) and "fuse.tile" in op.attributes
    return known and "fuse.configs" not in op.attributes


def strings(attribute: ir.Attribute) -> tuple[str, ...]:
    """The values of an array of strings."""
    return tuple([ir.StringAttr(a).value for a in ir.ArrayAttr(attribute)])


def string(attribute: ir.Attribute) -> str:
    """The value of a string attribute."""
    return ir.StringAttr(attribute).value


def code_of(func: ir.Operation) -> bytes:
    """A function printed without its name and locations: functions of equal codes are equal."""
    text = func.get_asm(binary=True, use_local_scope=True, assume_verified=True)  # a string takes longer
    name = str(ir.FlatSymbolRefAttr.get(string(func.attributes["sym_name"]), context=func.context))
    return text.replace(name.encode(), b"", 1)


@dataclass(frozen=True)
class Access:
    """One ``fuse.load`` or ``fuse.store``: the argument it addresses and its coordinates, one per dim of the
    argument's type.
    """

    op: ir.Operation
    argument: int
    coords: tuple[Expr, ...]
    indirect: bool

    @property
    def indices(self) -> tuple[ir.Value, ...]:
        """The loaded indices that the coordinates call i0, i1, ..  Coordinates of two accesses compare only
        together with these.
        """
        return tuple(self.op.operands)[3:]


@dataclass
class Kernel:
    """The properties of a kernel that passes read.  ``Kernel.of(func)`` builds it; it becomes stale when the
    function changes.
    """

    func: ir.Operation
    name: str
    dims: dict[str, Expr]
    ties: tuple[int, ...]
    symbols: dict[str, int]  #: size symbol -> argument number
    loads: list[Access] = field(default_factory=list)
    stores: list[Access] = field(default_factory=list)
    reductions: list[ir.Operation] = field(default_factory=list)
    scans: list[ir.Operation] = field(default_factory=list)
    asserts: list[ir.Operation] = field(default_factory=list)
    value_dims: dict[ir.Value, frozenset[str]] = field(default_factory=dict)
    op_dims: dict[ir.Operation, frozenset[str]] = field(
        default_factory=dict
    )  #: dims that an op runs over, also for stores and asserts
    uniform: frozenset[ir.Operation] = frozenset()

    @staticmethod
    def of(func: ir.Operation, uniform: frozenset[ir.Operation] = frozenset()) -> "Kernel":
        """Reads ``func``.  Raises ValueError naming the op where an attribute does not fit.  ``uniform``:
        reductions that are read as numbers without dims (``analysis/kernel/segments.py``).
        """
        op = func.operation
        sizes = named_sizes(op)
        kernel = Kernel(op, string(op.attributes["sym_name"]), kernel_dims(op), kernel_ties(op), sizes)
        kernel.uniform = uniform
        number = {argument: i for i, argument in enumerate(op.regions[0].blocks[0].arguments)}
        for inner in op.regions[0].blocks[0].operations:
            kernel._read(inner, number)
        return kernel

    @property
    def arguments(self) -> list[ir.Value]:
        return list(self.func.regions[0].blocks[0].arguments)

    @property
    def facts(self) -> Facts:
        """What is known of dims and symbols: extents, and the ``fuse.min`` and ``fuse.max`` of arguments."""
        return kernel_facts(self.func)

    @property
    def reduced(self) -> frozenset[str]:
        """Dims that some reduction or scan crosses."""
        dims: set[str] = set()
        for op in (*self.reductions, *self.scans):
            dims.update(over(op))
        return frozenset(dims)

    @property
    def products(self) -> list[ir.Operation]:
        """Its ``fuse.dot``s and ``fuse.online_dot``s."""
        return [op for op in self.reductions if op.name in PRODUCTS]

    @property
    def has_effect(self) -> bool:
        """Whether the kernel has an effect besides its results, such as an assert."""
        return bool(self.asserts)

    def spec(self, argument: int) -> TensorSpec:
        """Layout of a tensor argument."""
        return TensorSpec.of(self.arguments[argument].type)

    def _read(self, op: ir.OpView, number: dict[ir.Value, int]) -> None:
        dims, kind, folds = _NO_DIMS, type(op), op.name in REDUCTIONS
        for operand in op.operands:
            more = self.value_dims.get(operand)
            if more and not more <= dims:
                dims = dims | more
        if kind in (fuse.Load, fuse.Store):
            coords = tuple(parse(c) for c in strings(op.attributes["at"]))
            used = frozenset().union(*(c.symbols() for c in coords))
            access = Access(
                op,
                number[op.operands[0]],
                coords,
                any(s not in self.dims and s not in self.symbols for s in used),
            )
            (self.loads if kind is fuse.Load else self.stores).append(access)
            if kind is fuse.Store:
                number[op.results[0]] = access.argument  # a later store may take this result as destination
            dims |= used & self.dims.keys()
        elif kind is fuse.Index:
            dims |= parse(string(op.attributes["expr"])).symbols() & self.dims.keys()
        elif folds:
            if op not in self.uniform:
                self.reductions.append(op)
        elif kind is fuse.Scan:
            self.scans.append(op)
        elif kind in (fuse.DeviceAssert, cf.AssertOp):
            self.asserts.append(op)
        self.op_dims[op] = dims
        result_dims = dims - set(over(op)) if folds else dims
        if kind is fuse.Store or op in self.uniform:
            result_dims = _NO_DIMS
        for result in op.results:
            self.value_dims[result] = result_dims
        if kind is fuse.OnlineDot:
            row = self.value_dims.get(op.operands[0], _NO_DIMS) - set(over(op))
            self.value_dims.update(dict.fromkeys(list(op.results)[1:], row))


def rows_of(op: ir.Operation, value_dims: Mapping[ir.Value, frozenset[str]]) -> frozenset[str]:
    """The dims of the rows of a product: those that its left factor has alone."""
    left, right = (value_dims.get(v, _NO_DIMS) for v in op.operands)
    return left - right


def over(op: ir.Operation) -> tuple[str, ...]:
    """The dims that a reduction or scan crosses."""
    attribute = op.attributes["over"]
    return (string(attribute),) if isinstance(attribute, ir.StringAttr) else strings(attribute)


def kernel_dims(func: ir.Operation) -> dict[str, Expr]:
    """``fuse.dims`` in natural order."""
    named = {n: string(a) for n, a in attribute_items(func.attributes["fuse.dims"])}
    return {n: parse(named[n]) for n in sorted(named, key=natural)}


def kernel_ties(func: ir.Operation) -> tuple[int, ...]:
    """``fuse.ties``: for each result, the argument whose storage it takes over."""
    ties = ir.DenseI64ArrayAttr(func.attributes["fuse.ties"])
    return tuple([ties[i] for i in range(len(ties))])  # the bindings' iterator takes ten times as long


def attribute_items(attribute: ir.Attribute) -> Iterator[tuple[str, ir.Attribute]]:
    """The (name, attribute) pairs of a dictionary attribute."""
    dictionary = ir.DictAttr(attribute)
    for i in range(len(dictionary)):
        named = dictionary[i]
        yield named.name, named.attr


def extern_arguments(
    declared: "ir.OpAttributeMap | Mapping[str, ir.Attribute]",
) -> tuple[list[ir.Attribute], dict[str, ir.Attribute]]:
    """The positional and the named arguments of an extern op, of the attributes of its declaration, which
    leaves out what is empty.
    """
    positional = list(ir.ArrayAttr(declared["fuse.args"])) if "fuse.args" in declared else []
    named = dict(attribute_items(declared["fuse.kwargs"])) if "fuse.kwargs" in declared else {}
    return positional, named


def argument_attributes(func: ir.Operation) -> list[dict[str, ir.Attribute]]:
    """One dict for each argument of a function."""
    count = len(ir.FunctionType(ir.TypeAttr(func.attributes["function_type"]).value).inputs)
    return _declared(func, "arg_attrs") or [{} for _ in range(count)]


def named_sizes(func: ir.Operation, attribute: str = "arg_attrs") -> dict[str, int]:
    """The size symbols that a function declares in ``arg_attrs`` or ``res_attrs``: name -> position."""
    declared = enumerate(_declared(func, attribute))
    return {string(named["fuse.sym"]): i for i, named in declared if "fuse.sym" in named}


def _declared(func: ir.Operation, attribute: str) -> list[dict[str, ir.Attribute]]:
    if attribute not in func.attributes:
        return []
    return [dict(attribute_items(a)) for a in ir.ArrayAttr(func.attributes[attribute])]


def kernel_facts(func: ir.Operation) -> Facts:
    """Extents of the dims of a kernel and bounds of the size symbols that it declares."""
    dims = kernel_dims(func) if "fuse.dims" in func.attributes else {}
    return _facts(((named.get("fuse.sym"), named) for named in _declared(func, "arg_attrs")), dims)


def program_facts(main: ir.Operation) -> Facts:
    """Bounds of the size symbols of ``@main``: of arguments, of results of calls, and of ``fuse.sym``."""
    block = main.regions[0].blocks[0]
    known = [named for named in _declared(main, "arg_attrs") if "fuse.sym" in named]
    for function in main.parent.regions[0].blocks[0].operations:
        known += _declared(function.operation, "res_attrs")
    found = [(named.get("fuse.sym"), named) for named in known]
    for op in block.operations:
        if op.operation.name == "fuse.sym":
            found.append((op.operation.attributes["symbol"], op.operation.attributes))
    return _facts(found, {})


def _facts(
    found: Iterable[tuple[ir.Attribute | None, Mapping[str, ir.Attribute]]], extents: Mapping[str, Expr]
) -> Facts:
    """From pairs of a size's name and the attributes that bound it."""
    minimum: dict[str, int] = {}
    maximum: dict[str, int] = {}
    for name, attributes in found:
        if name is None:
            continue
        if "fuse.min" in attributes:
            minimum[string(name)] = ir.IntegerAttr(attributes["fuse.min"]).value
        if "fuse.max" in attributes:
            maximum[string(name)] = ir.IntegerAttr(attributes["fuse.max"]).value
    return Facts.of(extents=extents, minimum=minimum, maximum=maximum)


def bounds_of(facts: Facts, symbol: str) -> dict[str, ir.Attribute]:
    """The ``fuse.min`` and ``fuse.max`` that a kernel declares for a size that it takes."""
    low, high = facts.range(symbol)
    number = ir.IntegerType.get_signless(64)
    found = {} if low == 0 else {"fuse.min": ir.IntegerAttr.get(number, -(2**63) if low is None else low)}
    return found if high is None else {**found, "fuse.max": ir.IntegerAttr.get(number, high)}
