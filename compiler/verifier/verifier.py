"""What signatures of single ops cannot say, checked after every pass: each complaint is a located sentence.

The rules are those of docs/architecture.md, by the kind of function: ``verify_graph.py`` (``@main``, ordered
groups), ``verify_kernel.py`` (scalar kernels), ``verify_tiled.py`` (tile code, launches),
``verify_extern.py`` (declarations of extern ops), ``verify_control_flow.py`` (what the host runs around
sub-graphs).  ``verify_attributes.py`` knows the names of attributes.  Modules inside the module, which are
sub-graphs, obey the same rules.  A rule of one op that is broken is one error at that op: what was expected,
what was found.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import field

from ..analysis.program.dependences import check_order
from ..base.dataclass import dataclass
from ..ir.bytecode import bytecode_of
from ..ir.chosen_tiles import tiles_of
from ..ir.contractions import PRECISIONS
from ..ir.dialects import tt
from ..ir.kernel import INSTEAD
from ..ir.nesting import modules_in, nested_modules
from ..ir.storage import functions_of
from ..mlir import func, ir
from .rules import (
    Broken,
    Report,
    expressions_of,
    integers_of,
    items_of,
    one_of,
    text_of,
    texts_of,
)
from .verify_attributes import check_names, verify_attributes
from .verify_control_flow import verify_control_flow, verify_subgraph
from .verify_extern import verify_extern
from .verify_graph import CALLEE_KINDS, Callee, Callees, verify_graph
from .verify_kernel import verify_kernel
from .verify_level import POSTCONDITIONS, check_level
from .verify_tiled import (
    symbol_name,
    users_without_grid,
    verify_configurations,
    verify_launch,
    verify_tiled,
    verify_tt_func,
)


class VerificationError(Exception):
    """The module breaks a rule of the dialect.  Diagnostics were emitted at the ops concerned."""


def verify(module: ir.Module) -> None:
    """Checks the whole module.

    Raises ``VerificationError`` (or MLIR's own error) after emitting located diagnostics.
    """
    Verifier().verify(module)


@dataclass
class Verifier:
    """Checks a module again and again while passes change it, and reads again only what changed.

    What was found right before is not read again: the module, or a function in it, of the same bytecode.  No
    pass has to say what it changed.  ``@main``, and rules about several functions, are checked again wherever
    one of these functions has changed.
    """

    _right: dict[Hashable, Callee] = field(default_factory=dict)  #: functions found right, see ``_identity``
    _code: bytes = b""  #: of the whole module when it was found right
    _report: Report = field(default_factory=Report)
    _inside: dict[str, "Verifier"] = field(default_factory=dict)  #: of the sub-graphs, by name

    def verify(self, module: ir.Module) -> bool:
        """Checks the whole module; whether it is another than the last one that was found right.

        Raises ``VerificationError`` (or MLIR's own error) after emitting located diagnostics.
        """
        code = bytecode_of(module.operation)
        if code == self._code:
            return False
        module.operation.verify()
        self._report.complaints = 0
        with module.context, ir.Location.unknown(module.context):
            self._check(module)
        self._code = code
        if self._report.complaints:
            self._forget()
        _raise_if_broken(self._report)
        return True

    def _check(self, module: ir.Module) -> None:
        """The module and those inside it."""
        self._right = _verify(module, self._right, self._report)
        inside = {}
        for name, nested in modules_in(module).items():
            inside[name] = self._inside.get(name) or Verifier(_report=self._report)
            inside[name]._check(nested)
        self._inside = inside

    def _forget(self) -> None:
        self._code, self._right, self._inside = b"", {}, {}


def verify_level(module: ir.Module, level: str) -> None:
    """Checks, at the end of a pipeline, that the module is of ``level``: graph, scheduled, tiled or planned.

    Raises ``VerificationError`` after emitting located diagnostics, ValueError on an unknown level.
    """
    if level not in POSTCONDITIONS:
        raise ValueError(f"unknown level '{level}': expected one of {', '.join(POSTCONDITIONS)}")
    report = Report()
    with module.context, ir.Location.unknown(module.context):
        for part in (module, *nested_modules(module)):
            check_level(part, level, report)
    _raise_if_broken(report)


def _raise_if_broken(report: Report) -> None:
    if report.complaints:
        rules = "1 rule" if report.complaints == 1 else f"{report.complaints} rules"
        raise VerificationError(f"the module breaks {rules} of the dialect")


def _verify(module: ir.Module, known: Mapping[Hashable, Callee], report: Report) -> dict[Hashable, Callee]:
    """Checks what is not ``known`` to be right; gives every function of the module."""
    report.check(module.operation, _device, module)
    report.check(module.operation, _tiles, module)
    report.check(module.operation, check_names, module.operation.name, module.operation.attributes)
    operations = list(module.body.operations)
    functions = {symbol_name(op): op for op in operations if isinstance(op, func.FuncOp)}
    tt_functions = {symbol_name(op): op for op in operations if isinstance(op, tt.Func)}
    modules = modules_in(module)
    found: dict[Hashable, Callee] = {}
    callees = Callees(functions)
    for op in operations:
        if isinstance(op, tt.Func):
            code = _identity(op)
            if code not in known:
                verify_tt_func(op, report)
            found[code] = Callee()
        elif op.name == "builtin.module":
            found[("sub-graph", *(report.check(op, _named, op) or ()))] = Callee()
        elif not isinstance(op, func.FuncOp):
            report.complain(op, "is not allowed at the top of a module: expected func.func and tt.func")
    for name, op in functions.items():
        code = _identity(op)
        callee = known.get(code)
        if callee is None:
            callee = _function(op, report)
        found[code] = callees.known[name] = callee
    if found.keys() == known.keys():
        return found
    for name, op in functions.items():
        if callees.known[name].kind == "launch":
            verify_launch(op, tt_functions, report)
        elif callees.known[name].kind == "sub-graph":
            verify_subgraph(op, modules, report)
        elif callees.known[name].kind == "control flow":
            verify_control_flow(op, callees, report)
        if "fuse.configs" in op.attributes:
            report.check(op, verify_configurations, op, functions)
        if INSTEAD in op.attributes and callees.known[name].kind == "kernel":
            report.check(op, _instead, op, callees.known)
    for name, op in functions.items():
        if callees.known[name].kind in ("graph", "ordered group") and len(op.regions[0].blocks):
            verify_graph(op, callees, report)
    if not report.complaints and "main" in functions and len(functions["main"].regions[0].blocks):
        violation = check_order(module)
        if violation is not None:
            report.complain(violation.reader, violation.message)
    return found


def _function(op: ir.Operation, report: Report) -> Callee:
    """Checks what a ``func.func`` says by itself."""
    verify_attributes(op, report)
    before = report.complaints
    kind = report.check(op, _kind, op) or "graph"
    if report.complaints != before:
        return Callee("unknown")  # what follows would be consequences
    if kind == "extern":
        verify_extern(op, report)
    elif kind == "kernel" and "fuse.grid" in op.attributes:
        verify_tiled(op, report)
    elif kind == "kernel" and "fuse.user" in op.attributes:
        report.check(op, users_without_grid, op)
    elif kind == "kernel":
        return Callee(kind, verify_kernel(op, report))
    return Callee(kind)


def _identity(op: ir.Operation) -> Hashable:
    """What says that an operation is unchanged: an extern op's attributes, any other's bytecode."""
    attributes = op.attributes
    if "fuse.extern" in attributes and not len(op.regions[0].blocks):
        present = tuple([(name, attributes[name]) for name in _DECLARED if name in attributes])
        if len(present) == len(attributes):
            return present
    return bytecode_of(op)


def _device(module: ir.Module) -> None:
    if "fuse.device" in module.operation.attributes:
        text_of(module.operation.attributes["fuse.device"], "fuse.device")


def _tiles(module: ir.Module) -> None:
    try:
        tiles_of(module)
    except ValueError as error:
        raise Broken(str(error)) from None


def _named(op: ir.Operation) -> tuple[str, ir.Attribute]:
    """The name of a module inside a module, and the type of its ``@main``."""
    if "sym_name" not in op.attributes:
        raise Broken("inside a module is a sub-graph: expected it to have a name")
    name = symbol_name(op)
    main = functions_of(op.opview).get("main")
    if main is None or not len(main.regions[0].blocks):
        raise Broken(f"@{name} is a sub-graph: expected it to have a function @main with a body")
    return name, main.attributes["function_type"]


#: The attributes of declarations of extern ops.
_DECLARED = (
    "sym_name", "sym_visibility", "function_type", "arg_attrs", "res_attrs",
    "fuse.extern", "fuse.args", "fuse.kwargs", "fuse.held", "fuse.mutated", "fuse.aliases",
    "fuse.effect", "fuse.precision", "fuse.ranks", "fuse.cascade",
)  # fmt: skip

#: How attributes of functions are read, whatever the function is.
_READERS: dict[str, Callable[[ir.Attribute, str], object]] = {
    "fuse.aliases": items_of,
    "fuse.dims": items_of,
    "fuse.grid": expressions_of,
    "fuse.held": integers_of,
    "fuse.kwargs": items_of,
    "fuse.mutated": integers_of,
    "fuse.params": texts_of,
    "fuse.precision": lambda attribute, name: one_of(text_of(attribute, name), PRECISIONS, name),
    "fuse.ties": integers_of,
}

#: Attributes that passes look for on kernels alone, and the attributes of functions that may have them.
_OF_KERNELS = {"fuse.user": ("fuse.kernel", "fuse.launch"), INSTEAD: ("fuse.kernel",)}


def _instead(func: ir.Operation, callees: Mapping[str, Callee]) -> None:
    """A kernel is instead of an extern op."""
    name = func.attributes[INSTEAD]
    if not isinstance(name, ir.FlatSymbolRefAttr):
        raise Broken(f"expected {INSTEAD} to be a symbol, got {name}")
    if name.value not in callees or callees[name.value].kind != "extern":
        raise Broken(f"expected {INSTEAD} to name an extern op, got @{name.value}")


def _kind(func: ir.Operation) -> str | None:
    """kernel, extern, launch or ordered group; None for a function that is none of them."""
    for name, read in _READERS.items():
        if name in func.attributes:
            read(func.attributes[name], name)
    kinds = [attribute for attribute in CALLEE_KINDS if attribute in func.attributes]
    if len(kinds) > 1:
        raise Broken(f"expected one of {', '.join(CALLEE_KINDS)}, got {' and '.join(kinds)}")
    for name, allowed in _OF_KERNELS.items():
        if name in func.attributes and not (kinds and kinds[0] in allowed):
            raise Broken(f"expected {name} on a function with {' or '.join(allowed)}")
    if not kinds:
        return None
    kind = CALLEE_KINDS[kinds[0]]
    if kind == "extern" and "fuse.ties" in func.attributes:
        raise Broken("expected fuse.aliases or fuse.mutated, which an extern op has, got fuse.ties")
    if kind in ("kernel", "ordered group", "control flow") and not len(func.regions[0].blocks):
        raise Broken(f"expected a {kind} to have a body, got a declaration")
    return kind
