"""Which ops of a planned ``@main`` a CUDA graph can hold, and why the others run between the graphs.

A graph replays launches with the addresses and numbers that were recorded.  So an op stays outside when the
host takes part in it: it gives or takes a number that changes from call to call, works on tensors of the
CPU, runs host code of its own, or writes into memory that recording would replace by a copy.

What torch's ops do is asked of the caller, who knows torch: ``op_tags`` gives the names of an op's tags, None
for an op that is not known there: a dump's custom ops are registered in the process that made it.
"""

from collections.abc import Callable, Collection

from ...base.dataclass import dataclass
from ...base.launch import Unrecorded
from ...ir.kernel import named_sizes, string
from ...ir.layout import TensorSpec
from ...ir.storage import Storage, aliased_operands, callee_name, functions_of
from ...mlir import ir
from .provenance import lines

#: From an op's name ("aten.mm.default") to the names of torch's tags that it has; None for no such op.
OpTags = Callable[[str], frozenset[str] | None]

#: Ops that wait for the device or allocate outside the graph's pool, without a tag that says so.
_WAITING = frozenset(
    {
        "aten._local_scalar_dense.default",
        "aten._assert_scalar.default",
        "aten._fused_moving_avg_obs_fq_helper.default",
        "aten._fused_moving_avg_obs_fq_helper_functional.default",
        "fbgemm.dense_to_jagged.default",
        "fbgemm.jagged_to_padded_dense.default",
    }
)
#: Ops that turn a mask into positions, whose number the host waits for.
_INDEXING = ("aten.index.", "aten.index_put", "aten._index_put", "aten._unsafe_index")
#: Collectives, and the wait for them.
_COLLECTIVE = "_c10d_functional."
#: Higher-order ops that only launch.
_LAUNCHING = ("higher_order.triton_kernel_wrapper",)
#: Ops without a call of their own go with the op that follows; a ``fuse.free`` goes with the one before.
_FREE = "fuse.free"


@dataclass(frozen=True)
class GraphRegion:
    """Ops ``begin`` to ``end`` (exclusive) of ``@main``, by position."""

    begin: int
    end: int
    recorded: bool


@dataclass(frozen=True)
class GraphRegions:
    """The regions of ``@main`` in order, all its ops in exactly one, and what was kept out of the recorded
    ones.
    """

    regions: tuple[GraphRegion, ...]
    unrecorded: tuple[Unrecorded, ...]

    def numbers(self) -> list[int]:
        """The region of each op of ``@main``."""
        return [n for n, region in enumerate(self.regions) for _ in range(region.begin, region.end)]


def graph_regions(module: ir.Module, static: Collection[int], op_tags: OpTags) -> GraphRegions:
    """Splits ``@main`` of a planned module.  ``static``: numbers of the arguments whose address never
    changes.
    """
    return _Splitter(module, frozenset(static), op_tags).split()


def graph_regions_text(module: ir.Module, static: Collection[int], op_tags: OpTags) -> str:
    """The regions of ``@main``, with what they call, and why the calls between them are not recorded, for
    ``fuse-opt --fuse-print-graph-regions``.  A line for each::

        recorded: ops 0 to 3: @double, aten.mm.default
        between: ops 4 to 5: aten.nonzero.default, @double_1
          aten.nonzero.default: the size of its result depends on data (model.py:12)
    """
    splitter = _Splitter(module, frozenset(static), op_tags)
    found, text = splitter.split(), ""
    reasons = iter(found.unrecorded)
    for region in found.regions:
        ops = splitter.ops[region.begin : region.end]
        called = [splitter.called(op) for op in ops if op.name == "func.call"]
        calls = f": {', '.join(called)}" if called else ""
        kind = "recorded" if region.recorded else "between"
        text += f"{kind}: ops {region.begin} to {region.end - 1}{calls}\n"
        if not region.recorded:
            text += "".join(f"  {next(reasons)}\n" for op in ops if splitter.is_refused(op))
    return text


class _Splitter:
    def __init__(self, module: ir.Module, static: frozenset[int], op_tags: OpTags) -> None:
        self.op_tags = op_tags
        self.functions = functions_of(module)
        main = self.functions["main"]
        self.ops = [op.operation for op in main.regions[0].blocks[0].operations]
        self.storage = Storage(main, module)
        self.refused: set[ir.Operation] = set()  #: calls that are not recorded
        arguments = list(main.regions[0].blocks[0].arguments)
        self.fixed = {a for i, a in enumerate(arguments) if i in static}
        self.arguments = set(arguments)
        self.symbols = set(named_sizes(main))  #: known before the op at hand
        self.late: set[ir.Value] = set()  #: numbers that differ from call to call with equal arguments
        self.outside: set[ir.Value] = set()  #: roots of tensors that unrecorded ops make

    def split(self) -> GraphRegions:
        reasons, unrecorded = [self._reason(op) for op in self.ops], []
        for op, reason in zip(self.ops, reasons, strict=True):
            if reason and op.name == "func.call":
                self.refused.add(op)
                unrecorded.append(
                    Unrecorded(self.called(op), reason, tuple(dict.fromkeys(lines(op.location))))
                )
        inside = self._with_neighbours(reasons)
        regions, begin = [], 0
        for position in range(1, len(self.ops) + 1):
            if position == len(self.ops) or inside[position] != inside[begin]:
                recorded = inside[begin] and any(op.name == "func.call" for op in self.ops[begin:position])
                regions.append(GraphRegion(begin, position, recorded))
                begin = position
        return GraphRegions(tuple(regions), tuple(unrecorded))

    def is_refused(self, op: ir.Operation) -> bool:
        """Whether a call is not recorded, and ``split`` said why."""
        return op in self.refused

    def _with_neighbours(self, reasons: list[str | None]) -> list[bool]:
        """Whether each op is inside a graph."""
        inside: list[bool | None] = [
            reason is None if op.name == "func.call" or reason else None
            for op, reason in zip(self.ops, reasons, strict=True)
        ]
        last: bool | None = None
        for i, op in enumerate(self.ops):
            if inside[i] is None and op.name == _FREE:
                inside[i] = last
            last = inside[i] if inside[i] is not None else last
        following = False
        for i in reversed(range(len(self.ops))):
            current = inside[i]
            inside[i] = following = following if current is None else current
        return [bool(i) for i in inside]

    def _written(self, op: ir.Operation) -> list[ir.Value]:
        """Roots of the tensors that a call writes into."""
        if op.name != "func.call":
            return []
        callee = self.functions[callee_name(op)]
        numbers: list[int] = []
        if "fuse.launch" in callee.attributes:
            numbers = list(aliased_operands(callee).values())
        elif "fuse.mutated" in callee.attributes:
            numbers = list(ir.DenseI64ArrayAttr(callee.attributes["fuse.mutated"]))
        return [self.storage.root(op.operands[i]) for i in numbers]

    def called(self, op: ir.Operation) -> str:
        """What a call calls: a torch op, or a kernel or a sub-graph behind an ``@``."""
        attributes = self.functions[callee_name(op)].attributes
        return string(attributes["fuse.extern"]) if "fuse.extern" in attributes else f"@{callee_name(op)}"

    # --- reasons

    def _reason(self, op: ir.Operation) -> str | None:
        """Why an op stays outside; remembers what it makes."""
        reason = self._own_reason(op)
        for result in op.results:
            if isinstance(result.type, ir.RankedTensorType):
                if reason is not None and op.name == "func.call":
                    self.outside.add(self.storage.root(result))
            elif reason is not None or (op.name == "fuse.size" and self._from_outside(op)):
                self.late.add(result)
        if op.name in ("fuse.sym", "fuse.size"):
            self.symbols.add(string(op.attributes["symbol"]))
        return reason

    def _from_outside(self, op: ir.Operation) -> bool:
        return self.storage.root(op.operands[0]) in self.outside

    def _own_reason(self, op: ir.Operation) -> str | None:
        if op.name == "func.return":
            return "the results are handed out"
        if op.name == "fuse.rng":
            return "the host draws random numbers"
        if any(value in self.late for value in op.operands):
            return "it takes a number that the host learns only when the program runs"
        if op.name == "fuse.size" and self._from_outside(op):
            return "it is the size of what an unrecorded op made"
        if op.name != "func.call":
            return None
        tensors = [v.type for v in (*op.operands, *op.results) if isinstance(v.type, ir.RankedTensorType)]
        if any((TensorSpec.of(type_).device or "").startswith("cpu") for type_ in tensors):
            return "a tensor is on the CPU"
        callee = self.functions[callee_name(op)]
        if "fuse.graph" in callee.attributes or "fuse.control_flow" in callee.attributes:
            return "a higher-order op runs on the host"
        reason = self._extern_reason(op, callee) if "fuse.extern" in callee.attributes else None
        return reason or self._write_reason(op)

    def _write_reason(self, op: ir.Operation) -> str | None:
        for root in self._written(op):
            if root in self.arguments and root not in self.fixed:
                return "it writes into an argument that is no parameter or buffer"
            if root in self.outside:
                return "it writes into what an unrecorded op made"
        return None

    def _extern_reason(self, op: ir.Operation, callee: ir.Operation) -> str | None:
        name = string(callee.attributes["fuse.extern"])
        if op.results and not any(
            isinstance(v.type, ir.RankedTensorType) for v in (*op.operands, *op.results)
        ):
            return None  # arithmetic of the host on sizes, which a recording is made for
        if not all(isinstance(r.type, ir.RankedTensorType) for r in op.results):
            return "it gives a number to the host"
        if name.startswith("higher_order.") and not name.startswith(_LAUNCHING):
            return "a higher-order op runs on the host"
        if any(not self.symbols.issuperset(TensorSpec.of(r.type).symbols) for r in op.results):
            return "the size of its result depends on data"
        tags = self.op_tags(name)
        if tags is None:
            return "no such op is registered here, so that nothing says whether it can be recorded"
        if "cudagraph_unsafe" in tags:
            return "the op is tagged unsafe for CUDA graphs"
        if "dynamic_output_shape" in tags or "data_dependent_output" in tags:
            return "the size of its result depends on data"
        if name.startswith(_COLLECTIVE):
            return "other processes take part in it"
        if name in _WAITING:
            return "it waits for the device"
        if name.startswith(_INDEXING) and any(
            isinstance(v.type, ir.RankedTensorType) and str(v.type.element_type) in ("i1", "ui8")
            for v in op.operands[1:]
        ):
            return "a mask as an index waits for the device"
        random = "nondeterministic_seeded" in tags
        if "fuse.effect" in callee.attributes and not random and not name.startswith(_LAUNCHING):
            return "it has an effect on the host" if not op.results else None
        return None
