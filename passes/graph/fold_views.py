"""``fold-views``: kernels address the tensor behind a view."""

from typing import ClassVar

from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.index import Expr, Facts, parse, simplify, solve, sym
from ...compiler.ir.defining import defining_op
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import argument_attributes, kernel_dims, kernel_ties, strings
from ...compiler.ir.layout import TensorSpec
from ...compiler.mlir import ir
from ..analysis_manager import Analyses, AnalysisManager
from ..base.kernels import (
    add_symbols,
    adding_dims,
    forget_tiling,
    keep_dims,
    kernel_body,
    result_types,
    set_signature,
    text_list,
    type_symbols,
)
from ..base.program import Program
from ..pass_base import AnalysisPass, Numerics, PassError


@dataclass(frozen=True)
class FoldViews(AnalysisPass):
    """A kernel argument that is a ``fuse.view`` becomes the view's source.

    Before::

        %v = "fuse.view"(%x) {map = ["v1", "v0"], syms = []} : (tensor<8x64xf32>) -> tensor<64x8xf32, ...>
        %y = call @k(%v, %o) ...                    // loads %v at ["d0", "d1"]

    After::

        %y = call @k(%x, %o) ...                    // loads %x at ["d1", "d0"]

    A chain of views is folded to its root.  A store into a view (of a mutated argument) is folded when the
    view is injective: different elements of it are different elements of its source.  What used the new value
    of the view then uses a view of the new value of the root.  Size symbols that the new coordinates or types
    name become arguments of the kernel.  A kernel with several calls is copied for the call that changes.

    Views without uses are erased, as dependences count a view as a reader of the whole tensor.

    Does not fire on operands of extern ops (torch gets the view's strides), on views that change the element
    type, nor on stores into views that are not injective.

    Raises PassError where attributes do not fit together:
    ``the map of a view has 1 coordinates, its source 2 dims``,
    ``an access has 1 coordinates, its tensor 2 dims``, ``no value of @main is the size symbol 's0'``,
    ``two values of @main are the size symbol 's0'``.
    """

    name: ClassVar[str] = "fold-views"
    numerics: ClassVar[Numerics] = "reassociates"  # a factor with equal rows is multiplied as one row
    preserves: ClassVar[Analyses] = (Program,)

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        program = analyses.get(Program)
        if _views(program):
            symbols, facts = program.symbols(), program.facts()
            for call, kernel in program.kernel_calls():
                if any(_view(operand) is not None for operand in call.operands):
                    _fold(program, call, kernel, symbols, facts)
            for view in reversed(_views(program)):
                if not list(view.results[0].uses):
                    view.erase()
        program.erase_unused()


def _views(program: Program) -> list[ir.Operation]:
    """The views of ``@main``, in order."""
    return [op.operation for op in program.block.operations if isinstance(op, fuse.View)]


def _view(value: ir.Value) -> ir.Operation | None:
    """The view that made ``value``, if it only changes the shape."""
    op = defining_op(value, fuse.View)
    if op is None:
        return None
    same = TensorSpec.of(op.operands[0].type).element == TensorSpec.of(value.type).element
    return op if same else None


def _map(view: ir.Operation) -> tuple[Expr, ...]:
    source = TensorSpec.of(view.operands[0].type)
    found = tuple(parse(t) for t in strings(view.attributes["map"]))
    if len(found) != source.rank:
        raise PassError(
            f"the map of a view has {len(found)} coordinates, its source {source.rank} dims", view.location
        )
    return found


def _is_injective(view: ir.Operation, facts: Facts) -> bool:
    """Whether different elements of the view are different elements of its source."""
    sizes = TensorSpec.of(view.results[0].type).sizes
    mine = {f"v{i}": size for i, size in enumerate(sizes)}
    theirs = {f"x{i}": size for i, size in enumerate(sizes)}
    stored = _map(view)
    read = [e.subs({f"v{i}": sym(f"x{i}") for i in range(len(sizes))}) for e in stored]
    solution = solve(stored, read, mine, theirs, facts)
    if solution is None:
        return False
    return all(
        size.constant == 1 or solution.mapping.get(f"v{i}") == sym(f"x{i}") for i, size in enumerate(sizes)
    )


def _chain(value: ir.Value, written: bool, facts: Facts) -> list[ir.Operation]:
    """The views to fold, from ``value`` towards the root."""
    views = []
    while (view := _view(value)) is not None and (not written or _is_injective(view, facts)):
        views.append(view)
        value = view.operands[0]
    return views


def _fold(
    program: Program, call: ir.Operation, kernel: ir.Operation, symbols: dict[str, ir.Value], known: Facts
) -> None:
    """``known``: what ``@main`` says of its symbols."""
    ties = kernel_ties(kernel)
    facts = known.with_extents(kernel_dims(kernel))
    operands = list(call.operands)
    chains = {i: c for i, v in enumerate(operands) if (c := _chain(v, i in ties, facts))}
    if not chains:
        return
    kernel = program.own(call, kernel)
    forget_tiling(kernel)
    adding = adding_dims(kernel)
    block = kernel.regions[0].blocks[0]
    for op in kernel_body(kernel):
        if op.name in ("fuse.load", "fuse.store"):
            argument = next((i for i in chains if op.operands[0] == block.arguments[i]), None)
            if argument is not None:
                op.attributes["at"] = text_list(
                    _through(chains[argument], strings(op.attributes["at"]), facts, op)
                )
    keep_dims(kernel, adding)
    for i, views in chains.items():
        operands[i] = views[-1].operands[0]
        block.arguments[i].set_type(operands[i].type)
    for op in kernel_body(kernel):
        if isinstance(op, fuse.Store):
            op.results[0].set_type(op.operands[0].type)
    attributes = argument_attributes(kernel)
    added = _missing(kernel, attributes)
    unknown = [name for name in added if name not in symbols]
    if unknown:
        raise PassError(f"no value of @main is the size symbol '{unknown[0]}'", call.location)
    add_symbols(kernel, added, attributes, known)
    operands += [symbols[name] for name in added]
    types = result_types(kernel)
    for k, tie in enumerate(ties):
        types[k] = block.arguments[tie].type
    set_signature(kernel, types, attributes)
    new = program.recall(call, kernel, operands, types)
    for k, (old, result) in enumerate(zip(call.results, new.results, strict=True)):
        value: ir.Value = result
        for view in reversed(chains.get(ties[k], ())):
            value = _again(view, value, call)
        old.replace_all_uses_with(value)
    program.erase_call(call)


def _through(views: list[ir.Operation], at: tuple[str, ...], facts: Facts, op: ir.Operation) -> list[Expr]:
    coords = [parse(t) for t in at]
    for view in views:
        rank = TensorSpec.of(view.results[0].type).rank
        if len(coords) != rank:
            raise PassError(f"an access has {len(coords)} coordinates, its tensor {rank} dims", op.location)
        at_view = {f"v{i}": c for i, c in enumerate(coords)}
        coords = [simplify(m.subs(at_view), facts) for m in _map(view)]
    return coords


def _missing(kernel: ir.Operation, attributes: list[dict[str, ir.Attribute]]) -> list[str]:
    """Size symbols that the kernel names and does not take, sorted."""
    taken = {ir.StringAttr(a["fuse.sym"]).value for a in attributes if "fuse.sym" in a}
    named: set[str] = set()
    for argument in kernel.regions[0].blocks[0].arguments:
        named.update(type_symbols(argument.type))
    dims = ir.DictAttr(kernel.attributes["fuse.dims"])
    local = {dims[i].name for i in range(len(dims))}
    for op in kernel_body(kernel):
        if "at" in op.attributes:
            # Indirect operands are the last operands of an access.
            indirect = {f"i{n}" for n in range(len(op.operands) - 3)}
            for text in strings(op.attributes["at"]):
                named |= parse(text).symbols() - local - indirect
    return sorted(named - taken)


def _again(view: ir.Operation, source: ir.Value, call: ir.Operation) -> ir.Value:
    """The same view of another value, in front of ``call``'s users."""
    copy = view.clone(ir.InsertionPoint(call))
    copy.operands[0] = source
    return copy.results[0]
