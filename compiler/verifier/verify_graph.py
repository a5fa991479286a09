"""Rules of graph functions (``@main``, ordered groups): sizes, views, calls, mutation, lifetimes."""

from collections.abc import Callable, Set
from dataclasses import field

from ..base.dataclass import dataclass
from ..index import Expr, parse
from ..index.facts import names_loaded
from ..ir.choices import choices_of
from ..ir.dialects import fuse
from ..ir.layout import TensorSpec
from ..mlir import func as mlir_func
from ..mlir import ir
from .rules import (
    Broken,
    Report,
    argument_symbols,
    expressions_of,
    function_type,
    integer_of,
    integers_of,
    items_of,
    listed,
    text_of,
)
from .verify_extern import result_symbols
from .verify_kernel import KERNEL_OPS, Accesses

#: What a call can run, by the callee's attribute.
CALLEE_KINDS = {
    "fuse.kernel": "kernel",
    "fuse.extern": "extern",
    "fuse.launch": "launch",
    "fuse.control_deps": "ordered group",
    "fuse.graph": "sub-graph",
    "fuse.control_flow": "control flow",
}
_PLANNED_OPS = ("fuse.alloc", "fuse.reuse", "fuse.free")


@dataclass(frozen=True)
class Signature:
    """What calls of a function have to know of it."""

    kind: str  #: one of ``CALLEE_KINDS``
    defines: tuple[tuple[int, str], ...]  #: (result, the size that it is)
    shared: dict[int, int]  #: result -> operand whose storage it shares
    sizes: tuple[tuple[str, int], ...]  #: (size that the types of a kernel or launch name, its argument)


@dataclass
class Callee:
    """What verification found out about a function, true as long as the function does not change.

    kind: one of the values of ``CALLEE_KINDS``, or "graph".  accesses: those of a scalar kernel.
    signature: read when the first call is checked.
    """

    kind: str = "graph"
    accesses: Accesses | None = None
    signature: Signature | None = None


@dataclass
class Callees:
    """The module's functions, and what their verification found out."""

    functions: dict[str, ir.Operation]
    known: dict[str, Callee] = field(default_factory=dict)

    def signature(self, name: str, report: Report) -> Signature:
        """Of the function ``name``."""
        callee = self.known[name]
        if callee.signature is None:
            callee.signature = _signature(name, self.functions[name], report)
        return callee.signature


@dataclass
class _Graph:
    """What is known while the ops of a function are visited in order."""

    report: Report
    callees: Callees
    func: ir.Operation
    symbols: dict[str, ir.Value]  #: size -> its value, for sizes defined so far
    names: dict[ir.Value, str]
    roots: dict[ir.Value, ir.Value] = field(default_factory=dict)
    gone: dict[ir.Value, str] = field(default_factory=dict)  #: root -> why its storage is no longer there
    owned: dict[ir.Value, ir.Operation] = field(
        default_factory=dict
    )  #: root of planned storage -> what took it
    planned: bool = False

    def root(self, value: ir.Value) -> ir.Value:
        """The value whose storage ``value`` lives in."""
        return self.roots.get(value, value)

    def define(self, symbol: str, value: ir.Value) -> None:
        """``value`` is the size ``symbol`` from here on."""
        if symbol in self.symbols:
            raise Broken(f"defines the size '{symbol}' a second time")
        self.symbols[symbol] = value
        self.names[value] = symbol


def verify_graph(func: ir.Operation, callees: Callees, report: Report) -> None:
    """All rules of one graph function."""
    symbols = report.check(func, argument_symbols, func)
    if symbols is None:
        return
    block = func.regions[0].blocks[0]
    named = {symbol: block.arguments[number] for symbol, number in symbols.items()}
    graph = _Graph(report, callees, func, named, {value: symbol for symbol, value in named.items()})
    operations = list(block.operations)
    graph.planned = any(op.name in _PLANNED_OPS for op in operations)
    typed: dict[ir.Type, ir.Operation] = {argument.type: func for argument in block.arguments}  # where first
    for op in operations:
        if op.name in KERNEL_OPS or isinstance(op, (fuse.Base, fuse.BaseOf)):
            report.complain(op, "is only allowed in a kernel (a function with fuse.kernel)")
            continue
        if graph.gone:
            report.check(op, _alive, graph, op)
        rule = _RULES.get(op.name)
        if rule is not None:
            report.check(op, rule, graph, op)
        if isinstance(op, mlir_func.CallOp) or rule is None:
            for result in op.results:
                typed.setdefault(result.type, op)
    for type_, op in typed.items():
        report.check(op, _sizes_defined, graph, type_)
    for root, op in graph.owned.items():
        if root not in graph.gone:
            report.complain(
                op, "takes storage that is neither given back (fuse.free, fuse.reuse) nor returned"
            )


def _sizes_defined(graph: _Graph, type_: ir.Type) -> None:
    """The type of an argument or a result may name a size that a ``fuse.size`` of it defines later."""
    spec = graph.report.spec(type_)
    missing = [] if spec is None else [s for s in spec.symbols if s not in graph.symbols]
    if missing:
        raise Broken(f"the type {type_} needs the size {missing[0]}, which nothing in the function defines")


def _alive(graph: _Graph, op: ir.Operation) -> None:
    if isinstance(op, fuse.After):
        return
    for value in op.operands:
        why = graph.gone.get(graph.root(value))
        if why is not None:
            raise Broken(f"uses storage that {why}")


# --- sizes --------------------------------------------------------------------------------------------------


def _syms(graph: _Graph, op: ir.Operation, operands: list[ir.Value], used: Set[str]) -> None:
    """``syms`` names the index operands one by one, and every symbol that is used is among them."""
    names = graph.report.texts(op.attributes["syms"], "syms")
    if len(names) != len(operands):
        raise Broken(f"expected syms to name {len(operands)} index operands, got {len(names)} names")
    for name, value in zip(names, operands, strict=True):
        if graph.names.get(value) != name:
            found = graph.names.get(value, "another value")
            raise Broken(f"expected the operand for '{name}' to be that size, got {found}")
    missing = used - set(names)
    if missing:
        raise Broken(
            f"needs the size {listed(missing)}, which is not among its operands (syms: {listed(names)})"
        )


def _sym(graph: _Graph, op: ir.Operation) -> None:
    expression = parse(text_of(op.attributes["expr"], "expr"))
    _syms(graph, op, list(op.operands), set(expression.symbols()))
    graph.define(text_of(op.attributes["symbol"], "symbol"), op.results[0])


def _size(graph: _Graph, op: ir.Operation) -> None:
    spec = graph.report.tensor(op.operands[0], "the source")
    dim = integer_of(op.attributes["dim"], "dim")
    symbol = text_of(op.attributes["symbol"], "symbol")
    if not 0 <= dim < spec.rank:
        raise Broken(f"expected dim to be below the rank of {op.operands[0].type}, got {dim}")
    extent = spec.sizes[dim]
    plain = extent.is_constant or extent.symbols() == {str(extent)}
    if plain and str(extent) != symbol:  # that of `s0 + 3` gets its own name, from which a fuse.sym gives s0
        raise Broken(f"expected dim {dim} of {op.operands[0].type} to have the extent {symbol}, got {extent}")
    graph.define(symbol, op.results[0])


# --- storage ------------------------------------------------------------------------------------------------


def _fresh(graph: _Graph, op: ir.Operation) -> None:
    spec = graph.report.tensor(op.results[0], "the result")
    if isinstance(op, fuse.Empty) and graph.planned and len(list(op.results[0].uses)):
        raise Broken("is not allowed beside fuse.alloc: memory is planned for all tensors or for none")
    _syms(graph, op, list(op.operands), set(spec.symbols))
    if isinstance(op, fuse.Alloc):
        graph.owned[op.results[0]] = op


def _reuse(graph: _Graph, op: ir.Operation) -> None:
    old = graph.report.tensor(op.operands[0], "the source")
    new = graph.report.tensor(op.results[0], "the result")
    _syms(graph, op, list(op.operands)[1:], set(new.symbols))
    if (old.device or "") != (new.device or ""):
        raise Broken(f"expected storage on the device '{new.device or ''}', got '{old.device or ''}'")
    short = _bytes(new) - _bytes(old)
    if short.constant is not None and short.constant > 0:
        raise Broken(f"expected storage of at least {_bytes(new)} bytes, got {_bytes(old)}")
    _give_back(graph, op.operands[0], "was taken over by a fuse.reuse")
    graph.owned[op.results[0]] = op


def _bytes(spec: TensorSpec) -> Expr:
    return spec.storage_elements * spec.element_bytes


def _free(graph: _Graph, op: ir.Operation) -> None:
    graph.report.tensor(op.operands[0], "the operand")
    _give_back(graph, op.operands[0], "was given back by a fuse.free")


def _give_back(graph: _Graph, value: ir.Value, why: str) -> None:
    root = graph.root(value)
    if isinstance(root.owner, ir.Block):
        raise Broken("expected storage of the function's own, got that of an argument")
    graph.gone[root] = why


def _view(graph: _Graph, op: ir.Operation) -> None:
    operands, result = list(op.operands), op.results[0]
    source, map_ = operands[0], op.attributes["map"]
    key = (map_, source.type, result.type)
    needed = graph.report.views.get(key)
    if needed is not None:
        _syms(graph, op, operands[1:], needed)
    else:
        coords, needed = _view_map(graph.report, source, result, map_)
        _syms(graph, op, operands[1:], needed)
        _same_address(TensorSpec.of(source.type), TensorSpec.of(result.type), coords)
        graph.report.views[key] = needed
    graph.roots[result] = graph.root(source)


def _view_map(
    report: Report, from_: ir.Value, to: ir.Value, map_: ir.Attribute
) -> tuple[tuple[Expr, ...], frozenset[str]]:
    """The coordinates of a map between two values, and the sizes that it and the view's type name."""
    source, result = report.tensor(from_, "the source"), report.tensor(to, "the result")
    coords = expressions_of(map_, "map")
    if len(coords) != source.rank:
        raise Broken(f"expected {source.rank} coordinates, one a dim of {from_.type}, got {len(coords)}")
    if source.element != result.element or (source.device or "") != (result.device or ""):
        raise Broken(f"expected the element type and device of {from_.type}, got {to.type}")
    dims = {f"v{n}" for n in range(result.rank)}
    used: set[str] = set().union(*(c.symbols() for c in coords))
    wrong = {n for n in used if n[0] == "v" and n[1:].isdigit()} - dims
    if wrong:
        raise Broken(f"expected a map over the dims {listed(dims)} of the result, got {listed(wrong)}")
    return coords, frozenset((used - dims) | set(result.symbols))


def _same_address(source: TensorSpec, result: TensorSpec, coords: tuple[Expr, ...]) -> None:
    """The layout of a view and its map agree: exact for polynomials, tried at corners for static layouts."""
    if any(size.constant == 0 for size in result.sizes):
        return
    point = {f"v{n}": parse(f"v{n}") for n, size in enumerate(result.sizes) if size.constant != 1}
    ones: dict[str, Expr | int] = {f"v{n}": 0 for n, size in enumerate(result.sizes) if size.constant == 1}
    mapped, direct = source.offset, result.offset
    for coordinate, stride in zip(coords, source.strides, strict=True):
        mapped = mapped + coordinate.subs(ones) * stride
    for n, stride in enumerate(result.strides):
        if f"v{n}" in point:
            direct = direct + point[f"v{n}"] * stride
    difference = mapped - direct
    if difference.is_constant and difference.constant == 0:
        return
    if difference.has_divisions:
        if not (source.is_static and result.is_static):
            return
        corners = _corners([int(str(size)) for size in result.sizes])
        named = dict.fromkeys(difference.symbols() - corners[0].keys(), 7)  # any size: the layout names none
        try:
            if all(difference.evaluate({**p, **named}) == 0 for p in corners):
                return
        except ZeroDivisionError:
            raise Broken(f"the map addresses {mapped}, which divides by 0 at a point of the result") from None
    raise Broken(f"the layout addresses element {direct} of the storage where the map addresses {mapped}")


def _corners(sizes: list[int]) -> list[dict[str, int]]:
    """The first point, the last, a middle one, and the last along each dim."""
    zero = {f"v{n}": 0 for n in range(len(sizes))}
    last = {f"v{n}": size - 1 for n, size in enumerate(sizes)}
    middle = {f"v{n}": size // 2 for n, size in enumerate(sizes)}
    return [zero, last, middle, *({**zero, name: value} for name, value in last.items())]


# --- calls --------------------------------------------------------------------------------------------------


def _call(graph: _Graph, op: ir.Operation) -> None:
    name = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
    if name not in graph.callees.functions:
        raise Broken(f"calls @{name}, and the module has no such function")
    callee = graph.callees.signature(name, graph.report)
    try:
        choices_of(op)
    except ValueError as error:
        raise Broken(str(error)) from None
    for number, symbol in callee.defines:
        graph.define(symbol, op.results[number])
    operands = list(op.operands)
    for result, operand in callee.shared.items():
        graph.roots[op.results[result]] = graph.root(operands[operand])
    if callee.kind in ("kernel", "launch"):
        for symbol, number in callee.sizes:
            if graph.names.get(operands[number]) != symbol:
                found = graph.names.get(operands[number], "another value")
                raise Broken(
                    f"expected operand {number} to be the size '{symbol}' of the callee's types, got {found}"
                )
        _destinations(graph, op, operands, name, tuple(callee.shared.values()))


def _signature(name: str, callee: ir.Operation, report: Report) -> Signature:
    kind = next((k for attribute, k in CALLEE_KINDS.items() if attribute in callee.attributes), None)
    if kind is None:
        raise Broken(f"calls @{name}, which is no {', '.join(CALLEE_KINDS.values())}")
    defines = tuple((number, symbol) for number, (symbol, _) in result_symbols(callee).items())
    sizes = _named_sizes(callee, report) if kind in ("kernel", "launch") else ()
    return Signature(kind, defines, _shared_storage(callee, kind), sizes)


def _shared_storage(callee: ir.Operation, kind: str) -> dict[int, int]:
    """Result -> operand whose storage it shares, as far as the callee's attributes make sense."""
    type_ = function_type(callee)
    pairs: dict[int, int] = {}
    if kind == "extern" and "fuse.aliases" in callee.attributes:
        items = items_of(callee.attributes["fuse.aliases"], "fuse.aliases")
        pairs = {int(k): integer_of(a, "fuse.aliases") for k, a in items if k.isdigit()}
    elif kind != "extern" and "fuse.ties" in callee.attributes:
        pairs = dict(enumerate(integers_of(callee.attributes["fuse.ties"], "fuse.ties")))
    results, inputs = len(type_.results), len(type_.inputs)  # each makes a list
    return {r: o for r, o in pairs.items() if r < results and 0 <= o < inputs}


def _named_sizes(callee: ir.Operation, report: Report) -> tuple[tuple[str, int], ...]:
    """A size that the callee's types name is the same size at the call: (size, its argument)."""
    named: set[str] = set()
    for type_ in function_type(callee).inputs:
        spec = report.spec(type_)
        if spec is not None:
            named.update(spec.symbols)
    return tuple(item for item in argument_symbols(callee).items() if item[0] in named) if named else ()


def _destinations(
    graph: _Graph, op: ir.Operation, operands: list[ir.Value], name: str, destinations: tuple[int, ...]
) -> None:
    """No two destinations share storage, and an operand in the storage of one is read only where each point
    writes.
    """
    roots = {number: graph.root(operands[number]) for number in destinations}
    if len(set(roots.values())) != len(roots):
        raise Broken("expected destinations in different storage, got two in the same")
    accesses = graph.callees.known[name].accesses
    if accesses is None:
        return
    for number in sorted(accesses.loads):
        if number in roots:
            continue
        value_root = graph.root(operands[number])
        for destination, root in roots.items():
            if value_root == root and not _same_elements(graph, op, accesses, number, destination):
                raise Broken(
                    f"operand {number} shares the storage of destination {destination}, "
                    "and the kernel may read it at other elements than each point writes"
                )


def _same_elements(graph: _Graph, op: ir.Operation, accesses: Accesses, read: int, written: int) -> bool:
    def elements(number: int, coordinates: list[tuple[Expr, ...]]) -> set[Expr]:
        spec = graph.report.tensor(op.operands[number], "an operand")
        found = set()
        for coords in coordinates:
            address = spec.offset
            for coordinate, stride in zip(coords, spec.strides, strict=True):
                address = address + coordinate * stride
            found.add(address)
        return found

    stored = accesses.stores.get(written, [])
    if any(map(names_loaded, stored)):
        return False
    stores = elements(written, stored)
    return len(stores) == 0 or (len(stores) == 1 and elements(read, accesses.loads[read]) == stores)


def _return(graph: _Graph, op: ir.Operation) -> None:
    for value in op.operands:
        graph.owned.pop(graph.root(value), None)
    if "fuse.mutates" not in op.attributes:
        return
    arguments = graph.func.regions[0].blocks[0].arguments
    seen: set[int] = set()
    for key, attribute in items_of(op.attributes["fuse.mutates"], "fuse.mutates"):
        number = integer_of(attribute, "an argument in fuse.mutates")
        if not key.isdigit() or int(key) >= len(op.operands):
            raise Broken(f"expected fuse.mutates to name one of {len(op.operands)} results, got '{key}'")
        if not 0 <= number < len(arguments):
            raise Broken(f"expected fuse.mutates to name one of {len(arguments)} arguments, got {number}")
        if number in seen:
            raise Broken(f"expected one new value of argument {number}, got a second as result {key}")
        seen.add(number)
        if graph.root(op.operands[int(key)]) != arguments[number]:
            raise Broken(
                f"expected result {key} to be in the storage of argument {number}, whose new value it is"
            )


_RULES: dict[str, Callable[[_Graph, ir.Operation], None]] = {
    "func.call": _call,
    "func.return": _return,
    "fuse.alloc": _fresh,
    "fuse.empty": _fresh,
    "fuse.free": _free,
    "fuse.reuse": _reuse,
    "fuse.size": _size,
    "fuse.sym": _sym,
    "fuse.view": _view,
}
