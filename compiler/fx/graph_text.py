"""An FX graph as text that says everything the import reads of it: the key of the program cache.

Two graphs with one text are imported to the same module: operators with their arguments, names, sizes,
strides, offsets, element types and devices, the bounds and hints of symbols, and the user's lines, which end
up in kernel names, messages and provenance.  The values of tensors that the graph holds are no part of it:
they are arguments of ``@main``.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import fx

from .frames import user_line
from .new_node import CASCADE
from .roundings import rounds_implicitly
from .template_answers import template_key
from .templates import template_of
from .user_kernels import Opaque, is_launch, key_of

#: Types whose ``repr`` says all of the value.
_SPELT = (
    bool,
    int,
    float,
    complex,
    str,
    type(None),
    type(...),
    torch.dtype,
    torch.device,
    torch.layout,
    torch.memory_format,
)


#: Higher-order ops of which a node says everything: those whose sub-graphs are part of the module, and the
#: calls of ops that write to their arguments.
_SAID = frozenset(
    {
        "cond",
        "switch",
        "while_loop",
        "scan",
        "invoke_subgraph",
        "flex_gemm",
        "auto_functionalized",
        "auto_functionalized_v2",
    }
)


class NotCacheable(Exception):
    """The graph holds something that text cannot say; the message is why, in a few words."""


def held(module: torch.nn.Module, path: str) -> Any:
    """What a module holds under a dotted path."""
    found: Any = module
    for part in path.split("."):
        found = getattr(found, part)
    return found


def graph_text(gm: fx.GraphModule, example_inputs: Sequence[Any] = ()) -> str:
    """The text of ``gm``, one line per node, then one per symbol.

    ``example_inputs`` stand for placeholders without ``meta["val"]``, as in ``import_graph``.  The lines of a
    sub-graph are indented under its node.  Raises NotCacheable for higher-order ops that run as themselves,
    and arguments that only this process has.
    """
    writer = Writer(gm)
    examples = iter([*example_inputs, *[None] * len(gm.graph.nodes)])
    for node in gm.graph.nodes:
        writer.node(node, next(examples) if node.op == "placeholder" else None)
    writer.describe_symbols()
    return "\n".join(writer.lines)


class Writer:
    """The state of one printing."""

    def __init__(self, gm: fx.GraphModule) -> None:
        self.gm = gm
        self.lines: list[str] = []
        self._operators: dict[Any, str] = {}
        self._symbols: dict[Any, Any] = {}  #: symbol -> its ShapeEnv
        self._described = 0
        self._written: dict[fx.GraphModule, str] = {}

    def node(self, node: fx.Node, example: Any) -> None:
        meta = node.meta
        if node.op == "get_attr" and isinstance(found := held(self.gm, str(node.target)), fx.GraphModule):
            self._subgraph(node, found)
            return
        value = meta.get("val", example)
        kwargs = node.kwargs
        if is_launch(node):
            target, kwargs = self.launch(node)
        elif node.op == "call_function":
            target = self._operator(node.target) + self._template(node)
        elif node.op == "get_attr":
            target, value = str(node.target), self._held(node, value)
        elif node.op in ("placeholder", "output"):
            target = ""  # a placeholder is known by its position and the node's name
        else:
            raise NotCacheable(f"a node {node.op}")
        self.lines.append(
            f"{node.name} {node.op} {target} {self.value(node.args)} {self.value(kwargs)} "
            f"{self.value(value)} {meta.get('unbacked_bindings') or ''} "
            f"{'' if rounds_implicitly(node) else 'rounded '}{'cascade ' if CASCADE in meta else ''}"
            f"{user_line(node)}"
        )

    @staticmethod
    def launch(node: fx.Node) -> tuple[str, dict[str, Any]]:
        """A launch of a user's Triton kernel: what it launches, and the arguments of the node without the
        numbers that this process gives to kernels.
        """
        try:
            key = key_of(node)
        except Opaque as reason:
            raise NotCacheable(f"a user's Triton kernel: {reason}") from None
        numbers = ("kernel_idx", "constant_args_idx")
        return f"{node.target} {key}", {n: v for n, v in node.kwargs.items() if n not in numbers}

    def _template(self, node: fx.Node) -> str:
        """What the template of the node's op answers; nothing where it has none, or declines."""
        template = template_of(node)
        if template is None:
            return ""
        try:
            return f" {template_key(node, template, self.value)}"
        except Opaque as reason:
            raise NotCacheable(f"a template: {reason}") from None

    def _subgraph(self, node: fx.Node, graph: fx.GraphModule) -> None:
        known = self._written.setdefault(graph, node.name)
        self.lines.append(f"{node.name} get_attr {node.target} {'' if known == node.name else known}")
        if known != node.name:
            return
        inside = Writer(graph)
        inside._operators, inside._symbols = self._operators, self._symbols
        for part in graph.graph.nodes:
            inside.node(part, None)
        self.lines += ["  " + line for line in inside.lines]

    def describe_symbols(self) -> None:
        """Bounds and hints, which the import hands on; they may be in terms of no further symbols."""
        for symbol, env in sorted(self._symbols.items(), key=lambda item: str(item[0])):
            if env is None:
                continue
            bounds = env.var_to_range.get(symbol)
            hints = getattr(env, "backed_var_to_val", None) or getattr(env, "var_to_val", None) or {}
            limits = "" if bounds is None else f"{bounds.lower} {bounds.upper}"
            self.lines.append(f"{symbol} {symbol.assumptions0.get('integer')} {limits} {hints.get(symbol)}")

    def _operator(self, target: Any) -> str:
        known = self._operators.get(target)
        if known is not None:
            return known
        if isinstance(target, torch._ops.OpOverload):
            # the schema says what is written and what aliases what; torch's own come with its version
            own = target.namespace in ("aten", "prims")
            text = str(target) if own else f"{target._schema} {sorted(map(str, target.tags))}"
        elif isinstance(target, torch._ops.HigherOrderOperator):
            if target.name() not in _SAID:
                raise NotCacheable(f"the higher-order op {target.name()}")
            text = f"higher_order.{target.name()}"
        else:
            text = f"{target.__module__}.{target.__qualname__}"
            if "<" in text:
                raise NotCacheable(f"the function {text}")
        self._operators[target] = text
        return text

    def _held(self, node: fx.Node, value: Any) -> Any:
        """What a ``get_attr`` gives, which the import describes by its metadata."""
        found = held(self.gm, str(node.target))
        if not isinstance(found, torch.Tensor):
            raise NotCacheable(f"the attribute {node.target}, a {type(found).__name__}")
        return found if value is None else value

    def value(self, value: Any) -> str:
        if isinstance(value, fx.Node):
            return f"%{value.name}"
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            return f"{type(value).__name__}({self._expression(value)})"
        if isinstance(value, (tuple, list)):
            return f"{type(value).__name__}[{', '.join(map(self.value, value))}]"
        if isinstance(value, dict):
            return f"{{{', '.join(f'{name!r}: {self.value(v)}' for name, v in value.items())}}}"
        if isinstance(value, slice):
            return f"slice[{self.value((value.start, value.stop, value.step))}]"
        if isinstance(value, _SPELT):
            return repr(value)
        if isinstance(value, torch._ops.OpOverload):
            return self._operator(value)
        raise NotCacheable(f"an argument of type {type(value).__name__}")

    def _tensor(self, tensor: torch.Tensor) -> str:
        if tensor.layout is not torch.strided or tensor.is_quantized:
            raise NotCacheable(f"a tensor in {tensor.layout} layout")
        sizes, strides = self._sizes(tensor.shape), self._sizes(tensor.stride())
        offset = self._sizes((tensor.storage_offset(),))
        return f"{tensor.dtype}[{sizes}; {strides}; {offset}; {tensor.device}]"

    def _sizes(self, sizes: Iterable[Any]) -> str:
        return ",".join([str(n) if type(n) is int else self._expression(n) for n in sizes])

    def _expression(self, size: Any) -> str:
        expression = size.node.expr
        for symbol in expression.free_symbols:
            self._symbols.setdefault(symbol, size.node.shape_env)
        return str(expression)
