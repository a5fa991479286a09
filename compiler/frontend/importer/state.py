"""What is known while one FX graph is imported, and the questions that importing a node asks of it.

The walk over the nodes (``walk.py``), extern calls, sub-graphs and, through ``Call``, the builders of ``ops``
import this module.  It imports none of them; of ``subgraph_calls.py`` it imports the class ``Subgraph``.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import Any

import torch
from torch import fx
from torch.utils import _pytree as pytree

from ...base.dataclass import dataclass
from ...base.errors import MissingValue, ReadAfterMutation, UnsupportedDtype, UnsupportedOp, UnsupportedValue
from ...base.launch import line_text
from ...base.options import Random
from ...base.remarks import Remarks
from ...fx.collectives import reads_until
from ...fx.frames import describe, user_line
from ...fx.table import target_name
from ...fx.torch_state import capability_of
from ...index import Expr, const
from ...ir.dialects import fuse
from ...ir.layout import TensorSpec
from ...mlir import ir
from .dtypes import BY_TORCH
from .interface import Fallback
from .module_builder import ModuleBuilder
from .subgraph_calls import Subgraph
from .symbols import SymbolTable
from .values import HostObject, Number, PassedOn, Tensor


@dataclass
class MainArguments:
    """The arguments that ``@main`` has so far; ``main_function.py`` adds them.

    attributes: of each argument, in order.  positions: value -> argument number, for each argument that is a
    tensor, and for its new value once it is mutated.  fakes: argument number -> the FX value of the tensor.
    constants: path in the FX module -> the tensor that the module holds there.  constant_tensors: path -> the
    argument that holds this tensor.
    """

    attributes: list[dict[str, ir.Attribute]] = field(default_factory=list)
    positions: dict[ir.Value, int] = field(default_factory=dict)
    fakes: dict[int, torch.Tensor] = field(default_factory=dict)
    constants: dict[str, torch.Tensor] = field(default_factory=dict)
    constant_tensors: dict[str, Tensor] = field(default_factory=dict)


@dataclass
class ImportState:
    """The state of one import of the graph ``gm`` into a module on ``device`` (``"cpu"``, ``"cuda:0"``).

    strict: what would fall back is an error.  failed: the ops whose builder failed when this import was tried
    before, and how.  random: as the option.  objects: what extern ops take that MLIR cannot hold, by name.
    outer_sizes: of a sub-graph, the sizes that it takes from the graph around it, with their bounds; None
    otherwise.
    """

    gm: fx.GraphModule
    context: ir.Context
    device: str
    strict: bool
    failed: dict[str, str] = field(default_factory=dict)
    random: Random = "generated"
    objects: dict[str, Any] = field(default_factory=dict)
    outer_sizes: Mapping[str, dict[str, ir.Attribute]] | None = None
    fallbacks: list[Fallback] = field(default_factory=list)
    remarks: Remarks = field(default_factory=Remarks)

    def __post_init__(self) -> None:
        self.device = _named(torch.device(self.device))
        self.capability = capability_of(self.device)
        self.builder = ModuleBuilder(self.context, self.device)
        self.symbols = SymbolTable(self.builder)
        self.arguments = MainArguments()
        self.values: dict[fx.Node, Any] = {}  #: of the nodes that are imported: see ``values.py``
        self.mutated: dict[int, ir.Value] = {}  #: argument of @main -> its new value
        self.subgraphs: dict[Any, Subgraph] = {}  #: the sub-graphs that are imported already
        #: node -> the tensors that keep their contents until it has run; for a wait, what the collective
        #: reads
        self.held: dict[fx.Node, list[fx.Node]] = reads_until(self.gm.graph)
        self._specs: dict[tuple[Any, ...], TensorSpec] = {}
        self._empty: dict[tuple[Any, ...], torch.Tensor] = {}
        self._devices: dict[torch.device, str | None] = {}
        self._host_numbers: dict[ir.Value, Number] = {}

    @contextmanager
    def inside(self, block: ir.Block, sizes: dict[str, ir.Value]) -> Iterator[None]:
        """While another function than ``@main`` is filled: ops go to ``block``, ``sizes`` are its arguments
        for the size symbols, and no value that is computed in it is known outside.
        """
        outside = self.builder.main_point, self._host_numbers, self.values
        self.builder.main_point = ir.InsertionPoint(block)
        self._host_numbers, self.values = {}, dict(self.values)
        try:
            with self.symbols.inside(sizes):
                yield
        finally:
            self.builder.main_point, self._host_numbers, self.values = outside

    # Values of nodes.
    def meta(self, node: fx.Node) -> Any:
        """The node's fake value.  Raises MissingValue."""
        if "val" in node.meta:
            return node.meta["val"]
        raise MissingValue(name=describe(node))

    def resolve(self, argument: Any, *, keeps_tuples: bool = False) -> Any:
        """An FX argument with nodes replaced by their values; all sequences are lists unless asked for."""
        if isinstance(argument, fx.Node):
            return self.current(argument)
        if isinstance(argument, (list, tuple)):
            resolved = [self.resolve(a, keeps_tuples=keeps_tuples) for a in argument]
            return tuple(resolved) if keeps_tuples and isinstance(argument, tuple) else resolved
        if isinstance(argument, dict):
            return {k: self.resolve(v, keeps_tuples=keeps_tuples) for k, v in argument.items()}
        if isinstance(argument, torch.SymInt):
            return self.symbols.expr(argument)
        return argument

    def current(self, node: fx.Node) -> Any:
        """The value that a node has now.  Raises UnsupportedValue for an argument that can only be returned,
        ReadAfterMutation for a view of an argument that has changed since.
        """
        value = self.values[node]
        if isinstance(value, PassedOn):
            raise UnsupportedValue(name=describe(node), kind=value.kind)
        is_argument = isinstance(value, Tensor) and value.value in self.arguments.positions
        if isinstance(value, Tensor) and value.root in self.mutated and not is_argument:
            raise ReadAfterMutation(name=describe(node), argument=f"argument {value.root}")
        return value

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

    def replace(self, tensor: Tensor, value: Tensor) -> None:
        """Records that an op has written ``value`` into the storage of ``tensor``: nodes after it read the
        new value.
        """
        if tensor.root is not None or tensor.value in self.arguments.positions:
            self.mutate(tensor, value)
            return
        for node, current in self.values.items():
            if current is tensor:
                self.values[node] = value

    # Layouts and numbers.
    def empty(self, like: torch.Tensor, sizes: Sequence[Any], dtype: torch.dtype) -> torch.Tensor:
        """The fake value of a contiguous tensor on the device of ``like``.  Making one takes 0.4 ms, and a
        model repeats its layers: those of equal static sizes are one.
        """
        key = (tuple(sizes), dtype, like.device)
        if not all(type(n) is int for n in sizes):
            return like.new_empty(sizes, dtype=dtype)
        if key not in self._empty:
            self._empty[key] = like.new_empty(sizes, dtype=dtype)
        return self._empty[key]

    def spec(
        self,
        fake: torch.Tensor,
        user: str,
        *,
        begin: Expr | None = None,
        argument: bool = False,
    ) -> TensorSpec:
        """Layout of ``fake``.  ``begin``: the offset of a view in the storage of its root; None for a root.
        ``argument``: of ``@main``.
        """
        sizes, strides = tuple(fake.shape), fake.stride()
        offset = const(0) if begin is None else self.symbols.require(begin, user)
        static = {*map(type, sizes), *map(type, strides)} <= {int}
        key = (sizes, strides, offset, fake.dtype, fake.device) if static else None
        known = None if key is None else self._specs.get(key)
        if known is not None:
            return known
        if fake.device.type == "meta":
            raise UnsupportedValue(name=user, kind="tensor on meta")
        row = BY_TORCH.get(fake.dtype)
        if row is None or fake.is_sparse or fake.layout != torch.strided or fake.is_quantized:
            raise UnsupportedDtype(
                name=user, dtype=fake.dtype if row is None else f"{fake.dtype} in {fake.layout} layout"
            )
        spec = TensorSpec(
            tuple(self.symbols.expr(n, user) for n in sizes),
            self.symbols.strides(fake, user, argument=argument, view=begin is not None),
            offset,
            row.element,
            self._device(fake.device),
        )
        if key is not None:
            self._specs[key] = spec
        return spec

    def host_number(self, tensor: Tensor, location: ir.Location) -> Number:
        """The element of a 0-d tensor on the host, ``f64`` or, for integers and bools, ``i64``: read once."""
        known = self._host_numbers.get(tensor.value)
        if known is None:
            known = self._host_numbers[tensor.value] = _host_number(self.builder, tensor, location)
        return known

    def _device(self, device: torch.device) -> str | None:
        if device not in self._devices:
            text = _named(device)
            self._devices[device] = None if text == self.device else text
        return self._devices[device]

    # What the module cannot hold.
    def host_object(self, name: str, value: Any) -> HostObject:
        """Enters ``value`` into ``objects`` under ``name`` or, if that is taken by another, ``name_1``.."""
        candidate, n = name, 0
        while candidate in self.objects and self.objects[candidate] is not value:
            n += 1
            candidate = f"{name}_{n}"
        self.objects[candidate] = value
        return HostObject(candidate, value)

    def fall_back(self, node: fx.Node, reason: str) -> None:
        """Records a fallback, with a remark: torch runs the op of ``node``.  Raises UnsupportedOp when
        strict.
        """
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


def _named(device: torch.device) -> str:
    """The name of a device in the module: with its number, but for the CPU."""
    return str(device) if device.type == "cpu" or device.index is not None else f"{device.type}:0"


def _host_number(builder: ModuleBuilder, tensor: Tensor, location: ir.Location) -> Number:
    """The element of a 0-d host tensor as ``f64`` or, for integers and bools, ``i64``."""
    dtype = torch.float64 if BY_TORCH[tensor.dtype].kind == "float" else torch.int64
    type_ = builder.element_type(BY_TORCH[dtype].value)
    with builder.context:
        attributes = {
            "fuse.extern": builder.string("aten._local_scalar_dense.default"),
            "fuse.args": ir.ArrayAttr.get([fuse.Arg.get(builder.int64(0))]),
            "fuse.kwargs": ir.DictAttr.get({}),
        }
    callee = builder.declare("host_scalar", [tensor.value.type], [type_], attributes, location)
    return Number(builder.call(callee, [tensor.value], [type_], location)[0], dtype)


def _shape_of(node: fx.Node) -> str:
    value = node.meta.get("val")
    return f"{value.dtype}{list(value.shape)}" if isinstance(value, torch.Tensor) else type(value).__name__
