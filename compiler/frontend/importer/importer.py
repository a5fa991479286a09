"""From a post-AOTAutograd FX graph to a module at the ``graph`` level.

    imported = import_graph(gm, example_inputs, context=make_context(), device="cuda:0")

Every node goes one of four ways: its value is a size or a constant (no op), the table of ``ops/`` builds
kernels or a view, an extern call runs it as itself, or, for what only the host knows (sub-graphs, Triton
kernels), it is an entry of ``objects``.
"""

import logging
import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx
from torch.utils import _pytree as pytree

from ...base.errors import (
    BuilderFailed,
    CompileError,
    MissingValue,
    ReadAfterMutation,
    UnsupportedDtype,
    UnsupportedOp,
    UnsupportedSize,
    UnsupportedValue,
)
from ...base.launch import line_text
from ...base.remarks import Remarks
from ...fx.collectives import reads_until
from ...fx.frames import describe, user_line
from ...fx.graph_text import held
from ...fx.roundings import round_what_decides
from ...fx.table import KEPT_WHOLE, LOWERINGS, Refused, target_name
from ...index import Expr, const
from ...ir.layout import TensorSpec
from ...mlir import ir
from .. import ops
from .call import Call
from .dtypes import BY_TORCH
from .extern import call_extern, host_number
from .interface import Fallback, Output, OutputArgument, OutputConstant, OutputResult
from .locations import location_of
from .main_arguments import MainArguments
from .module_builder import ModuleBuilder
from .subgraphs import Nesting, Subgraph
from .symbols import SymbolTable
from .values import HostObject, Number, PassedOn, Tensor

ops.load()

log = logging.getLogger(__name__)


@dataclass
class ImportedGraph:
    """What ``import_graph`` returns.

    Arguments of ``@main``: the placeholders ``inputs`` (their numbers; a placeholder that is None or a
    number has no argument), then ``constants`` in order.  ``output_spec`` has one entry per leaf of the FX
    output, whose nesting is ``output_tree``.
    """

    module: ir.Module
    objects: dict[str, Any]
    constants: dict[str, torch.Tensor]
    inputs: tuple[int, ...]
    output_spec: tuple[Output, ...]
    output_tree: pytree.TreeSpec
    fallbacks: tuple[Fallback, ...]
    remarks: Remarks


def import_graph(
    gm: fx.GraphModule,
    example_inputs: Sequence[Any] = (),
    *,
    context: ir.Context,
    device: str,
    strict: bool = False,
    recovers: bool = False,
) -> ImportedGraph:
    """Imports ``gm``.  Shapes, strides and dtypes come from ``node.meta["val"]``, for placeholders without
    it from ``example_inputs``.

    ``device`` is the module's: ``"cpu"`` or ``"cuda:0"``.  Raises ImportGraphError
    (compiler/base/errors.py) for what a module cannot hold, and with ``strict`` UnsupportedOp for whatever
    would fall back.  An exception
    that a builder should not raise is raised, unless the import ``recovers``: it begins again, so that
    nothing half-made is left, and the op runs as itself wherever the graph has it.
    """
    round_what_decides(gm)
    failed: dict[str, str] = {}
    while True:
        try:
            return Importer(gm, example_inputs, context, device, strict, failed=failed).run()
        except BuilderFailed as failure:
            assert failure.__cause__ is not None
            op = failure.fields["op"]
            if strict or not recovers or op in failed:
                raise failure.__cause__ from None
            log.warning("%s runs as itself: %s", op, failure, exc_info=failure.__cause__)
            failed[op] = str(failure)


@dataclass
class Importer:
    """The state of one import."""

    gm: fx.GraphModule
    example_inputs: Sequence[Any]
    context: ir.Context
    device: str
    strict: bool
    fallbacks: list[Fallback] = field(default_factory=list)
    remarks: Remarks = field(default_factory=Remarks)
    objects: dict[str, Any] = field(default_factory=dict)
    nesting: Nesting | None = None  #: of a sub-graph
    failed: dict[str, str] = field(default_factory=dict)  #: ops whose builder failed, and how

    def __post_init__(self) -> None:
        index = torch.device(self.device)
        self.device = str(index) if index.type == "cpu" or index.index is not None else f"{index.type}:0"
        self.builder = ModuleBuilder(self.context, self.device)
        self.symbols = SymbolTable(self.builder)
        self.values: dict[fx.Node, Any] = {}
        self.mutated: dict[int, ir.Value] = {}  #: argument of @main -> its new value
        self.arguments = MainArguments(self)
        self._elements: dict[tuple[Any, ...], TensorSpec] = {}
        self._devices: dict[torch.device, str | None] = {}
        self._host_numbers: dict[ir.Value, Number] = {}
        self.subgraphs: dict[Any, Subgraph] = {}  #: what is imported already
        #: what a node holds until it has run: a wait what the collective reads
        self.held: dict[fx.Node, list[fx.Node]] = reads_until(self.gm.graph)

    def run(self) -> ImportedGraph:
        """Imports every node in order."""
        inputs = self.arguments.placeholders()
        self.arguments.hold_constants()
        output: fx.Node | None = None
        for node in self.gm.graph.nodes:
            if node.op == "call_function":
                self.values[node] = self._call(node)
            elif node.op == "get_attr" and node not in self.values:
                self.values[node] = HostObject(str(node.target), held(self.gm, str(node.target)))
            elif node.op == "output":
                output = node
            elif node.op not in ("placeholder", "get_attr"):
                raise UnsupportedValue(name=node.name, kind=f"{node.op} node")
        spec, tree = self._finish(output.args[0] if output is not None else ())
        return ImportedGraph(
            self.builder.module,
            self.objects,
            self.arguments.constants,
            inputs,
            spec,
            tree,
            tuple(self.fallbacks),
            self.remarks,
        )

    # What builders ask.
    def meta(self, node: fx.Node) -> Any:
        """The node's fake value.  Raises MissingValue."""
        if "val" in node.meta:
            return node.meta["val"]
        raise MissingValue(name=describe(node))

    def spec(
        self,
        fake: torch.Tensor,
        user: str,
        *,
        fresh: bool = False,
        origin: Expr | None = None,
        argument: bool = False,
    ) -> TensorSpec:
        """Layout of ``fake``: its offset is 0 when ``fresh``, else relative to ``origin``.  ``argument``:
        of ``@main``.
        """
        sizes, strides = tuple(fake.shape), fake.stride()
        offset = const(0)
        if not fresh:
            offset = self.symbols.spell(fake.storage_offset()) - (0 if origin is None else origin)
            self.symbols.require(offset, user)
        static = all(type(n) is int for n in (*sizes, *strides))
        key = (sizes, strides, offset, fake.dtype, fake.device) if static else None
        known = None if key is None else self._elements.get(key)
        if known is not None:
            return known
        if fake.device.type == "meta":
            raise UnsupportedValue(name=user, kind="tensor on meta")
        row = BY_TORCH.get(fake.dtype)
        if row is None or fake.is_sparse or fake.layout != torch.strided or fake.is_quantized:
            raise UnsupportedDtype(
                name=user, dtype=fake.dtype if row is None else f"{fake.dtype} in {fake.layout} layout"
            )
        stride = self.symbols.stride if argument else self.symbols.expr
        spec = TensorSpec(
            tuple(self.symbols.expr(n, user) for n in sizes),
            tuple(stride(n, user) for n in strides),
            offset,
            row.element,
            self._device(fake.device),
        )
        if key is not None:
            self._elements[key] = spec
        return spec

    def resolve(self, argument: Any, *, keeps_tuples: bool = False) -> Any:
        """An FX argument with nodes replaced by their values; all sequences are lists unless asked for."""
        if isinstance(argument, fx.Node):
            return self._current(argument)
        if isinstance(argument, (list, tuple)):
            resolved = [self.resolve(a, keeps_tuples=keeps_tuples) for a in argument]
            return tuple(resolved) if keeps_tuples and isinstance(argument, tuple) else resolved
        if isinstance(argument, dict):
            return {k: self.resolve(v, keeps_tuples=keeps_tuples) for k, v in argument.items()}
        if isinstance(argument, torch.SymInt):
            return self.symbols.expr(argument)
        return argument

    def host_object(self, name: str, value: Any) -> HostObject:
        """Enters ``value`` into ``objects`` under ``name`` or, if that is taken by another, ``name_1``.."""
        candidate, n = name, 0
        while candidate in self.objects and self.objects[candidate] is not value:
            n += 1
            candidate = f"{name}_{n}"
        self.objects[candidate] = value
        return HostObject(candidate, value)

    def host_number(self, tensor: Tensor, location: ir.Location) -> Number:
        """The element of a 0-d tensor on the host, read once."""
        known = self._host_numbers.get(tensor.value)
        if known is None:
            known = self._host_numbers[tensor.value] = host_number(self.builder, tensor, location)
        return known

    def mutate(self, tensor: Tensor, value: Tensor) -> None:
        """Records that the argument ``tensor`` ends up as ``value``; nodes after this one read the new
        value.
        """
        argument = self.arguments.positions.get(tensor.value, tensor.root)
        assert argument is not None
        self.mutated[argument] = value.value
        for node, current in self.values.items():
            if current is tensor:
                self.values[node] = value
        self.arguments.positions[value.value] = argument

    def fall_back(self, node: fx.Node, reason: str) -> None:
        """Counts an unplanned extern call; raises UnsupportedOp when strict."""
        target, where, line = target_name(node.target), describe(node), user_line(node)
        if self.strict:
            operands = (
                ", ".join(
                    _shape_of(v)
                    for v in pytree.tree_leaves((node.args, node.kwargs))
                    if isinstance(v, fx.Node)
                )
                or "nothing"
            )
            raise UnsupportedOp(op=target, operands=operands, reason=reason, location=where)
        self.fallbacks.append(Fallback(target, reason, where))
        self.remarks.add(
            "import",
            "missed",
            "fallback",
            f"{target} runs as itself: {reason}",
            ops=(node.name,),
            locations=() if line is None else (line_text(line),),
        )

    # Nodes.
    def _call(self, node: fx.Node) -> Any:
        value = node.meta.get("val")
        if node.target is operator.getitem:
            return self._current(node.args[0])[node.args[1]]
        if isinstance(value, (int, float, bool)) and not _has_effect(node):
            return value
        if isinstance(value, torch.SymInt) and not node.meta.get("unbacked_bindings"):
            try:
                return self.symbols.expr(value, describe(node))
            except UnsupportedSize:
                pass  # the op computes it when the program runs
        location = location_of(node, self.context)
        name = target_name(node.target)
        if name.startswith(_QUANTIZED):
            raise UnsupportedDtype(name=describe(node), dtype="a quantised type")
        lowering = LOWERINGS.get(name)
        if node.meta.get("unbacked_bindings") and not (lowering is not None and lowering.sizes):
            lowering = None  # the size of its result is known when it has run
        if lowering is None:
            if name not in KEPT_WHOLE and isinstance(node.target, torch._ops.OpOverload):
                self.fall_back(
                    node, "it has no lowering" if name not in LOWERINGS else "its size depends on the data"
                )
            return call_extern(self, node, name, location)
        if name in self.failed:
            self.fall_back(node, self.failed[name])
            return call_extern(self, node, name, location)
        call = Call(self, node, location)
        try:
            if (
                not lowering.view
                and isinstance(value, torch.Tensor)
                and _is_empty(value)
                and not _has_effect(node)
            ):
                spec = call.result
                return call.made(self.builder.empty(spec, location), value, spec)
            return lowering.build(call)
        except Refused as refusal:
            call.abandon()
            self.fall_back(node, str(refusal))
            return call_extern(self, node, name, location)
        except CompileError:
            raise
        except Exception as error:
            raise BuilderFailed(op=name, error=f"{type(error).__name__}: {error}") from error

    def _current(self, node: fx.Node) -> Any:
        value = self.values[node]
        if isinstance(value, PassedOn):
            raise UnsupportedValue(name=describe(node), kind=value.kind)
        is_argument = isinstance(value, Tensor) and value.value in self.arguments.positions
        if isinstance(value, Tensor) and value.root in self.mutated and not is_argument:
            raise ReadAfterMutation(name=describe(node), argument=f"argument {value.root}")
        return value

    # The end.
    def _finish(self, outputs: Any) -> tuple[tuple[Output, ...], pytree.TreeSpec]:
        """Closes ``@main``: the outputs, each once, then the new values of mutated arguments."""
        builder = self.builder
        leaves, tree = pytree.tree_flatten(outputs, is_leaf=lambda x: x is None)
        if self.nesting is not None:
            self._close(self.nesting.results(self, leaves), {})
            return (), tree
        results: dict[ir.Value, int] = {}
        spec: list[Output] = []
        for leaf in leaves:
            passed = self.values[leaf] if isinstance(leaf, fx.Node) else None
            if isinstance(passed, PassedOn):
                spec.append(OutputArgument(passed.position))
                continue
            value = self.resolve(leaf)
            if isinstance(value, Expr):
                value = (
                    OutputConstant(value.constant)
                    if value.is_constant
                    else self.symbols.value(value, builder.unknown)
                )
            elif isinstance(value, (Tensor, Number)):
                value = value.value
            if isinstance(value, ir.Value):
                spec.append(OutputResult(results.setdefault(value, len(results))))
            else:
                spec.append(value if isinstance(value, OutputConstant) else OutputConstant(value))
        mutates = {
            str(results.setdefault(v, len(results))): builder.int64(a)
            for a, v in sorted(self.mutated.items())
        }
        self._close(list(results), {"fuse.mutates": mutates} if mutates else {})
        return tuple(spec), tree

    def _close(self, results: list[ir.Value], mutates: dict[str, dict[str, ir.Attribute]]) -> None:
        """Writes the return and the signature of ``@main``."""
        builder = self.builder
        types = [v.type for v in results]
        with self.context:
            attributes = {name: ir.DictAttr.get(pairs) for name, pairs in mutates.items()}
            builder.op("func.return", [], results, attributes, builder.unknown)
            main = builder.main.attributes
            main["function_type"] = builder.function_type(
                [a.type for a in builder.main_block.arguments], types
            )
            if any(self.arguments.attributes):
                main["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(a) for a in self.arguments.attributes])

    # Helpers.
    def _device(self, device: torch.device) -> str | None:
        if device not in self._devices:
            text = str(device) if device.index is not None or device.type == "cpu" else f"{device.type}:0"
            self._devices[device] = None if text == self.device else text
        return self._devices[device]


#: Ops that make quantised tensors; the metadata calls them tensors of floats.
_QUANTIZED = (
    "aten.quantize_per_", "aten._make_per_", "aten._empty_affine_quantized",
    "aten._empty_per_channel_affine_quantized",
)  # fmt: skip


def _is_empty(fake: torch.Tensor) -> bool:
    return any(type(n) is int and n == 0 for n in fake.shape)


def _has_effect(node: fx.Node) -> bool:
    return isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable


def _shape_of(node: fx.Node) -> str:
    value = node.meta.get("val")
    return f"{value.dtype}{list(value.shape)}" if isinstance(value, torch.Tensor) else type(value).__name__
