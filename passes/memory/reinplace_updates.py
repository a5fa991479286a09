"""``reinplace-updates``: a tensor of which a part is written is updated where it lies."""

from collections.abc import Sequence
from dataclasses import field
from typing import ClassVar

from ...compiler.analysis.program.dependences import Dependences
from ...compiler.analysis.program.lifetimes import storage_bytes
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.index import const, sym
from ...compiler.ir.defining import defining_op, is_true
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import Kernel, is_kernel, kernel_ties, string
from ...compiler.ir.layout import TensorSpec
from ...compiler.ir.sizes import hints_of
from ...compiler.ir.views import users_of
from ...compiler.mlir import func, ir
from ..analysis_manager import Analyses, AnalysisManager
from ..base.program import Program
from ..pass_base import AnalysisPass, Count, remark_on
from .partial_writes import PartialWrite, copy_in, partial_write, writing_part


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

    So is a tensor of which a kernel keeps all but a slice: a kernel that walks along the slice replaces it.
    ``x[3:5] = k``, before::

        %u = call @slice_scatter(%x, %k, %e)  // fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 2>

    After::

        %u = call @slice_scatter_1(%x, %k)    // fuse.dims = {d0 = "2", d1 = "64"}, fuse.ties = array<i64: 0>

    What a torch op has made, a product for example, is updated as an argument is, if it has to be in memory
    anyway: something but a kernel reads the update.

    Does not fire where something reads an old value after the next update, or where the update itself does;
    where the updated copy of an argument is also returned as a result of its own; where anything else writes
    to the argument; on copies that change the type or the strides, or cover a part only; nor where one of the
    calls takes a token.  Slices stay in kernels of the whole tensor, which can fuse, below ``min_bytes``, and
    where memory, which is written in pieces of 32 bytes, would be written as often as by the whole: every
    second column.

    Remarks: ``passed: updated``, with the number of copies that are gone.
    """

    name: ClassVar[str] = "reinplace-updates"
    preserves: ClassVar[Analyses] = (Program,)
    min_bytes: Count = 1 << 20

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        program = analyses.get(Program)
        found = _Updates.of(program, self.min_bytes)
        if not found.copies and not found.parts:
            return
        chains = [chain for call in found.copies if (chain := found.chain_back_from(call)) is not None]
        local = found.local()
        if not chains and not any(found.begins_at_torch(stage) for stage in local):
            return
        uses = _Uses.of(Dependences.of(module))
        chains = [chain for chain in chains if uses.allow(chain)]
        local = [stage for stage in local if uses.allow_local(stage)]
        for chain in chains:
            self._tell(remarks, chain.stages, "an argument is updated where it lies", len(chain.stages) + 1)
            for stage in reversed(chain.stages):
                _write_over(program, stage)
            chain.back.results[0].replace_all_uses_with(chain.back.operands[chain.source])
            program.erase_call(chain.back)
        for stage in local:
            self._tell(remarks, [stage], "a torch op's result is updated where it lies", 1)
            _write_over(program, stage)
        program.erase_unused()

    def _tell(self, remarks: Remarks, stages: Sequence["_Stage"], message: str, copies: int) -> None:
        remark_on(stages[0].updates[0], remarks, self.name, "passed", "updated", message, copies=copies)


@dataclass(frozen=True)
class _Stage:
    """``call`` copies operand number ``source`` into what ``empty`` makes, and ``updates`` write to that in
    order.  ``part``: where the call is itself the update, as it copies all but a part.
    """

    call: ir.Operation
    source: int
    empty: ir.Operation
    updates: tuple[ir.Operation, ...]
    part: PartialWrite | None


@dataclass(frozen=True)
class _Chain:
    """Stages from an argument on, each of which copies what the one before has made, and what copies operand
    number ``source`` ``back``.
    """

    argument: ir.Value
    stages: tuple[_Stage, ...]
    back: ir.Operation
    source: int


def _write_over(program: Program, stage: _Stage) -> None:
    """Lets the updates of a stage write to what the stage copies."""
    call, old = stage.call, stage.call.operands[stage.source]
    if stage.part is not None:
        kernel = writing_part(program, program.callee(call), stage.part)
        operands = [value for number, value in enumerate(call.operands) if number != stage.part.into]
        old = program.recall(call, kernel, operands, [old.type]).results[0]
    call.results[0].replace_all_uses_with(old)
    program.erase_call(call)
    stage.empty.erase()


@dataclass
class _Updates:
    """The calls of ``@main`` that copy a tensor, and those that copy it but for a part."""

    program: Program
    copies: dict[ir.Operation, tuple[int, int]] = field(default_factory=dict)
    parts: dict[ir.Operation, PartialWrite] = field(default_factory=dict)

    @staticmethod
    def of(program: Program, min_bytes: int) -> "_Updates":
        found, hints = _Updates(program), hints_of(program.main)
        known: dict[ir.Operation, tuple[int, int] | PartialWrite | None] = {}  # of each kernel
        for call, kernel in program.kernel_calls():
            if kernel not in known:
                known[kernel] = _copied(kernel) or _short_part(kernel, call, hints, min_bytes)
            does = known[kernel]
            if isinstance(does, PartialWrite):
                found.parts[call] = does
            elif does is not None:
                found.copies[call] = does
        return found

    def stage(self, call: ir.Operation, updates: Sequence[ir.Operation] = ()) -> _Stage | None:
        """What a call copies, before the updates, into a fresh tensor; None if it does not."""
        part = self.parts.get(call)
        copied = self.copies.get(call) if part is None else (part.old, part.into)
        if copied is None:
            return None
        source, into = copied
        empty = defining_op(call.operands[into], fuse.Empty)
        if empty is None or not (part or updates):
            return None
        return _Stage(call, source, empty, (call, *updates) if part else tuple(updates), part)

    def chain_back_from(self, back: ir.Operation) -> _Chain | None:
        """The chain that ends in ``back``, if that copies into an argument what began as a copy of it."""
        source, into = self.copies[back]
        argument, value = back.operands[into], back.operands[source]
        stages: list[_Stage] = []
        updates: list[ir.Operation] = []
        while isinstance(argument.owner, ir.Block) and (call := defining_op(value, func.CallOp)) is not None:
            if call not in self.copies and call not in self.parts:
                callee = self.program.callee(call)
                if not is_kernel(callee):
                    return None
                updates.append(call)
                value = call.operands[kernel_ties(callee)[list(call.results).index(value)]]
                continue
            stage = self.stage(call, updates[::-1])
            if stage is None:
                return None
            stages.append(stage)
            updates, value = [], call.operands[stage.source]
            if value == argument:
                return _Chain(argument, tuple(reversed(stages)), back, source)
        return None

    def local(self) -> list[_Stage]:
        """The stages whose result something but a kernel reads, so that it is in memory in any case."""
        stages = (self._from(call) for call in self.program.calls())
        return [s for s in stages if s is not None and self._is_read_apart(s.call.results[0])]

    def begins_at_torch(self, stage: _Stage) -> bool:
        """Whether a torch op may have made the storage that a stage copies, or a view of it.  Of several
        stages in turn, the first one's has to be such.
        """
        value = stage.call.operands[stage.source]
        while not isinstance(value.owner, ir.Block):
            op = value.owner.operation
            if op.name != "fuse.view":
                callee = self.program.callee(op) if op.name == "func.call" else None
                if callee is None or not is_kernel(callee):
                    return callee is not None
                value = op.operands[kernel_ties(callee)[list(op.results).index(value)]]
            else:
                value = op.operands[0]
        return False

    def _from(self, call: ir.Operation) -> _Stage | None:
        """The stage that begins with a call."""
        if call in self.parts:
            return self.stage(call)
        if call not in self.copies:
            return None
        made = call.results[0]
        return self.stage(call, [user for user in users_of(made) if self._writes_to(user, made)])

    def _writes_to(self, op: ir.Operation, value: ir.Value) -> bool:
        callee = self.program.callee(op) if op.name == "func.call" else None
        if callee is None or not is_kernel(callee) or op in self.copies:
            return False
        return any(op.operands[tie] == value for tie in kernel_ties(callee))

    def _is_read_apart(self, value: ir.Value) -> bool:
        """Whether something but a kernel reads a value, or what its updates make of it."""
        waiting = [value]  # an overlap-add in a loop is a chain of a thousand updates
        while waiting:
            value = waiting.pop()
            for user in users_of(value):
                if user.name != "func.call" or not is_kernel(self.program.callee(user)):
                    return True
                stage = self._from(user)
                goes_on = stage is not None and user.operands[stage.source] == value
                if goes_on or self._writes_to(user, value):
                    waiting.append(user.results[0])
        return False


@dataclass
class _Uses:
    """Where ``@main`` uses each storage, by the number of its root: positions of operations."""

    graph: Dependences
    position: dict[ir.Operation, int] = field(default_factory=dict)
    readers: dict[int, set[int]] = field(default_factory=dict)
    writers: dict[int, set[int]] = field(default_factory=dict)
    fixed: set[int] = field(default_factory=set)  #: waited for
    returned: set[int] = field(default_factory=set)
    over: dict[int, int] = field(default_factory=dict)  #: the root over which another one is written

    @staticmethod
    def of(graph: Dependences) -> "_Uses":
        uses = _Uses(graph)
        for node in graph.nodes:
            uses.position[node.op] = node.index
            if node.kind in ("fuse.after", "func.return"):
                kept = uses.fixed if node.kind == "fuse.after" else uses.returned
                kept.update(graph.roots[value] for value in node.operands)
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
            call, updates = self.position[stage.call], {self.position[op] for op in stage.updates}
            if max(self.readers[old] - {call}, default=-1) >= min(updates):
                return False
            old = self._root(stage.call.results[0])
            if old in self.fixed | self.returned or self.writers[old] != updates | {call}:
                return False
        return True

    def allow_local(self, stage: _Stage) -> bool:
        """Whether nothing reads or writes what a torch op has made once it is updated.  If so, what comes
        later takes the update to lie there.
        """
        old, new = self._root(stage.call.operands[stage.source]), self._root(stage.call.results[0])
        maker = self.graph.values[old].owner
        if isinstance(maker, ir.Block) or self.graph.nodes[self.position[maker.operation]].kind != "extern":
            return False
        call = self.position[stage.call]
        first = call if stage.part else min(self.writers[new] - {call})
        used = (self.readers.get(old, set()) | self.writers.get(old, set())) - {call}
        if {old, new} & self.fixed or old in self.returned or max(used, default=-1) >= first:
            return False
        self.over[new] = old
        for uses in (self.readers, self.writers):
            uses.setdefault(old, set()).update(uses.get(new, ()))
        self.returned |= {old} if new in self.returned else set()
        return True

    def _root(self, value: ir.Value) -> int:
        root = self.graph.roots[self.graph.numbers[value]]
        while root in self.over:
            root = self.over[root]
        return root


def _short_part(
    kernel: ir.Operation, call: ir.Operation, hints: dict[str, int], min_bytes: int
) -> PartialWrite | None:
    """The part that a kernel writes of a tensor of at least ``min_bytes``; ``call`` is any of its calls."""
    if len(call.results) != 1 or storage_bytes(call.results[0], hints) < min_bytes:
        return None
    part = partial_write(kernel)
    return part if part and part.is_short(TensorSpec.of(call.results[0].type), hints) else None


def _copied(kernel: ir.Operation) -> tuple[int, int] | None:
    """The numbers of the arguments from which and into which a kernel copies every element, of one type; None
    for a kernel that does anything else.
    """
    moving = copy_in(kernel)
    if moving is None:
        return None
    load, store = moving
    same = store.operands[0].type == load.operands[0].type and store.attributes["at"] == load.attributes["at"]
    if not same or string(store.attributes["mode"]) != "set" or not is_true(store.operands[2]):
        return None
    read = Kernel.of(kernel)
    source, into = read.loads[0], read.stores[0]
    extents = {sym(dim): extent for dim, extent in read.dims.items()}
    for at, size in zip(into.coords, read.spec(into.argument).sizes, strict=True):
        if not at == const(0) == size - 1 and extents.pop(at, None) != size:
            return None
    return None if extents else (source.argument, into.argument)
