"""Which tensors can be computed where users' Triton kernels load them, and what that saves.  Changes no IR.

Data flow: a scalar kernel (the producer) stores a tensor.  A user's kernel loads it, itself or through views.
Each load says which element of the tensor each lane of its tile is (``user_kernel/coordinates.py``).  The
views and the producer's store say at which point of the producer that element was computed.  What the element
is made of is computed there once more, in place of the load.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from ...base.dataclass import dataclass
from ...cost.hardware import Hardware
from ...cost.slots import LOAD, slots
from ...index import Expr, const, parse, simplify, solve
from ...ir.dialects.tt_types import element_of
from ...ir.kernel import Kernel, strings, takes_others
from ...ir.layout import TensorSpec
from ...ir.sizes import UNKNOWN
from ...mlir import ir
from ..fusion.graph import GroupGraph
from ..fusion.score import Gain
from ..kernel.accesses import Summary
from ..program.dependences import Node
from ..user_kernel.coordinates import Coordinates, coordinates_of, is_computable
from ..user_kernel.maps import PointerAccess
from .epilogue_estimate import spread
from .user_writer import UserWriter

#: The name of each rule, and what it refuses.  ``test/lit/passes/user-prologue-rules`` shows each.
PROLOGUE_RULES: Mapping[str, str] = {
    "template": "the template of the op takes no prologue for the tensor",
    "written": "the user's kernel also writes to the tensor",
    "unknown-memory": "what the user's kernel does to the tensor is not known",
    "descriptor": "the user's kernel loads the tensor through a descriptor",
    "unknown-map": "it is not known which element of the tensor each lane of a load is",
    "reduction": "an element is made of several points of the producer, or of random numbers",
    "other-points": "what the producer stores for the loaded element is not known",
    "assert": "the producer asserts, so it has to run",
    "destination": "the producer writes into memory that holds something, so it has to run",
    "device": "the tensor is made of one on another device",
    "overwritten": "what the tensor is made of is overwritten before the user's kernel ends",
    "no-form": "an op of the producer has no form on tiles",
    "slower": "computing the tensor at each load takes longer than storing it once and loading it",
}


@dataclass(frozen=True)
class PrologueLoad:
    """A load of a user's kernel.  ``point``: for each dim of the producer where its point is, over the places
    of ``at`` and sizes.  ``lanes``: how many elements all programs load by it, masked ones included.
    """

    op: ir.Operation
    at: Coordinates
    point: Mapping[str, Expr]
    lanes: int


@dataclass(frozen=True)
class PrologueRefusal:
    """The name of a rule of ``PROLOGUE_RULES``, and the numbers that it compared."""

    rule: str
    numbers: Mapping[str, float] = field(default_factory=dict)

    @property
    def message(self) -> str:
        return PROLOGUE_RULES[self.rule]


@dataclass(frozen=True)
class PrologueReader:
    """A user's kernel that loads the tensor as its operand ``operand``, by these loads."""

    node: Node
    operand: int
    loads: tuple[PrologueLoad, ...]


@dataclass(frozen=True, eq=False)
class Prologue:
    """A tensor that users' kernels load.

    kernel, producer: the scalar kernel and its call.  store, result: which of its tensors it is.  body: the
    ops that compute an element, in order.  readers: the kernels that can compute it.  stored: whether
    something else needs it in memory.  refused: the readers that cannot, and why.
    """

    graph: GroupGraph
    kernel: Kernel
    producer: Node
    store: ir.Operation
    result: int
    body: tuple[ir.Operation, ...]
    readers: tuple[PrologueReader, ...]
    stored: bool
    refused: tuple[tuple[Node, PrologueRefusal], ...]

    @property
    def loaded(self) -> frozenset[int]:
        """The arguments of the producer that an element is made of."""
        return frozenset(a.argument for a in self.kernel.loads if a.op in self.body)

    @property
    def inputs(self) -> tuple[int, ...]:
        """The tensors that an element is made of, as values of ``@main``."""
        return tuple(dict.fromkeys(self.producer.operands[n] for n in sorted(self.loaded)))

    def gain(self) -> Gain:
        """What computing the tensor in all ``readers`` saves.

        Saved are the reads of the tensor; its store, unless something else needs it; the launch of the
        producer and what it reads, where nothing is left of it.  Paid are the reads of the inputs, and the
        operations for each element that is loaded, as often as it is.
        """
        graph, summary = self.graph, self.graph.summaries[self.producer.index]
        size = graph.bytes_of(self.producer.results[self.result])
        users = graph.deps.users
        gone = not self.stored and all(
            not users[value] for n, value in enumerate(self.producer.results) if n != self.result
        )
        saved = size * (not self.stored)
        if gone:
            saved += sum(graph.bytes_of(v) for v in dict.fromkeys(self.producer.reads))
        for reader in self.readers:
            saved += size - self._paid(reader)
        names = Counter(op.name for op in self.body)
        weight = sum(slots(name) * count for name, count in names.items())
        lanes = sum(load.lanes for reader in self.readers for load in reader.loads)
        spent = lanes * (weight + LOAD * max(0, names["fuse.load"] - 1))
        if not self.stored:
            spent -= weight * graph.sizes.estimate(summary.points)
        return Gain(saved, int(gone), spent)

    def _paid(self, reader: PrologueReader) -> int:
        """Bytes that a reader loads in place of the tensor.  A load whose lanes are spread over memory moves
        whole sectors.
        """
        there, hints = set(reader.node.reads), self.graph.sizes.hints
        paid: dict[int, float] = {}
        for access in self.kernel.loads:
            value = self.producer.operands[access.argument]
            if access.op not in self.body or value in there:
                continue
            spec, size = self.kernel.spec(access.argument), self.graph.bytes_of(value)
            for load in reader.loads:
                at = [c.subs(load.point) for c in access.coords]
                times = 1.0 if access.indirect else spread(at, spec, load.at, hints)
                paid[value] = max(paid.get(value, 0.0), size * times)
        return int(sum(paid.values()))


def prologues(graph: GroupGraph) -> Iterator[Prologue]:
    """The tensors of scalar kernels that users' kernels take, in program order."""
    finder = _Finder(graph)
    for index, summary in graph.summaries.items():
        for write in summary.writes:
            found = finder.prologue(graph.deps.nodes[index], summary, write.result)
            if found is not None:
                yield found


def judged(found: Prologue, hardware: Hardware) -> PrologueRefusal | None:
    """Why a tensor is not computed by its readers though it can be; None where that saves time."""
    gain = found.gain()
    microseconds = gain.microseconds(hardware)
    if microseconds > 0:
        return None
    numbers = {"saved_bytes": gain.saved_bytes, "slots": gain.slots, "saved_us": round(microseconds, 2)}
    return PrologueRefusal("slower", numbers)


class _Finder:
    """Each kernel is read once."""

    def __init__(self, graph: GroupGraph) -> None:
        self.graph = graph
        self._users: dict[str, UserWriter] = {}
        self.writers: dict[int, list[int]] = {}  #: by storage, the nodes that write to it
        for node in graph.deps.nodes:
            for value in (*node.destinations, *node.mutated):
                self.writers.setdefault(graph.deps.roots[value], []).append(node.index)

    def prologue(self, made: Node, summary: Summary, result: int) -> Prologue | None:
        """None where no user's kernel loads the tensor."""
        uses = list(self._uses(made.results[result], ()))
        takers = [(node, n, views) for node, n, views in uses if _is_users(node)]
        if not takers:
            return None
        assert made.callee is not None, "a kernel"
        kernel = Kernel.of(made.callee)
        store = list(made.callee.regions[0].blocks[0].operations)[-1].operands[result].owner
        body, why = self._body(made, summary, result, store)
        readers, refused = [], []
        for node, operand, views in takers:
            found = why or self._reader(kernel, made, node, operand, views, store, body)
            if isinstance(found, PrologueReader):
                readers.append(found)
            else:
                refused.append((node, found))
        stored = len(readers) < len(uses)
        return Prologue(self.graph, kernel, made, store, result, body, tuple(readers), stored, tuple(refused))

    def _uses(
        self, value: int, views: tuple[ir.Operation, ...]
    ) -> Iterator[tuple[Node, int, tuple[ir.Operation, ...]]]:
        """Each node that uses a value or a view of it, with the operand and the views in between."""
        for index in self.graph.deps.users[value]:
            node = self.graph.deps.nodes[index]
            if node.kind == "fuse.view":
                yield from self._uses(node.results[0], (*views, node.op))
            elif node.kind != "fuse.after":
                yield from ((node, n, views) for n, v in enumerate(node.operands) if v == value)

    def _body(
        self, made: Node, summary: Summary, result: int, store: ir.Operation
    ) -> tuple[tuple[ir.Operation, ...], PrologueRefusal | None]:
        """The ops that compute an element, or why they cannot run elsewhere."""
        write = next(w for w in summary.writes if w.result == result)
        if summary.asserts:
            return (), PrologueRefusal("assert")
        if not self.graph.is_fresh(made.destinations[result]):
            return (), PrologueRefusal("destination")
        if not write.is_plain:
            return (), PrologueRefusal("other-points")
        assert made.callee is not None, "a kernel"
        body = _slice(made.callee, store)
        if any(op.name in ("fuse.rand", *(c.op for c in summary.crossings)) for op in body):
            return (), PrologueRefusal("reduction")
        return body, None

    def _reader(
        self,
        producer: Kernel,
        made: Node,
        node: Node,
        operand: int,
        views: Sequence[ir.Operation],
        store: ir.Operation,
        body: Sequence[ir.Operation],
    ) -> PrologueReader | PrologueRefusal:
        assert node.callee is not None, "a kernel"
        if node.name not in self._users:
            self._users[node.name] = UserWriter(node.callee, self.graph.sizes.facts)
        user = self._users[node.name]
        if user.is_apart(operand):
            return PrologueRefusal("template")
        effects = user.effects.arguments[operand]
        if effects is None or effects.unknown or effects.escapes or user.effects.why is not None:
            return PrologueRefusal("unknown-memory")
        if operand in node.ties or effects.written:
            return PrologueRefusal("written")
        stored = next(a for a in producer.stores if a.op == store)
        inputs = {a.op: a.argument for a in producer.loads if a.op in body}
        if any(producer.spec(n).device != producer.spec(stored.argument).device for n in inputs.values()):
            return PrologueRefusal("device")
        if self._overwritten(made, node, inputs.values()):
            return PrologueRefusal("overwritten")
        spec = TensorSpec.of(node.callee.regions[0].blocks[0].arguments[operand].type)
        spec = replace(spec, offset=const(0))  # the address is that of the first element
        loads = []
        for op, access in user.accesses.by_op.items():
            if operand not in access.arguments:
                continue
            if op.name != "tt.load":
                return PrologueRefusal("descriptor")
            if len(access.arguments) > 1 or str(element_of(op.results[0].type)) != _in_memory(spec.element):
                return PrologueRefusal("unknown-map")
            at, lanes = coordinates_of(access, spec, user.space), self._lanes(access, user)
            if at is None or lanes is None or not is_computable(at):
                return PrologueRefusal("unknown-map")
            read = list(at.at)
            for view in reversed(views):
                point = {f"v{n}": e for n, e in enumerate(read)}
                read = [simplify(parse(e).subs(point), at.facts) for e in strings(view.attributes["map"])]
            solution = solve(stored.coords, read, producer.dims, at.extents, at.facts)
            if solution is None or not solution.inside:
                return PrologueRefusal("other-points")
            if any(not producer.op_dims[one] <= solution.mapping.keys() for one in body):
                return PrologueRefusal("other-points")
            loads.append(PrologueLoad(op, at, solution.mapping, lanes))
        return PrologueReader(node, operand, tuple(loads))

    def _overwritten(self, made: Node, node: Node, inputs: Iterable[int]) -> bool:
        """Whether something writes to an argument of the producer that is in ``inputs``, from the producer on
        and up to the end of the user's kernel.
        """
        roots = [self.graph.deps.roots[made.operands[n]] for n in inputs]
        return any(made.index <= w <= node.index for root in roots for w in self.writers.get(root, ()))

    def _lanes(self, access: PointerAccess, user: UserWriter) -> int | None:
        """How many elements all programs load; None where a loop's turns are not known."""
        sizes = self.graph.sizes
        programs = [max(1, sizes.estimate(extent)) for extent in user.space.grid]
        middle = {f"p{n}'": extent // 2 for n, extent in enumerate(programs)}
        total = 1
        for extent in (*programs, *access.shape):
            total *= extent
        for loop in access.loops:
            if loop.lower is None or loop.upper is None or loop.step is None:
                return None
            bounds = [user.space.renamed(e) for e in (loop.lower, loop.upper, loop.step)]
            lower, upper, step = (
                int(e.evaluate({s: middle.get(s, sizes.hints.get(s, UNKNOWN)) for s in e.symbols()}))
                for e in bounds
            )
            total *= max(1, -((lower - upper) // max(1, step)))
        return total


def _in_memory(element: str) -> str:
    """What a load of a tensor of this element type gives."""
    return "i8" if element == "i1" else element.removeprefix("u")


def _is_users(node: Node) -> bool:
    return node.callee is not None and takes_others(node.callee)


def _slice(func: ir.Operation, store: ir.Operation) -> tuple[ir.Operation, ...]:
    """The ops of a kernel that the value of ``store`` is made of, in order."""
    needed: set[ir.Operation] = set()
    waiting = [store.operands[1]]
    while waiting:
        value = waiting.pop()
        if not isinstance(value.owner, ir.Block) and value.owner not in needed:
            needed.add(value.owner)
            waiting.extend(value.owner.operands)
    return tuple(op for op in func.regions[0].blocks[0].operations if op in needed)


__all__ = [
    "PROLOGUE_RULES",
    "Prologue",
    "PrologueLoad",
    "PrologueReader",
    "PrologueRefusal",
    "judged",
    "prologues",
]
