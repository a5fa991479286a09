"""``plan-memory``: decides where storage is taken, taken over and given back.

Every ``fuse.empty`` becomes a ``fuse.alloc`` right before the first call that writes it, or a ``fuse.reuse``
of a buffer whose last use has passed, with the same element type, number of elements and device.  A
``fuse.free`` follows the last use of every buffer that is neither reused nor returned.  Between its last use
and its reuse a buffer is held, so it is reused only if the bytes held then stay below the peak of the plan
without reuse; otherwise it is freed.  Results of extern ops are buffers too.  Uses through views, ties and
aliases count as uses; a ``fuse.after`` does not.

Before::

    %a = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %c = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %x = call @k0(%in, %a) : ...
    %y = call @k1(%x, %b) : ...
    %z = call @k2(%y, %c) : ...
    return %z

After::

    %a = "fuse.alloc"() {syms = []} : () -> tensor<64xf32>
    %x = call @k0(%in, %a) : ...
    %b = "fuse.alloc"() {syms = []} : () -> tensor<64xf32>
    %y = call @k1(%x, %b) : ...
    %c = "fuse.reuse"(%x) {syms = []} : (tensor<64xf32>) -> tensor<64xf32>
    %z = call @k2(%y, %c) : ...
    "fuse.free"(%y) : ...
    return %z

Arguments of ``@main``, which the caller owns, are neither reused nor freed, nor is storage that a result
shares.  With ``reuse=false`` nothing is reused.

Raises PassError where memory is planned: ``plan-memory: memory is planned already: found fuse.alloc``.
"""

from collections import defaultdict
from typing import ClassVar

from ...compiler.analysis.program.lifetimes import Lifetime, LiveBytes, storage_bytes
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.ir.dialects import fuse
from ...compiler.ir.layout import TensorSpec
from ...compiler.ir.sizes import hints_of
from ...compiler.ir.storage import Storage
from ...compiler.mlir import func, ir
from ..pass_base import Pass, PassError


@dataclass(frozen=True)
class PlanMemory(Pass):
    """Turns destinations into allocations with lifetimes."""

    name: ClassVar[str] = "plan-memory"
    reuse: bool = True

    def run(self, module: ir.Module, remarks: Remarks) -> None:
        for op in module.body.operations:
            if isinstance(op, func.FuncOp) and ir.StringAttr(op.attributes["sym_name"]).value == "main":
                _Planner(op.operation, module, self.reuse).plan()


@dataclass
class _Buffer:
    """A piece of storage with the positions (in ``@main``) of the first and last op that touches it."""

    root: ir.Value
    first: int
    last: int
    size_class: tuple[str, str, str]  #: elements, element type, device: what two owners of one storage share
    bytes: int
    version: ir.Value  #: the newest value in that storage: what is handed to ``fuse.reuse`` and ``fuse.free``
    outlives: bool = False


class _Planner:
    """Plans one ``@main``: decides on plain positions first, then rewrites once."""

    def __init__(self, main: ir.Operation, module: ir.Module, reuse: bool) -> None:
        self.ops = [op.operation for op in main.regions[0].blocks[0].operations]
        self.arguments = set(main.regions[0].blocks[0].arguments)
        self.storage = Storage(main, module)
        self.reuse = reuse
        self.hints = hints_of(main)
        for op in self.ops:
            if op.name in ("fuse.alloc", "fuse.reuse", "fuse.free"):
                raise PassError(f"plan-memory: memory is planned already: found {op.name}", op.location)

    def plan(self) -> None:
        buffers = self._buffers()
        donors, freed = self._match(buffers)
        for buffer in freed:  # before what is taken for the next operation
            with ir.InsertionPoint(self.ops[buffer.last + 1]), self.ops[buffer.last].location:
                fuse.Free(buffer.version)
        taken: dict[ir.Value, ir.Value] = {}  # fuse.empty result -> its replacement
        for buffer in sorted(buffers, key=lambda b: b.first):
            if buffer.root.owner.name == "fuse.empty":
                donor = donors.get(buffer.root)
                taken[buffer.root] = self._begin(buffer, None if donor is None else taken.get(donor, donor))
        for root in taken:
            root.owner.erase()

    def _buffers(self) -> list[_Buffer]:
        found: dict[ir.Value, _Buffer] = {}
        for position, op in enumerate(self.ops):
            if op.name in ("fuse.empty", "fuse.after"):
                continue
            for value in (*op.operands, *op.results):
                root = self.storage.root(value)
                if root in self.arguments or not isinstance(root.type, ir.RankedTensorType):
                    continue
                if root not in found:
                    spec = TensorSpec.of(root.type)
                    size_class = (str(spec.storage_elements), spec.element, spec.device or "")
                    size = storage_bytes(root, self.hints)
                    found[root] = _Buffer(root, position, position, size_class, size, root)
                found[root].outlives |= op.name == "func.return"
                found[root].last = position
            if op.name == "func.call":
                for value in op.results:
                    if self.storage.root(value) in found:
                        found[self.storage.root(value)].version = value
        return list(found.values())

    def _match(self, buffers: list[_Buffer]) -> tuple[dict[ir.Value, ir.Value], list[_Buffer]]:
        """Who takes over whose storage, and which buffers are freed, both in program order."""
        live = LiveBytes(len(self.ops), [Lifetime(b.first, self._end(b), b.bytes) for b in buffers])
        starting: dict[int, list[_Buffer]] = defaultdict(list)
        dying: dict[int, list[_Buffer]] = defaultdict(list)
        for buffer in buffers:
            starting[buffer.first].append(buffer)
            if not buffer.outlives:
                dying[buffer.last].append(buffer)
        pool: dict[tuple[str, str, str], list[_Buffer]] = defaultdict(list)
        donors: dict[ir.Value, ir.Value] = {}
        freed: dict[ir.Value, _Buffer] = {}
        for position in range(len(self.ops)):
            for buffer in starting[position]:
                waiting = pool[buffer.size_class]
                if not (self.reuse and waiting and buffer.root.owner.name == "fuse.empty"):
                    continue
                donor = waiting[-1]  # the last to die: the shortest time between two owners
                if live.has_room(donor.last + 1, position, buffer.bytes):
                    live.hold(donor.last + 1, position, buffer.bytes)
                    donors[buffer.root] = waiting.pop().version
                    del freed[donor.root]
            for buffer in dying[position]:
                pool[buffer.size_class].append(buffer)
                freed[buffer.root] = buffer
        return donors, list(freed.values())

    def _end(self, buffer: _Buffer) -> int:
        return len(self.ops) - 1 if buffer.outlives else buffer.last

    def _begin(self, buffer: _Buffer, donor: ir.Value | None) -> ir.Value:
        """Allocates (or takes over ``donor``) right before the first use; a view of a donor cannot be taken
        over, only its root.
        """
        empty = buffer.root.owner
        operands, syms, type_ = list(empty.operands), empty.attributes["syms"], buffer.root.type
        with ir.InsertionPoint(self.ops[buffer.first]), empty.location:
            made = (
                fuse.Alloc(operands, syms, type_)
                if donor is None
                else fuse.Reuse(donor, operands, syms, type_)
            )
        buffer.root.replace_all_uses_with(made.result)
        return made.result
