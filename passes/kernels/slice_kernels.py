"""A kernel under construction that runs some of the ops of another one.  Helpers of ``split-reductions``.

``Original`` is the kernel that is split, with its call.  Each ``KernelPart`` is a new kernel that takes over
a number of its ops; results of reductions reach the next part through a ``SliceBuffer``.
"""

from collections.abc import Iterable, Sequence
from dataclasses import field
from functools import cached_property

from ...compiler.base.dataclass import dataclass
from ...compiler.index import Expr
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import Kernel, argument_attributes, natural, over, strings
from ...compiler.ir.layout import TensorSpec
from ...compiler.mlir import func, ir
from ..base.kernels import dims_attribute
from ..base.names import nodes_of, without
from ..base.new_ops import load, store
from ..base.program import Program


@dataclass(eq=False)
class SliceBuffer:
    """A tensor that carries a result of a reduction from one part to the next."""

    name: str
    spec: TensorSpec
    at: tuple[str, ...]  #: the dims that address it
    value: ir.Value | None = None  #: in @main, the current version


@dataclass
class Original:
    """The kernel that is split and its call in @main."""

    program: Program
    call: ir.Operation
    kernel: Kernel
    #: by tied argument: its new value in @main, which a finished part stores
    stored: dict[int, ir.Value] = field(default_factory=dict)

    @cached_property
    def nodes(self) -> frozenset[str]:
        """The nodes that the kernel came from."""
        return nodes_of(self.kernel.op_dims)

    def operand(self, number: int) -> ir.Value:
        """What @main passes for an argument: of a tensor that a part has stored, its new value."""
        return self.stored.get(number, self.call.operands[number])

    def tensors(self, used: set[ir.Value]) -> list[int]:
        """The numbers of the arguments among ``used`` that are tensors."""
        return [i for i, a in enumerate(self.kernel.arguments) if a in used and _is_tensor(a)]

    def others(self, used: set[ir.Value], tokens: bool) -> list[int]:
        """The numbers of the arguments that a part takes besides tensors: all sizes, the tokens if it is the
        one that waits for them, scalars if they are among ``used``.
        """
        found = []
        for number, argument in enumerate(self.kernel.arguments):
            wanted = tokens if isinstance(argument.type, fuse.Token) else argument in used
            if not _is_tensor(argument) and (wanted or isinstance(argument.type, ir.IndexType)):
                found.append(number)
        return found


def _is_tensor(value: ir.Value) -> bool:
    return isinstance(value.type, ir.RankedTensorType)


@dataclass(frozen=True)
class _Result:
    """A tensor that a part stores: ``target`` is the buffer or the number of the original's argument."""

    target: SliceBuffer | int
    value: ir.Value


class KernelPart:
    """A kernel under construction.

    Its arguments: tensors of the original, buffers, then what else of the original's is used.
    """

    def __init__(
        self,
        original: Original,
        name: str,
        *,
        ops: Iterable[ir.Operation],
        buffers: Sequence[SliceBuffer],
        tokens: bool = False,
    ) -> None:
        """``ops``: those of the original that the part will run.  ``tokens``: whether it waits for what the
        original waits for.
        """
        self.original, self.buffers = original, list(buffers)
        kernel = original.kernel
        used = {v for op in ops for v in op.operands if isinstance(v.owner, ir.Block)}
        tensors, others = original.tensors(used), original.others(used, tokens)
        #: for each argument the number of the original's that it is, None for a buffer
        self.numbers: list[int | None] = [*tensors, *[None] * len(self.buffers), *others]
        types = (
            [kernel.arguments[i].type for i in tensors]
            + [b.spec.type() for b in self.buffers]
            + [kernel.arguments[i].type for i in others]
        )
        attributes = argument_attributes(kernel.func)
        self.attributes = [{} if i is None else attributes[i] for i in self.numbers]
        self.name = original.program.unique_name(name)
        with ir.InsertionPoint(kernel.func), kernel.func.location:
            self.func = func.FuncOp(self.name, ir.FunctionType.get(types, []), visibility="private").operation
            self.block = self.func.regions[0].blocks.append(
                *types, arg_locs=[kernel.func.location] * len(types)
            )
        original.program.functions[self.name] = self.func
        original.program.callers[self.name] = 0
        #: what the original's values are in this part
        self.values: dict[ir.Value, ir.Value] = {
            kernel.arguments[i]: self.block.arguments[k] for k, i in enumerate(self.numbers) if i is not None
        }
        self.buffer_argument = {b: self.block.arguments[len(tensors) + k] for k, b in enumerate(self.buffers)}
        self.results: list[_Result] = []  #: one for each target
        self.dims: set[str] = set()
        self.runs: list[ir.Operation] = []  #: ops of the original, whole or in part

    # --- ops of the original ------------------------------------------------------------------------------
    def copy(self, op: ir.Operation) -> ir.Operation:
        """A copy of an op of the original on the values of this part."""
        new = op.clone(ir.InsertionPoint(self.block))
        for i, operand in enumerate(op.operands):
            new.operands[i] = self.values[operand]
        for old, fresh in zip(op.results, new.results, strict=True):
            self.values[old] = fresh
        self.runs.append(op)
        self.dims |= self.original.kernel.op_dims[op]
        if "over" in op.attributes:
            self.dims |= set(over(op))
        if op.name == "fuse.store":
            [target] = [a.argument for a in self.original.kernel.stores if a.op == op]
            self._result(target, new.results[0])
        return new

    def load_stored(self, store: ir.Operation) -> None:
        """Reads what an op of an earlier part stores, in place of the value it had there."""
        tensor, value = self.values[store.operands[0]], store.operands[1]
        self.dims |= self.original.kernel.op_dims[store]
        with ir.InsertionPoint(self.block), store.location:
            self.values[value] = load(tensor, value.type, strings(store.attributes["at"]))

    # --- buffers ------------------------------------------------------------------------------------------
    def store(self, buffer: SliceBuffer, value: ir.Value) -> None:
        """Stores a value into a buffer at its dims."""
        self.dims |= set(buffer.at)
        with ir.InsertionPoint(self.block):
            self._result(buffer, store(self.buffer_argument[buffer], value, buffer.at))

    def load(self, buffer: SliceBuffer) -> ir.Value:
        """Loads from a buffer at its dims."""
        self.dims |= set(buffer.at)
        with ir.InsertionPoint(self.block):
            return load(self.buffer_argument[buffer], ir.Type.parse(buffer.spec.element), buffer.at)

    # --- the end ------------------------------------------------------------------------------------------
    def _result(self, target: SliceBuffer | int, value: ir.Value) -> None:
        self.results = [r for r in self.results if r.target != target] + [_Result(target, value)]

    def finish(self, extents: dict[str, Expr]) -> None:
        """Return, signature, attributes, and the call in @main.  ``extents``: of all dims that there are."""
        original = self.original
        with ir.InsertionPoint(self.block):
            func.ReturnOp([r.value for r in self.results])
        inputs, results = [a.type for a in self.block.arguments], [r.value.type for r in self.results]
        attributes = self.func.attributes
        attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))
        if any(self.attributes):
            attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(a) for a in self.attributes])
        attributes["fuse.kernel"] = ir.UnitAttr.get()
        names = sorted(self.dims & extents.keys(), key=natural)
        attributes["fuse.dims"] = dims_attribute({n: extents[n] for n in names})
        attributes["fuse.ties"] = ir.DenseI64ArrayAttr.get([self._position(r.target) for r in self.results])
        buffers = iter(self.buffers)
        operands = [next(buffers).value if i is None else original.operand(i) for i in self.numbers]
        call = original.program.recall(original.call, self.func, operands, results)
        lost = original.nodes - nodes_of(self.runs)
        call.location, self.func.location = without(call.location, lost), without(self.func.location, lost)
        for result, value in zip(self.results, call.results, strict=True):
            if isinstance(result.target, SliceBuffer):
                result.target.value = value
            else:
                original.stored[result.target] = value

    def _position(self, target: SliceBuffer | int) -> int:
        """The argument of this part that a target is."""
        if isinstance(target, SliceBuffer):
            return ir.BlockArgument(self.buffer_argument[target]).arg_number
        return self.numbers.index(target)
