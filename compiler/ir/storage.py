"""Which values of ``@main`` share storage: views, ties of kernels, aliases of extern ops."""

from ..mlir import func, ir
from .dialects import fuse
from .kernel import argument_attributes, attribute_items, kernel_ties, string


def functions_of(module: ir.Module) -> dict[str, ir.Operation]:
    """The functions of a module by name."""
    return {
        string(op.attributes["sym_name"]): op.operation
        for op in module.body.operations
        if type(op) is func.FuncOp
    }


def device_of(module: ir.Module) -> str:
    """The device of the tensors whose types name none: ``fuse.device``, by default the CPU."""
    attributes = module.operation.attributes
    return string(attributes["fuse.device"]) if "fuse.device" in attributes else "cpu"


def callee_name(call: ir.Operation) -> str:
    """The symbol that a ``func.call`` names."""
    return ir.FlatSymbolRefAttr(call.attributes["callee"]).value


def operand_number(argument: fuse.Arg) -> int:
    """Which operand of its call an argument of an extern op is."""
    return ir.IntegerAttr(argument.params[0]).value


def aliased_operands(callee: ir.Operation) -> dict[int, int]:
    """Result number -> number of the operand whose storage it shares, for a call of ``callee``."""
    if "fuse.ties" in callee.attributes:
        return dict(enumerate(kernel_ties(callee)))
    if "fuse.aliases" in callee.attributes:
        return {
            int(n): ir.IntegerAttr(a).value for n, a in attribute_items(callee.attributes["fuse.aliases"])
        }
    return {}


#: Torch's views that begin where their operand begins.
_BEGIN_ALIKE = frozenset(
    ("aten.view.dtype", "aten.view_as_real.default", "aten.view_as_complex.default", "aten._conj.default")
    + ("aten._neg_view.default", "aten.alias.default", "aten.detach.default")
)


def _begins_alike(callee: ir.Operation, operand: int) -> bool:
    """Whether what a call of an extern op shares the storage of an operand with begins where that does: a
    view of its bytes, or the operand itself, which the op has written.
    """
    mutated = callee.attributes.get("fuse.mutated", ())
    return string(callee.attributes["fuse.extern"]) in _BEGIN_ALIKE or operand in list(mutated)


def _counted_from(main: ir.Operation) -> set[ir.Value]:
    """The arguments of ``@main`` from the beginning of whose storage an extern op counts."""
    declared = zip(main.regions[0].blocks[0].arguments, argument_attributes(main), strict=True)
    return {argument for argument, named in declared if "fuse.storage" in named}


class Storage:
    """The root of every tensor value of ``@main``: an argument, a ``fuse.empty``/``fuse.alloc``, or a fresh
    result of an extern op.  The origin of a value is its root, unless an extern op lies between: then it
    is that op's result, which shares the root's storage at an offset of its own.
    """

    def __init__(self, main: ir.Operation, module: ir.Module) -> None:
        functions = functions_of(module)
        self._root: dict[ir.Value, ir.Value] = {}
        self._origin: dict[ir.Value, ir.Value] = {}
        self._laid: dict[ir.Value, ir.Value | None] = {}
        written: set[ir.Value] = set()
        for op in main.regions[0].blocks[0].operations:
            op = op.operation
            if op.name == "fuse.view":
                self._root[op.results[0]] = self.root(op.operands[0])
                self._origin[op.results[0]] = self.origin(op.operands[0])
            elif op.name == "func.call":
                callee = functions[callee_name(op)]
                written.update(self.root(op.operands[n]) for n in callee.attributes.get("fuse.mutated", ()))
                for result, operand in aliased_operands(callee).items():
                    self._root[op.results[result]] = self.root(op.operands[operand])
                    if "fuse.ties" in callee.attributes:
                        self._origin[op.results[result]] = self.origin(op.operands[operand])
                    elif _begins_alike(callee, operand):
                        self._laid[op.results[result]] = self.origin(op.operands[operand])
                    else:
                        self._laid[op.results[result]] = None
        self._stays = _counted_from(main) & written if written else set[ir.Value]()

    def root(self, value: ir.Value) -> ir.Value:
        """The value that owns the storage behind ``value``."""
        return self._root.get(value, value)

    def origin(self, value: ir.Value) -> ir.Value:
        """The value whose offset and element type are the base from which ``value``'s own offset counts."""
        return self._origin.get(value, value)

    def begins_anywhere(self, value: ir.Value) -> bool:
        """Whether only torch knows where the origin of ``value`` begins in its storage.  So it is with an
        argument from whose storage torch counts and that torch writes: no copy of it could stand for it.
        """
        origin: ir.Value | None = self.origin(value)
        while origin in self._laid:
            origin = self._laid[origin]
        return origin is None or origin in self._stays
