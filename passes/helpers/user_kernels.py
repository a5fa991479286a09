"""A user's Triton kernel whose body other kernels are written into: its arguments, and what becomes dead.
Helpers of the passes that fuse with users' kernels, not a pass.
"""

from collections.abc import Mapping, Sequence

from ...compiler.analysis.user_kernel.op_kinds import COMPUTED, FOLDS, PURE_DIALECTS
from ...compiler.ir.kernel import argument_attributes, bounds_of, kernel_ties, named_sizes, string
from ...compiler.ir.layout import TensorSpec
from ...compiler.mlir import ir
from .kernels import result_types, set_signature
from .names import listed
from .program import Program


def has_users_kernels(module: ir.Module) -> bool:
    """Whether a function of the module is a user's kernel; asked before anything is analysed."""
    return any("fuse.user" in op.attributes for op in module.body.operations)


class UsersKernel:
    """The kernel of one call, which nothing else calls.  ``finish`` makes the call agree with it.

    kernel: the function.  operands: of the call, one for each argument.
    """

    def __init__(self, program: Program, call: ir.Operation) -> None:
        self.program, self.call = program, call
        self.kernel = program.own(call, program.callee(call))
        self.block = self.kernel.regions[0].blocks[0]
        self.operands: list[ir.Value] = list(call.operands)
        self._attributes, self._before = argument_attributes(self.kernel), len(self.operands)
        self._given: dict[ir.Value, int] = {}
        for number, value in enumerate(self.operands):
            self._given.setdefault(value, number)
        self._symbols: Mapping[str, ir.Value] | None = None

    # --- arguments ------------------------------------------------------------------------------------------
    def argument(self, value: ir.Value) -> ir.Value:
        """The argument that ``value`` of ``@main`` is passed as; a new one where there is none."""
        if value not in self._given:
            if isinstance(value.type, ir.RankedTensorType):
                for name in TensorSpec.of(value.type).symbols:
                    self.size(name)
            self._add(value, {})
        return self.block.arguments[self._given[value]]

    def size(self, name: str) -> ir.Value:
        """The argument that is the size symbol ``name``; a new one where there is none."""
        for number, attributes in enumerate(self._attributes):
            if "fuse.sym" in attributes and ir.StringAttr(attributes["fuse.sym"]).value == name:
                return self.block.arguments[number]
        if self._symbols is None:
            self._symbols = self.program.symbols()
        bounds = bounds_of(self.program.facts(), name)
        self._add(self._symbols[name], {"fuse.sym": ir.StringAttr.get(name), **bounds})
        return self.block.arguments[len(self.operands) - 1]

    def sizes(self) -> dict[str, ir.Value]:
        """The size arguments by name."""
        self._sign()
        return {name: self.block.arguments[n] for name, n in named_sizes(self.kernel).items()}

    def base(self, value: ir.Value, type_: ir.Type) -> ir.Value:
        """The address, of type ``type_``, of the tensor that is ``value`` in the call."""
        argument = self.argument(value)
        with ir.InsertionPoint.at_block_begin(self.block), self.kernel.location:
            return base_of(argument, type_)

    def _add(self, value: ir.Value, attributes: dict[str, ir.Attribute]) -> None:
        self.block.add_argument(value.type, self.kernel.location)
        self._given[value] = len(self.operands)
        self.operands.append(value)
        self._attributes.append(attributes)

    # --- the end --------------------------------------------------------------------------------------------
    def finish(self, names: Sequence[str], locations: Sequence[ir.Location]) -> ir.Operation:
        """Removes what is dead, and the tensor arguments that are not accessed any more.  Returns the new
        call.  Where there are ``names``, the kernel is named after them and itself, and both say the
        locations, too.
        """
        remove_dead(self.program, self.kernel)
        ties = kernel_ties(self.kernel)
        dropped = [
            n
            for n, argument in enumerate(self.block.arguments)
            if n not in ties and _is_unused(argument)
            if n >= self._before or isinstance(argument.type, ir.RankedTensorType)
        ]
        for n in reversed(dropped):
            self.block.erase_argument(n)
            del self._attributes[n], self.operands[n]
        moved = [tie - sum(n < tie for n in dropped) for tie in ties]
        self.kernel.attributes["fuse.ties"] = ir.DenseI64ArrayAttr.get(moved)
        types = self._sign()
        call, program = self.call, self.program
        if names:
            own = string(self.kernel.attributes["sym_name"])
            call.location = self.kernel.location = ir.Location.fused([*locations, call.location])
            program.rename(self.kernel, call, program.unique_name(f"fused{listed([*names, own])}"))
        new = program.recall(call, self.kernel, self.operands, types)
        for old, result in zip(call.results, new.results, strict=True):
            old.replace_all_uses_with(result)
        program.erase_call(call)
        return new

    def _sign(self) -> list[ir.Type]:
        """Makes the signature agree with the arguments; returns the types of the results."""
        tile, types = self.kernel.attributes["fuse.tile"], result_types(self.kernel)
        set_signature(self.kernel, types, self._attributes)
        self.kernel.attributes["fuse.tile"] = tile  # it says how the kernel is launched, and names no dims
        return types


def base_of(argument: ir.Value, type_: ir.Type) -> ir.Value:
    """The address, of type ``type_``, of a tensor argument, made at MLIR's insertion point."""
    there = [u.owner.operation for u in argument.uses if u.owner.operation.name == "fuse.base"]
    taken = there[0].results[0].type if there else type_
    base = ir.Operation.create("fuse.base", [taken], [argument]).results[0]
    if taken != type_:  # the user's kernel takes the address of elements of another type
        base = ir.Operation.create("tt.bitcast", [type_], [base]).results[0]
    return base


def remove_dead(program: Program, kernel: ir.Operation) -> None:
    """Erases the ops of tile code that compute what nobody uses, addresses that a loop moves among them."""
    block = kernel.regions[0].blocks[0]
    _erase_unused(block)
    while _settle_loops(kernel):
        program.clean(kernel)
        _erase_unused(block)


def _erase_unused(block: ir.Block) -> None:
    for op in reversed([o.operation for o in block.operations]):
        if len(op.results) and all(map(_is_unused, op.results)) and _only_computes(op):
            op.erase()
            continue
        for region in op.regions:
            for inner in region.blocks:
                _erase_unused(inner)


def _settle_loops(kernel: ir.Operation) -> bool:
    """Makes loops carry unchanged what nothing needs; upstream's patterns then remove it from the loop.
    Returns whether there was any.
    """
    loops: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "scf.for":
            loops.append(op.operation)
        return ir.WalkResult.ADVANCE

    kernel.walk(visit)
    found = False
    for loop in loops:
        body = loop.regions[0].blocks[0]
        end = list(body.operations)[-1].operation
        for n, result in enumerate(loop.results):
            carried = body.arguments[n + 1]
            if end.operands[n] != carried and _is_unused(result) and _only_moves(carried, end):
                end.operands[n] = carried
                found = True
    return found


def _only_computes(op: ir.Operation) -> bool:
    volatile = op.name == "tt.load" and "isVolatile" in op.attributes
    if volatile and ir.BoolAttr(op.attributes["isVolatile"]).value:
        return False
    return (
        op.name in COMPUTED - {"llvm.intr.assume", "gpu.barrier"}
        or op.name == "tt.load"
        or op.name.partition(".")[0] in PURE_DIALECTS
        or op.name.startswith(FOLDS)
    )


def _is_unused(value: ir.Value) -> bool:
    return next(iter(value.uses), None) is None


def _only_moves(carried: ir.Value, end: ir.Operation) -> bool:
    """Whether what a loop carries serves nothing but to make its own next value, an operand of ``end``."""
    number = ir.BlockArgument(carried).arg_number - 1
    seen: set[ir.Operation] = set()
    waiting = [carried]
    while waiting:
        for use in waiting.pop().uses:
            op = use.owner.operation
            if op == end:
                if use.operand_number != number:
                    return False
            elif not _only_computes(op) or len(op.regions):
                return False
            elif op not in seen:
                seen.add(op)
                waiting.extend(op.results)
    return True
