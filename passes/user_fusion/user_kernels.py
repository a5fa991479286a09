"""A user's Triton kernel whose body other kernels are written into: its arguments, and what becomes dead.
Helpers of the passes that fuse with users' kernels, not a pass.
"""

from collections.abc import Mapping, Sequence

from ...compiler.analysis.user_kernel.op_kinds import COMPUTED, FOLDS, PURE_DIALECTS
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import argument_attributes, bounds_of, named_sizes
from ...compiler.ir.layout import TensorSpec
from ...compiler.mlir import ir
from ..base.kernels import set_signature, type_symbols
from ..base.program import Program


def has_users_kernels(module: ir.Module) -> bool:
    """Whether a function of the module is a user's kernel; asked before anything is analysed."""
    return any("fuse.user" in op.attributes for op in module.body.operations)


class UsersKernel:
    """The kernel of one call, which nothing else calls and which is changed.  ``finish`` makes a call that
    agrees with it.

    kernel: the function.  call: of it, or of what it is a copy of.  operands: of the new call, one for each
    argument.
    """

    def __init__(self, program: Program, call: ir.Operation, kernel: ir.Operation) -> None:
        self.program, self.call, self.kernel = program, call, kernel
        self.block = kernel.regions[0].blocks[0]
        self.operands: list[ir.Value] = list(call.operands)
        self._attributes, self._before = argument_attributes(kernel), len(self.operands)
        self._given: dict[ir.Value, int] = {}
        for number, value in enumerate(self.operands):
            self._given.setdefault(value, number)
        self._symbols: Mapping[str, ir.Value] | None = None

    # --- arguments ------------------------------------------------------------------------------------------
    def argument(self, value: ir.Value, attributes: dict[str, ir.Attribute] | None = None) -> ir.Value:
        """The argument that ``value`` of ``@main`` is passed as; a new one where there is none, with
        ``attributes``.  Where these are not given, the sizes of a tensor become arguments, too.
        """
        if value not in self._given:
            if attributes is None and isinstance(value.type, ir.RankedTensorType):
                for name in TensorSpec.of(value.type).symbols:
                    self.size(name)
            self._add(value, attributes or {})
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
    def finish(
        self,
        replaced: Sequence[ir.Value],
        name: str = "",
        locations: Sequence[ir.Location] = (),
        readers: Sequence[ir.Operation] = (),
    ) -> ir.Operation:
        """Removes what is dead, and the arguments that nothing uses any more, but for tokens, for sizes that
        a tensor's type names, and for sizes and numbers that the kernel took before.  Returns the new call;
        the old one is erased, and the calls ``readers`` of what it made before it.

        replaced: the values that the results of the new call replace.  Where there is a ``name``, the kernel
        gets it, and the kernel and the call say the ``locations``.
        """
        remove_dead(self.program, self.kernel)
        kept = [a.type for a in self.block.arguments if not _is_unused(a)]
        named = {name for type_ in kept for name in type_symbols(type_)}
        for n, argument in reversed(list(enumerate(self.block.arguments))):
            may_go = n >= self._before or isinstance(argument.type, ir.RankedTensorType)
            size = self._attributes[n].get("fuse.sym")
            if size is not None and ir.StringAttr(size).value in named:
                continue
            if may_go and _is_unused(argument) and not isinstance(argument.type, fuse.Token):
                self.block.erase_argument(n)
                del self._attributes[n], self.operands[n]
        self._move_tokens()
        ties = [ir.BlockArgument(value).arg_number for value in self._returned]
        self.kernel.attributes["fuse.ties"] = ir.DenseI64ArrayAttr.get(ties)
        self._sign()
        new = self.program.recall(
            self.call, self.kernel, self.operands, [value.type for value in self._returned]
        )
        for old, result in zip(replaced, new.results, strict=True):
            old.replace_all_uses_with(result)
        for call in (*readers, self.call):
            self.program.erase_call(call)
        if name:
            new.location = self.kernel.location = ir.Location.fused(list(locations))
            self.program.rename(self.kernel, new, self.program.unique_name(name))
        return new

    def _move_tokens(self) -> None:
        """Puts tokens behind all other arguments."""
        for n, argument in reversed(list(enumerate(self.block.arguments))):
            if isinstance(argument.type, fuse.Token):
                self.block.add_argument(argument.type, self.kernel.location)
                self.block.erase_argument(n)
                self.operands.append(self.operands.pop(n))
                self._attributes.append(self._attributes.pop(n))

    @property
    def _returned(self) -> list[ir.Value]:
        """What the kernel returns: the arguments that it writes to."""
        return list(self.block.operations[len(self.block.operations) - 1].operands)

    def _sign(self) -> None:
        """Makes the signature agree with the arguments and with what is returned."""
        tile = self.kernel.attributes["fuse.tile"]
        set_signature(self.kernel, [value.type for value in self._returned], self._attributes)
        self.kernel.attributes["fuse.tile"] = tile  # it says how the kernel is launched, and names no dims


def base_of(argument: ir.Value, type_: ir.Type) -> ir.Value:
    """The address, of type ``type_``, of a tensor argument, made at MLIR's insertion point."""
    there = [u.owner.operation for u in argument.uses if isinstance(u.owner, fuse.Base)]
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
