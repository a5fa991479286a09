"""Rules of the lower levels: tiled kernels (with ``fuse.grid``), launches (``fuse.launch``), ``tt.func``s."""

from collections.abc import Mapping

from ..analysis.cost.traffic import ATTRIBUTE as TRAFFIC
from ..analysis.cost.traffic import Traffic
from ..index import parse
from ..ir.dialects import fuse, tt
from ..ir.dialects.tt import Ptr
from ..ir.tile import Tile
from ..mlir import func as mlir_func
from ..mlir import ir
from .rules import (
    Broken,
    Report,
    argument_symbols,
    check_arguments,
    check_tied,
    expressions_of,
    function_type,
    integers_of,
    items_of,
    listed,
    text_of,
    texts_of,
)

#: What tile code is made of.
TILE_DIALECTS = ("tt", "arith", "math", "scf")
#: Ops of other dialects that a user's kernel may hold: what waits for all lanes of a program, and what
#: promises something (``tl.assume``).
TILE_OPS = ("gpu.barrier", "llvm.intr.assume")
#: Element types whose pointers Triton spells otherwise.
_POINTEES = {"ui8": ("i8",), "ui16": ("i16",), "ui32": ("i32",), "ui64": ("i64",), "i1": ("i1", "i8")}
_MAX_GRID_AXES = 3


def is_tile_code(name: str) -> bool:
    """Whether tile code may hold an op of this name, the ``fuse`` ops apart that give it addresses."""
    return name.partition(".")[0] in TILE_DIALECTS or name in TILE_OPS


def verify_tiled(func: ir.Operation, report: Report) -> None:
    """All rules of one tiled kernel; the ``tt`` ops check themselves."""
    symbols = report.check(func, argument_symbols, func)
    ties = report.check(func, check_tied, func, report)
    if symbols is None or ties is None:
        return
    report.check(func, check_arguments, func, symbols, report)
    report.check(func, _grid, func, symbols)
    report.check(func, _dims, func)
    report.check(func, _apart, func)
    for name in ("fuse.part", "fuse.user"):
        if name in func.attributes:
            report.check(func, text_of, func.attributes[name], name)
    if "fuse.tile" in func.attributes:
        report.check(func, Tile.of, func.attributes["fuse.tile"])
    report.check(func, _traffic, func)
    block = func.regions[0].blocks[0]
    numbers = {argument: n for n, argument in enumerate(block.arguments)}
    for op in block.operations:
        if isinstance(op, mlir_func.ReturnOp):
            report.check(op, _returned, numbers, ties, op)
        elif isinstance(op, fuse.Base):
            report.check(op, _base, numbers, op, report)
        else:
            report.check(op, _tile_code, op, report)


def verify_configurations(func: ir.Operation, functions: Mapping[str, ir.Operation]) -> None:
    """The further configurations of a user's kernel are kernels too, with its arguments and results."""
    if "fuse.user" not in func.attributes or "fuse.tuned_by" not in func.attributes:
        raise Broken("expected fuse.configs beside fuse.user and fuse.tuned_by")
    names = ir.ArrayAttr(func.attributes["fuse.configs"])
    if not len(names) or not all(isinstance(name, ir.FlatSymbolRefAttr) for name in names):
        raise Broken(f"expected fuse.configs to be symbols, got {names}")
    kind = "fuse.launch" if "fuse.launch" in func.attributes else "fuse.kernel"
    for name in (ir.FlatSymbolRefAttr(a).value for a in names):
        other = functions.get(name)
        if other is None or kind not in other.attributes or "fuse.user" not in other.attributes:
            raise Broken(f"has the configuration @{name}, which is no {kind[5:]} of a user's")
        if "fuse.configs" in other.attributes:
            raise Broken(f"has the configuration @{name}, which has configurations itself")
        for same in ("function_type", "fuse.ties", "arg_attrs"):
            mine, its = (str(f.attributes.get(same)) for f in (func, other))
            if mine != its:
                raise Broken(f"has the configuration @{name}, whose {same} is {its}: expected {mine}")
    unknown = (
        set().union(*(e.symbols() for e in expressions_of(func.attributes["fuse.tuned_by"], "fuse.tuned_by")))
        - argument_symbols(func).keys()
    )
    if unknown:
        raise Broken(f"fuse.tuned_by needs the size {listed(unknown)}, which is no argument")


def _apart(func: ir.Operation) -> None:
    """``fuse.apart`` is on tensors of users' kernels."""
    if "arg_attrs" not in func.attributes:
        return
    inputs = function_type(func).inputs
    for number, attributes in enumerate(ir.ArrayAttr(func.attributes["arg_attrs"])):
        if "fuse.apart" not in attributes:
            continue
        if "fuse.user" not in func.attributes or not isinstance(inputs[number], ir.RankedTensorType):
            raise Broken(
                f"expected fuse.apart on a tensor of a user's kernel (fuse.user), got it on argument {number}"
            )


def users_without_grid(func: ir.Operation) -> None:
    """A user's kernel is tile code from the start."""
    raise Broken("expected a user's kernel (fuse.user) to be tile code with fuse.grid, got a scalar kernel")


def _grid(func: ir.Operation, symbols: dict[str, int]) -> None:
    grid = expressions_of(func.attributes["fuse.grid"], "fuse.grid")
    if not 1 <= len(grid) <= _MAX_GRID_AXES:
        raise Broken(f"expected a fuse.grid of 1 to {_MAX_GRID_AXES} extents, got {len(grid)}")
    for extent in grid:
        if (extent.constant or 0) < 0:
            raise Broken(f"expected the extents of fuse.grid to be at least 0, got {extent}")
        unknown = extent.symbols() - symbols.keys()
        if unknown:
            raise Broken(
                f"the extent '{extent}' of fuse.grid needs the size {listed(unknown)}, which is no argument"
            )


def _traffic(func: ir.Operation) -> None:
    """``fuse.traffic`` has all its parts."""
    if TRAFFIC in func.attributes:
        named = dict(items_of(func.attributes[TRAFFIC], TRAFFIC))
        for part in ("reads", "writes"):
            if part in named:
                integers_of(named[part], f"the {part} of {TRAFFIC}")
        Traffic.of_attribute(func.attributes[TRAFFIC])


def _dims(func: ir.Operation) -> None:
    """Extents that were there before tiling are still expressions."""
    if "fuse.dims" in func.attributes:
        for name, extent in items_of(func.attributes["fuse.dims"], "fuse.dims"):
            parse(text_of(extent, f"the extent of {name}"))


def _returned(numbers: dict[ir.Value, int], ties: tuple[int, ...], op: ir.Operation) -> None:
    returned = [numbers.get(value) for value in op.operands]
    if returned != list(ties):
        raise Broken(f"expected a tiled kernel to return its tied arguments {list(ties)}")


def _base(numbers: dict[ir.Value, int], op: ir.Operation, report: Report) -> None:
    source, result = op.operands[0], op.results[0].type
    spec = report.tensor(source, "the source")
    if source not in numbers:
        raise Broken("expected the source to be an argument of the kernel, got another value")
    _pointer_to(spec.element, result)


def _base_of(op: ir.Operation, report: Report) -> None:
    sources = list(op.operands)[1:]
    if not sources:
        raise Broken("expected at least one source")
    for source in sources:
        if not isinstance(source.owner, ir.Block) or not isinstance(source.type, ir.RankedTensorType):
            raise Broken("expected the sources to be tensor arguments of the kernel, got another value")
    _pointer_to(report.tensor(sources[0], "the first source").element, op.results[0].type)


def _pointer_to(element: str, result: ir.Type) -> None:
    pointee = str(ir.TypeAttr(result.params[0]).value) if isinstance(result, Ptr) else None
    expected = _POINTEES.get(element, (element,))
    if pointee not in expected:
        raise Broken(f"expected a result of type !tt.ptr<{expected[0]}>, got {result}")


def _tile_code(op: ir.Operation, report: Report) -> None:
    """The op and everything inside it is tile code."""
    if isinstance(op, fuse.BaseOf):
        report.check(op, _base_of, op, report)
        return
    if not is_tile_code(op.name):
        raise Broken("is not allowed in a tiled kernel: expected tt, arith, math and scf ops and fuse.base")
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                report.check(inner, _tile_code, inner, report)


def verify_tt_func(func: ir.Operation, report: Report) -> None:
    """A ``tt.func`` holds tile code only, and its type is that of its arguments."""
    for block in func.regions[0].blocks:
        for op in block.operations:
            report.check(op, _tile_code, op, report)
    report.check(func, _entry, func)


def _entry(func: ir.Operation) -> None:
    blocks = list(func.regions[0].blocks)
    if not blocks:
        raise Broken("expected a body")
    declared, actual = list(function_type(func).inputs), [a.type for a in blocks[0].arguments]
    if declared != actual:
        raise Broken(f"expected the arguments {_types(declared)} of function_type, got {_types(actual)}")
    operations = list(blocks[0].operations)
    if not operations or not isinstance(operations[-1], tt.Return):
        raise Broken("expected the body to end in tt.return")


def _types(types: list[ir.Type]) -> str:
    return "(" + ", ".join(map(str, types)) + ")"


def verify_launch(func: ir.Operation, tt_functions: dict[str, ir.Operation], report: Report) -> None:
    """A launch names a ``tt.func`` and says what each of its arguments is."""
    symbols = report.check(func, argument_symbols, func)
    if symbols is None or report.check(func, check_tied, func, report) is None:
        return
    report.check(func, check_arguments, func, symbols, report)
    report.check(func, _launch, func, tt_functions, symbols)


def _launch(func: ir.Operation, tt_functions: dict[str, ir.Operation], symbols: dict[str, int]) -> None:
    if len(func.regions[0].blocks):
        raise Broken("expected a launch to be a declaration, got a body")
    target = func.attributes["fuse.launch"]
    if not isinstance(target, ir.FlatSymbolRefAttr):
        raise Broken(f"expected fuse.launch to be a symbol, got {target}")
    if target.value not in tt_functions:
        raise Broken(f"launches @{target.value}, and the module has no such tt.func")
    for required in ("fuse.grid", "fuse.params"):
        if required not in func.attributes:
            raise Broken(f"expected a launch to have {required}")
    if "fuse.part" in func.attributes:
        text_of(func.attributes["fuse.part"], "fuse.part")
    _grid(func, symbols)
    _traffic(func)
    inputs = function_type(func).inputs
    parameters = function_type(tt_functions[target.value]).inputs
    given = texts_of(func.attributes["fuse.params"], "fuse.params")
    if len(given) != len(parameters):
        raise Broken(
            f"expected {len(parameters)} fuse.params, one an argument of @{target.value}, got {len(given)}"
        )
    for text, parameter in zip(given, parameters, strict=True):
        number, _, kind = text.partition(":")
        if not number.isdigit() or int(number) >= len(inputs):
            raise Broken(f"expected a parameter `N:kind` with N below {len(inputs)}, got '{text}'")
        found = "ptr" if isinstance(parameter, Ptr) else str(parameter)
        if kind != found:
            raise Broken(
                f"expected the parameter '{number}:{found}' for an argument of type {parameter}, got '{text}'"
            )


def symbol_name(op: ir.Operation) -> str:
    """``sym_name``."""
    return text_of(op.attributes["sym_name"], "sym_name")
