"""A kernel that returns in more than one place as one block of structured code.

Triton's front end makes branches between blocks of an ``if`` with a ``return`` in it.  What comes after such
an ``if`` runs where it did not return, so it becomes the body of an ``scf.if``.

Before::

    cf.cond_br %outside, ^return, ^rest
    ^return: tt.return
    ^rest: ...; tt.return

After::

    %inside = arith.xori %outside, %true
    scf.if %inside { ... }
    tt.return
"""

from ....fx.user_kernels import Opaque
from ....mlir import arith, ir, scf

_RETURN, _BRANCH, _CHOICE = "tt.return", "cf.br", "cf.cond_br"


def make_one_block(function: ir.Operation) -> ir.Block:
    """Gathers a ``tt.func`` into its first block, which is returned; nothing is left in the others.  Raises
    Opaque where code behind a branch is reached in two ways, before anything is changed.
    """
    blocks = list(function.regions[0].blocks)
    if len(blocks) > 1:
        tree = _Tree(blocks)
        tree.require_one_way()
        tree.gather(blocks[0], blocks[0])
        with function.location, ir.InsertionPoint(blocks[0]):
            ir.Operation.create(_RETURN)
    return blocks[0]


class _Tree:
    """The blocks of a function, of which each leads to others."""

    def __init__(self, blocks: list[ir.Block]) -> None:
        self.blocks = blocks
        self.returns = [next(iter(b.operations)).operation.name == _RETURN for b in blocks]

    def require_one_way(self) -> None:
        """Raises Opaque for a block that does more than return and has several ways to it."""
        reached = {0}
        for block in self.blocks:
            last = list(block.operations)[-1].operation
            if last.name not in (_RETURN, _BRANCH, _CHOICE):
                raise Opaque(f"the op {last.name} is not known")
            for number in self._successors(last):
                if not self.returns[number] and number in reached:
                    raise Opaque("its branches meet again")
                reached.add(number)

    def gather(self, block: ir.Block, into: ir.Block) -> None:
        """Moves what runs from ``block`` on to the end of ``into``."""
        *ops, last = [op.operation for op in block.operations]
        if block is not into:
            for op in ops:
                into.append(op)
        name, operands, location = last.name, list(last.operands), last.location
        ways, counts = self._successors(last), [0, len(operands)]
        if name == _CHOICE:
            counts = list(ir.DenseI32ArrayAttr(last.attributes["operandSegmentSizes"]))
        last.erase()
        given = operands[counts[0] :]
        for number, count in zip(ways, counts[1:], strict=False):
            if not self.returns[number]:
                for argument, value in zip(self.blocks[number].arguments, given[:count], strict=True):
                    argument.replace_all_uses_with(value)
            given = given[count:]
        if name == _BRANCH and not self.returns[ways[0]]:
            self.gather(self.blocks[ways[0]], into)
        elif name == _CHOICE:
            self._choose(operands[0], ways, into, location)

    def _successors(self, op: ir.Operation) -> list[int]:
        return [self.blocks.index(block) for block in op.successors]

    def _choose(self, condition: ir.Value, ways: list[int], into: ir.Block, location: ir.Location) -> None:
        """``scf.if`` at the end of ``into``, without a way that only returns."""
        if self.returns[ways[0]] and self.returns[ways[1]]:
            return
        with location, ir.InsertionPoint(into):
            if self.returns[ways[0]]:
                condition, ways = arith.xori(condition, arith.constant(condition.type, 1)), ways[::-1]
            made = scf.IfOp(condition, [], has_else=not self.returns[ways[1]])
        for number, region in zip(ways, made.regions, strict=True):
            if not self.returns[number]:
                self.gather(self.blocks[number], region.blocks[0])
                with location, ir.InsertionPoint(region.blocks[0]):
                    scf.yield_([])
