"""The body of a fused kernel: the instances of a plan, copied into one block.

Not a pass: ``materialize-fusion`` decides what is copied and where.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import field

from ...compiler.analysis.fusion.graph import GroupGraph
from ...compiler.analysis.fusion.plan import FusionPlan, Instance, LoadedIndex, items
from ...compiler.base.dataclass import dataclass
from ...compiler.index import Expr, const, parse, simplify, sym
from ...compiler.ir.defining import is_true
from ...compiler.ir.kernel import REDUCTIONS, Kernel, natural, over, string, strings
from ...compiler.ir.layout import TensorSpec
from ...compiler.mlir import ir
from ..base.kernels import DIMMED, WITHOUT_DIMS, kernel_body, rewrite_dims, text_list, vary
from ..pass_base import PassError
from .bit_views import is_filled

NO_DIMS: frozenset[str] = frozenset()
#: Operands of a ``fuse.load`` that takes no index: tensor, guard, other.
_WITHOUT_INDICES = 3

#: Attributes of a kernel, by name -> those of its copy, and the dims of the space that coordinates name.
Placed = dict[tuple[str, ir.Attribute], tuple[ir.Attribute, frozenset[str]]]
#: By the dims of an instance and the extents of the space.
Rewrites = dict[Hashable, Placed]


@dataclass
class Body:
    """Copies the instances of a plan into one block."""

    graph: GroupGraph
    plan: FusionPlan
    escaping: frozenset[int]
    arguments: dict[int, ir.Value]
    ip: ir.InsertionPoint
    rewrites: Rewrites
    done: set[int] = field(default_factory=set)
    stored: dict[tuple[int, int], ir.Value] = field(default_factory=dict)  #: (instance, result) -> the scalar
    guards: dict[tuple[int, int], ir.Value] = field(default_factory=dict)  #: (instance, read) -> its guard
    indices: dict[LoadedIndex, ir.Value] = field(default_factory=dict)
    results: dict[int, ir.Value] = field(default_factory=dict)
    dims: dict[ir.Value, frozenset[str]] = field(default_factory=dict)

    def emit(self, index: int) -> None:
        """Copies one instance, and before each load of what another makes, that one."""
        if index in self.done:
            return
        self.done.add(index)
        instance = self.plan.instances[index]
        member = self.plan.members[instance.member]
        node = self.graph.deps.nodes[member.node]
        assert node.callee is not None, "a member is a call of a kernel"
        block = node.callee.regions[0].blocks[0]
        values: dict[ir.Value, ir.Value] = {}
        positions: dict[ir.Value, int] = {}
        for argument, value in zip(block.arguments, member.operands, strict=True):
            positions[argument] = len(positions)
            if value in self.arguments:
                values[argument] = self.arguments[value]
        guard = self.guards[instance.guard] if instance.guard is not None else None
        loads = 0
        stores = {w.argument: w for w in member.summary.writes}
        known = self.rewrites.setdefault((items(instance.dims), items(self.plan.extents)), {})
        for op in kernel_body(node.callee):
            name = op.name
            if name == "func.return":
                continue
            operands = list(op.operands)
            if name == "fuse.load":
                values[op.results[0]] = self.load(op, index, loads, values, guard, known)
                loads += 1
            elif name == "fuse.store":
                positions[op.results[0]] = positions[operands[0]]  # where another store goes on
                result = stores[positions[operands[0]]].result
                self.stored[index, result] = values[operands[1]]
                number = member.results[result]
                if number in self.escaping:
                    taken = [values[o] for o in operands]
                    new = self.results[number] = self.copy(op, name, instance, taken, known).results[0]
                    values[op.results[0]] = new
            else:
                taken = [values[o] for o in operands]
                if (
                    name == "fuse.device_assert"
                    and guard is not None
                    and not self.apart(taken[0], guard, index)
                ):
                    taken[1] = self.binary("arith.andi", taken[1], guard, op.location)
                new = self.copy(op, name, instance, taken, known)
                values.update(zip(op.results, new.results, strict=True))

    def load(
        self,
        op: ir.Operation,
        index: int,
        position: int,
        values: dict[ir.Value, ir.Value],
        extra: ir.Value | None,
        known: Placed,
    ) -> ir.Value:
        """The value of a load: a copy of it, or what the group stored there."""
        instance = self.plan.instances[index]
        operands = list(op.operands)
        guard = values[operands[1]]
        source = instance.sources.get(position)
        if extra is not None and (source is not None or not self.once_a_row(op, instance, guard, extra)):
            guard = self.binary("arith.andi", guard, extra, op.location)
        if source is None:
            taken = [guard if i == 1 else values[o] for i, o in enumerate(operands)]
            new = self.copy(op, "fuse.load", instance, taken, known)
            self.meet(new, index, position)
            return new.results[0]
        self.guards[index, position] = guard
        for number, operand in enumerate(operands[_WITHOUT_INDICES:]):
            self.indices[LoadedIndex(index, position, number)] = values[operand]
        self.emit(source)
        member = self.plan.members[instance.member]
        number = member.operands[member.summary.reads[position].argument]
        maker = self.plan.members[self.plan.instances[source].member]
        value = self.stored[source, maker.results.index(number)]
        if value.type != op.results[0].type:
            raise PassError(
                f"a tensor is stored as {value.type} and loaded as {op.results[0].type}", op.location
            )
        # behind the guard of this copy, which is asked for where the copy is read
        shared = instance.guard is not None and self.plan.instances[source].guard == instance.guard
        if is_true(guard) or shared:
            return value
        other = values[operands[2]]
        if is_filled(value, guard, other):
            return value
        select = ir.Operation.create(
            "arith.select", [value.type], [guard, value, other], loc=op.location, ip=self.ip
        )
        return self.note(select).results[0]

    def meet(self, load: ir.Operation, index: int, position: int) -> None:
        """Moves a load to where the group reads the tensor anyway, if that is the same place wherever the
        value is needed, and inside of the tensor everywhere.
        """
        at = self.plan.meeting(index, position)
        if at is None or {s for e in at for s in e.symbols()} != _named(load.attributes, "at"):
            return
        facts, sizes = self.plan.facts, TensorSpec.of(load.operands[0].type).sizes
        if all(facts.nonnegative(e) and facts.less(e, n) for e, n in zip(at, sizes, strict=True)):
            load.attributes["at"] = text_list(at)

    def once_a_row(self, op: ir.Operation, instance: Instance, guard: ir.Value, extra: ir.Value) -> bool:
        """Whether a load of an inlined instance may run where the instance is not wanted (``extra`` is false
        there): it stays in its tensor at all points, and it lacks dims along which ``extra`` varies.  So the
        index of a row that is looked up is loaded once for the row, not for each element behind the guard.
        """
        if not is_true(guard) or len(op.operands) > _WITHOUT_INDICES:
            return False
        at = [self.expression(parse(text), instance) for text in strings(op.attributes["at"])]
        named = frozenset().union(*[e.symbols() for e in at]) & self.plan.extents.keys()
        if self.dims.get(extra, NO_DIMS) <= named:
            return False
        facts, sizes = self.plan.facts, TensorSpec.of(op.operands[0].type).sizes
        return all(
            facts.nonnegative(e) and facts.nonnegative(size - e - const(1))
            for e, size in zip(at, sizes, strict=True)
        )

    def apart(self, condition: ir.Value, guard: ir.Value, index: int) -> bool:
        """Whether what an inlined instance asserts varies along no dim of the guard.  The guard is true
        somewhere, since an instance that asserts is visited whole: the condition then holds at all points, or
        at none, and needs no guard.
        """
        instance, facts = self.plan.instances[index], self.plan.facts
        extents = self.plan.members[instance.member].summary.dims
        own, dims = self.dims.get(condition, NO_DIMS), self.dims.get(guard, NO_DIMS)
        if not own or not own.isdisjoint(dims):
            return False
        other = [(extents[d], e) for d, e in instance.dims.items() if dims.isdisjoint(e.symbols())]
        return all(facts.nonnegative(e - const(1)) for e in self.plan.extents.values()) and all(
            facts.nonnegative(e) and facts.nonnegative(size - e - const(1)) for size, e in other
        )

    def copy(
        self,
        op: ir.Operation,
        name: str,
        instance: Instance,
        operands: list[ir.Value],
        known: Placed,
    ) -> ir.Operation:
        """A copy of an operation with other operands, over the dims of the space.  ``known``: attributes that
        were rewritten for equal instances.
        """
        if not name.startswith(WITHOUT_DIMS) and self.plan.looks_up(instance):
            return self.note(self.looked_up(op, instance, operands))
        new = op.clone(self.ip)
        taken, dims = new.operands, NO_DIMS
        for i, operand in enumerate(operands):
            taken[i] = operand
            dims |= self.dims.get(operand, NO_DIMS)
        if not name.startswith(WITHOUT_DIMS):
            dims |= self.place(new, instance, known)
        if name in REDUCTIONS or name == "fuse.scan":
            crossed = set(over(new))
            if name == "fuse.dot":  # one of its operands may lack a dim, which repeats it
                crossed -= self.dims.get(new.operands[1], NO_DIMS)
            for i in range(1 if name == "fuse.dot" else len(new.operands)):
                new.operands[i] = self.spread(new, new.operands[i], crossed)
            return self.note(new)
        if name == "fuse.store" and string(op.attributes["mode"]) != "set":
            self.repeat(op, new, instance)
            return self.note(new)
        for result in new.results:
            self.dims[result] = dims
        return new

    def looked_up(self, op: ir.Operation, instance: Instance, operands: list[ir.Value]) -> ir.Operation:
        """A copy of an operation of an instance whose dims name loaded indices.  It takes those that its
        coordinates name behind the indices that it has.
        """
        attributes = {name: op.attributes[name] for name in op.attributes}
        key = next((name for name in ("at", "expr") if name in attributes), None)
        if key is not None:
            texts = strings(attributes[key]) if key == "at" else [string(attributes[key])]
            found = [self.expression(parse(text), instance) for text in texts]
            own = len(operands) - (_WITHOUT_INDICES if key == "at" else 0)
            names = sorted(
                frozenset().union(*[e.symbols() for e in found]) & self.plan.loaded.keys(), key=natural
            )
            renamed = {name: sym(f"i{own + n}") for n, name in enumerate(names)}
            found = [e.subs(renamed) for e in found]
            attributes[key] = text_list(found) if key == "at" else ir.StringAttr.get(str(found[0]))
            operands = [*operands, *(self.indices[self.plan.loaded[name]] for name in names)]
        results = [r.type for r in op.results]
        return ir.Operation.create(op.name, results, operands, attributes, loc=op.location, ip=self.ip)

    def place(
        self,
        new: ir.Operation,
        instance: Instance,
        known: Placed,
    ) -> frozenset[str]:
        """Rewrites the attributes of ``new`` over the dims of the space; gives those that it names."""
        attributes, dims = new.attributes, NO_DIMS
        found = [(key, attributes[key]) for key in DIMMED if key in attributes]
        if any(each not in known for each in found):
            rewrite_dims(
                new, lambda e: self.expression(e, instance), lambda names: self.crossed(names, instance)
            )
            for key, old in found:
                known[key, old] = attributes[key], _named(attributes, key) & self.plan.extents.keys()
        for key, old in found:
            attributes[key], named = known[key, old]
            dims |= named
        return dims

    def repeat(self, old: ir.Operation, new: ir.Operation, instance: Instance) -> None:
        """``new``, a store that accumulates, runs as often as ``old`` did."""
        func = old.parent.operation
        points = self.plan.image(instance, Kernel.of(func).op_dims[old])
        named = {s for text in strings(new.attributes["at"]) for s in parse(text).symbols()}
        held = [self.dims.get(v, frozenset()) for v in list(new.operands)[2:]]
        new.operands[1] = self.spread(new, new.operands[1], points.difference(named, *held))

    def expression(self, e: Expr, instance: Instance) -> Expr:
        return simplify(e.subs(instance.dims), self.plan.facts)

    def crossed(self, names: Sequence[str], instance: Instance) -> list[str]:
        found = {s for n in names for s in instance.dims[n].symbols() if s in self.plan.extents}
        return sorted(found, key=natural)

    def spread(self, op: ir.Operation, value: ir.Value, dims: Iterable[str]) -> ir.Value:
        """``value``, in front of ``op``, as a value of all ``dims``, also where fusion made it a constant
        along one.
        """
        for dim in sorted(set(dims) - self.dims.get(value, frozenset()), key=natural):
            made = vary(value, dim, op)
            for made_op in made:
                self.note(made_op)
            value = made[-1].results[0]
        return value

    def binary(self, name: str, a: ir.Value, b: ir.Value, location: ir.Location) -> ir.Value:
        return self.note(ir.Operation.create(name, [a.type], [a, b], loc=location, ip=self.ip)).results[0]

    def note(self, op: ir.Operation) -> ir.Operation:
        """Records the dims of an operation's results."""
        attributes = op.attributes
        dims = frozenset().union(*[self.dims.get(v, NO_DIMS) for v in op.operands])
        for key in ("at", "expr"):
            if key in attributes:
                dims |= _named(attributes, key) & self.plan.extents.keys()
        if op.name in REDUCTIONS:
            dims -= set(over(op))
        for result in op.results:
            self.dims[result] = dims
        return op


def _named(attributes: ir.OpAttributeMap, key: str) -> frozenset[str]:
    """What the coordinates in an attribute name; what is crossed is no coordinate."""
    if key == "over":
        return NO_DIMS
    texts = strings(attributes[key]) if key == "at" else (string(attributes[key]),)
    return frozenset().union(*[parse(text).symbols() for text in texts])
