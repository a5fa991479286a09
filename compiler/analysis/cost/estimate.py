"""What each call of ``@main`` moves, computes and at least takes: its bytes, operations and roofline time.

Bytes are counted by one rule for kernels and torch ops (``traffic.py``): an operand's elements once when they
are read and once when they are written, whatever reads them again.  Operands of one storage count as one, up
to the size of that storage.  A call that makes views, or reads a number on the host, moves nothing.  Nor does
the wait for a collective, which itself counts where it starts (``collectives.py``).
"""

from collections.abc import Callable, Sequence

from ...base.products import Shape, product_op
from ...cost.clock import microseconds
from ...cost.hardware import Hardware
from ...cost.transfers import Pattern, Transfer
from ...cost.work import Work
from ...index import Expr
from ...ir.dialects import fuse
from ...ir.kernel import Kernel, extern_arguments, is_kernel, is_tiled, is_users, string
from ...ir.layout import TensorSpec
from ...ir.sizes import estimate, hints_of, stored_bytes
from ...ir.storage import Storage, aliased_operands, callee_name, functions_of, operand_number
from ...mlir import func, ir
from .collectives import WAIT, pattern_of, ranks_of
from .traffic import ATTRIBUTE, Traffic, traffic_of

#: Torch ops that give a tensor and write none of it.
_WITHOUT_TRAFFIC = ("aten.empty", "aten.new_empty")


def estimates(module: ir.Module) -> dict[ir.Operation, Work]:
    """An estimate of every call of ``@main`` that runs on the device, in order.  Kernels whose scalar body
    is gone and that do not say what they move (``fuse.traffic``) have none."""
    functions = functions_of(module)
    main = functions["main"]
    counter = _Counter(main, module, functions)
    found: dict[ir.Operation, Work] = {}
    for op in main.regions[0].blocks[0].operations:
        if isinstance(op, func.CallOp):
            counted = counter.call(op.operation)
            if counted is not None:
                found[op.operation] = counted
    return found


def estimates_text(module: ir.Module, hardware: Hardware) -> str:
    """A line for each call of ``@main`` that has an estimate, and one for their sum."""
    lines, peak = [], hardware.rates.streaming.peak
    counted = estimates(module)
    for number, (op, cost) in enumerate(counted.items()):
        head = f"{number}: @{callee_name(op)}"
        lines.append(f"{head}: {_numbers(cost)}, {microseconds(cost, hardware, peak):.3f} us")
    total = sum(cost.bytes for cost in counted.values())
    least = sum(microseconds(cost, hardware, peak) for cost in counted.values())
    lines.append(f"{len(counted)} calls: {total} bytes, {least:.3f} us on {hardware.name}")
    return "\n".join(lines) + "\n"


def _numbers(cost: Work) -> str:
    text = f"reads {cost.read}, writes {cost.written} bytes, {cost.slots} slots, {cost.flops} flops"
    moved = cost.transfer
    if moved is None:
        return text
    return f"{text}, {moved.pattern} sends {moved.sent} bytes among {moved.ranks} ranks"


class _Counter:
    def __init__(self, main: ir.Operation, module: ir.Module, functions: dict[str, ir.Operation]) -> None:
        self.functions = functions
        self.storage = Storage(main, module)
        self.hints = hints_of(main)
        self.kernels: dict[str, Traffic | None] = {}

    def call(self, op: ir.Operation) -> Work | None:
        callee = self.functions[callee_name(op)]
        if "fuse.extern" in callee.attributes:
            return self._extern(op, callee)
        name = string(callee.attributes["sym_name"])
        if is_users(callee):
            return self._users_kernel(op, callee)
        if name not in self.kernels:
            self.kernels[name] = _kernel_traffic(callee)
        traffic = self.kernels[name]
        if traffic is None:
            return None
        return Work(
            self._moved(op.operands, traffic.reads),
            self._moved(op.operands, traffic.writes),
            traffic.slots,
            traffic.flops,
            traffic.element,
        )

    def _moved(self, values: Sequence[ir.Value], moved: Sequence[int]) -> int:
        """Bytes of operands, those of one storage together at most its size."""
        by_root: dict[ir.Value, int] = {}
        for value, amount in zip(values, moved, strict=False):
            if amount:
                root = self.storage.root(value)
                by_root[root] = by_root.get(root, 0) + amount
        return sum(min(amount, self._bytes(root)) for root, amount in by_root.items())

    def _users_kernel(self, op: ir.Operation, callee: ir.Operation) -> Work:
        """A user's Triton kernel: what it takes is read or written once, what its results are is written."""
        written = set(aliased_operands(callee).values())
        sizes = [self._bytes(v) for v in op.operands]
        return Work(
            self._moved(op.operands, [0 if n in written else size for n, size in enumerate(sizes)]),
            self._moved(op.operands, [size if n in written else 0 for n, size in enumerate(sizes)]),
        )

    def _extern(self, op: ir.Operation, callee: ir.Operation) -> Work:
        name = string(callee.attributes["fuse.extern"])
        shared = aliased_operands(callee)
        attributes = callee.attributes
        mutated = (
            list(ir.DenseI64ArrayAttr(attributes["fuse.mutated"])) if "fuse.mutated" in attributes else []
        )
        fresh = [r for n, r in enumerate(op.results) if n not in shared and _is_tensor(r)]
        if name.startswith(_WITHOUT_TRAFFIC) or name == WAIT or not (fresh or mutated):
            return Work(0, 0)
        given = list(op.operands)
        pattern = pattern_of(name)
        written = [*fresh, *(given[n] for n in mutated)]
        flops, element = flops_of(name, op, callee, lambda e: estimate(e, self.hints))
        return Work(
            self._moved(given, [self._bytes(v) for v in given]),
            self._moved(written, [self._bytes(v) for v in written]),
            flops=flops,
            element=element,
            transfer=self._transfer(pattern, callee, given, written) if pattern else None,
        )

    def _transfer(
        self, pattern: Pattern, callee: ir.Operation, given: Sequence[ir.Value], made: Sequence[ir.Value]
    ) -> Transfer:
        read = [v for v in given if v not in made]
        operands, results = (sum(map(self._bytes, values)) for values in (read, made))
        whole = max(operands, results) if pattern in ("all-gather", "reduce-scatter") else results
        return Transfer(pattern, whole, ranks_of(callee))

    def _bytes(self, value: ir.Value) -> int:
        """Bytes of a tensor (``stored_bytes``); 0 for a scalar."""
        if not _is_tensor(value):
            return 0
        return stored_bytes(TensorSpec.of(value.type), self.hints)


def _is_tensor(value: ir.Value) -> bool:
    return isinstance(value.type, ir.RankedTensorType)


def _kernel_traffic(callee: ir.Operation) -> Traffic | None:
    if ATTRIBUTE in callee.attributes:
        return Traffic.of_attribute(callee.attributes[ATTRIBUTE])
    if is_kernel(callee) and not is_tiled(callee):
        return traffic_of(Kernel.of(callee))
    return None


def flops_of(
    name: str, call: ir.Operation, callee: ir.Operation, number: Callable[[Expr], int]
) -> tuple[int, str]:
    """Operations of one call of a torch op, and the element type they are done in; 0 for what multiplies no
    matrices (``base/products.py``).  ``number`` gives the value of a size.
    """
    given = [call.operands[operand_number(a)] for a in _arguments(callee)]
    tensors = [v for v in given if isinstance(v.type, ir.RankedTensorType)]
    results = [v for v in call.results if isinstance(v.type, ir.RankedTensorType)]
    if not tensors or not results:
        return 0, "f32"

    def sizes(value: ir.Value) -> Shape:
        return tuple(number(s) for s in TensorSpec.of(value.type).sizes)

    op = product_op(name)
    counted = op.flops([sizes(v) for v in tensors], [sizes(v) for v in results]) if op and op.flops else 0
    return counted, TensorSpec.of(tensors[-1].type).element


def _arguments(callee: ir.Operation) -> list[fuse.Arg]:
    """The arguments of a torch op that are operands of its calls, in its order."""
    return [a for a in extern_arguments(callee.attributes)[0] if isinstance(a, fuse.Arg)]
