"""``reinplace-updates``: an argument of which a part is written is updated where it lies."""

from dataclasses import field
from typing import ClassVar

from ..compiler.analysis.program.dependences import Dependences
from ..compiler.base.dataclass import dataclass
from ..compiler.base.remarks import Remarks
from ..compiler.index import const, sym
from ..compiler.ir.defining import defining_op, is_true
from ..compiler.ir.kernel import Kernel, is_kernel, kernel_ties, string
from ..compiler.ir.storage import callee_name
from ..compiler.mlir import ir
from .analysis_manager import Analyses, AnalysisManager
from .helpers.program import Program
from .pass_base import AnalysisPass

_COPY = ("fuse.load", "fuse.store", "func.return")  #: what a copy is made of, constants apart


@dataclass(frozen=True)
class ReinplaceUpdates(AnalysisPass):
    """Where an argument is copied, the copy is updated and copied back, the argument itself is updated.

    Before (a cache of keys, into which a token's are written)::

        %c = call @copy(%cache, %e)             // %e is a fresh empty
        %u = call @index_put(%i, %k, %c)        // fuse.ties = array<i64: 2>
        %z = call @mm(%q, %u)
        %b = call @copy_(%u, %cache)            // the end of the functional graph
        return {fuse.mutates = {"1" = 0 : i64}} %z, %b

    After::

        %u = call @index_put(%i, %k, %cache)
        %z = call @mm(%q, %u)
        return {fuse.mutates = {"1" = 0 : i64}} %z, %u

    Eager writes the token's row and nothing else.  Functionalization makes the two copies, each of which
    reads and writes the whole cache.  There may be several updates in a row, each of the result of the one
    before or of a copy of it.

    Does not fire where something reads an old value after the next update, or where the update itself does;
    where the updated copy is also returned as a result of its own; where anything else writes to the
    argument; on copies that change the type or the strides, or cover a part only; nor where one of the calls
    takes a token.

    Remarks: ``passed: updated``, with the number of copies that are gone.
    """

    name: ClassVar[str] = "reinplace-updates"
    preserves: ClassVar[Analyses] = (Program,)

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        program = analyses.get(Program)
        copies = {}
        for call, kernel in program.kernel_calls():
            copied = _copied(kernel)
            if copied is not None:
                copies[call] = copied
        chains = [chain for call in copies if (chain := _Chain.back_from(program, copies, call)) is not None]
        if not chains:
            return
        uses = _Uses.of(Dependences.of(module))
        for chain in chains:
            if not uses.allow(chain):
                continue
            update = chain.stages[0].updates[0]
            remarks.add(
                self.name, "passed", "updated", "an argument is updated where it lies",
                ops=(callee_name(update),), locations=(str(update.location),), copies=len(chain.stages) + 1,
            )  # fmt: skip
            for stage in reversed(chain.stages):
                stage.copy.results[0].replace_all_uses_with(stage.copy.operands[stage.source])
            chain.back.results[0].replace_all_uses_with(chain.back.operands[chain.source])
            program.erase_call(chain.back)
            for stage in chain.stages:
                program.erase_call(stage.copy)
                stage.empty.erase()
        program.erase_unused()


@dataclass(frozen=True)
class _Stage:
    """``copy`` of operand number ``source`` into ``empty``, and the ``updates`` of it in order."""

    copy: ir.Operation
    source: int
    empty: ir.Operation
    updates: tuple[ir.Operation, ...]


@dataclass(frozen=True)
class _Chain:
    """Stages from an argument on, each of which copies what the one before has made, and what copies operand
    number ``source`` ``back``.
    """

    argument: ir.Value
    stages: tuple[_Stage, ...]
    back: ir.Operation
    source: int

    @staticmethod
    def back_from(
        program: Program, copies: dict[ir.Operation, tuple[int, int]], back: ir.Operation
    ) -> "_Chain | None":
        """The chain that ends in ``back``, if that copies into an argument what began as a copy of it."""
        source, into = copies[back]
        argument, value = back.operands[into], back.operands[source]
        stages: list[_Stage] = []
        updates: list[ir.Operation] = []
        while isinstance(argument.owner, ir.Block) and (call := defining_op(value, "func.call")) is not None:
            if call not in copies:
                callee = program.callee(call)
                if not is_kernel(callee):
                    return None
                updates.append(call)
                value = call.operands[kernel_ties(callee)[list(call.results).index(value)]]
                continue
            first, fresh = copies[call]
            empty = defining_op(call.operands[fresh], "fuse.empty")
            if not updates or empty is None:
                return None
            stages.append(_Stage(call, first, empty, tuple(reversed(updates))))
            updates, value = [], call.operands[first]
            if value == argument:
                return _Chain(argument, tuple(reversed(stages)), back, source)
        return None


@dataclass
class _Uses:
    """Where ``@main`` uses each storage, by the number of its root: positions of operations."""

    graph: Dependences
    position: dict[ir.Operation, int] = field(default_factory=dict)
    readers: dict[int, set[int]] = field(default_factory=dict)
    writers: dict[int, set[int]] = field(default_factory=dict)
    fixed: set[int] = field(default_factory=set)  #: handed out, or waited for

    @staticmethod
    def of(graph: Dependences) -> "_Uses":
        uses = _Uses(graph)
        for node in graph.nodes:
            uses.position[node.op] = node.index
            if node.kind in ("fuse.after", "func.return"):
                uses.fixed.update(graph.roots[value] for value in node.operands)
                continue
            for value in node.reads:
                uses.readers.setdefault(graph.roots[value], set()).add(node.index)
            for value in (*node.destinations, *node.mutated):
                uses.writers.setdefault(graph.roots[value], set()).add(node.index)
        return uses

    def allow(self, chain: _Chain) -> bool:
        """Whether nothing would see a value too early, and nobody owns a copy."""
        old = self._root(chain.argument)
        if self.writers[old] != {self.position[chain.back]}:
            return False
        for stage in chain.stages:
            copy, updates = self.position[stage.copy], {self.position[op] for op in stage.updates}
            if max(self.readers[old] - {copy}, default=-1) >= min(updates):
                return False
            old = self._root(stage.copy.results[0])
            if old in self.fixed or self.writers[old] != updates | {copy}:
                return False
        return True

    def _root(self, value: ir.Value) -> int:
        return self.graph.roots[self.graph.numbers[value]]


def _copied(kernel: ir.Operation) -> tuple[int, int] | None:
    """The numbers of the arguments from which and into which a kernel copies every element, of one type; None
    for a kernel that does anything else.
    """
    moving: list[ir.Operation] = []
    for op in kernel.regions[0].blocks[0].operations:
        if op.operation.name != "arith.constant":
            moving.append(op.operation)
            if op.operation.name != _COPY[len(moving) - 1]:
                return None
    load, store, _ = moving
    same = store.operands[0].type == load.operands[0].type and store.attributes["at"] == load.attributes["at"]
    if not same or store.operands[1] != load.results[0] or string(store.attributes["mode"]) != "set":
        return None
    if not (is_true(load.operands[1]) and is_true(store.operands[2])):
        return None
    read = Kernel.of(kernel)
    source, into = read.loads[0], read.stores[0]
    extents = {sym(dim): extent for dim, extent in read.dims.items()}
    for at, size in zip(into.coords, read.spec(into.argument).sizes, strict=True):
        if not at == const(0) == size - 1 and extents.pop(at, None) != size:
            return None
    return None if extents else (source.argument, into.argument)
