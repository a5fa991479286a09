"""What shares memory in a captured graph, and who writes it, against what happens when the graph runs."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.fx import GraphModule, Interpreter, Node
from torch.nn import functional as F
from torch.utils import _pytree as pytree

from fuse_mlir.compiler.rewrites.captured.memory import SharedMemory, effect

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


class Watched(Interpreter):
    """Runs a graph and asserts that what shares memory, or was written, is what ``memory`` says."""

    def __init__(self, gm: GraphModule, memory: SharedMemory) -> None:
        super().__init__(gm, garbage_collect_values=False)
        self.memory, self.written = memory, 0

    def tensors(self) -> list[tuple[Node, Tensor]]:
        return [(n, t) for n, v in self.env.items() for t in pytree.tree_leaves(v) if isinstance(t, Tensor)]

    def run_node(self, n: Node) -> Any:
        before = [(node, t, t.detach().clone()) for node, t in self.tensors()]
        result = super().run_node(n)
        for node, tensor, old in before:
            if tensor.shape != old.shape or not torch.equal(tensor.detach(), old):
                self.written += 1
                assert n in self.memory.writers(node), f"{n.format_node()} writes {node}"
        for tensor in pytree.tree_leaves(result):
            for node, other, _ in before if isinstance(tensor, Tensor) else ():
                if tensor.untyped_storage()._cdata == other.untyped_storage()._cdata and n.op != "output":
                    assert self.memory.shares(n, node), f"{n.format_node()} shares memory with {node}"
        return result


def watched(function, *args: Tensor) -> Watched:
    """Runs the one graph that Dynamo captures of a function."""
    found: list[Watched] = []

    def backend(gm: GraphModule, inputs: Any) -> Any:
        found.append(Watched(gm, SharedMemory(gm.graph)))
        return gm

    torch.compile(function, backend=backend, fullgraph=True)(*[a.clone() for a in args])
    found[0].run(*[a.clone() for a in args])
    return found[0]


@torch.library.custom_op("fuse_test_memory::scale_first", mutates_args={"x"})
def scale_first(x: Tensor, y: Tensor) -> None:
    x[0] *= 2 + y.numel() * 0


#: Each gives a tensor, or several, in the memory of a square one.
VIEWS = {
    "itself": lambda m: m,
    "row": lambda m: m[0],
    "rows": lambda m: m[1:3],
    "columns": lambda m: m[:, ::2],
    "none": lambda m: m[None, ..., None],
    "diagonal": lambda m: m.diagonal(),
    "function": lambda m: torch.diagonal(m, 1),
    "t": lambda m: m.t(),
    "T": lambda m: m.T,
    "mT": lambda m: m.mT,
    "view": lambda m: m.view(-1),
    "reshape": lambda m: m.reshape(2, -1),
    "flatten": lambda m: m.flatten(),
    "unbind": lambda m: m.unbind(1)[1],
    "split": lambda m: m.split(2)[1],
    "chunk": lambda m: m.chunk(2, 1)[0],
    "tensor_split": lambda m: torch.tensor_split(m, 2)[1],
    "iterated": lambda m: list(m)[1],
    "select": lambda m: m.select(1, 2),
    "narrow": lambda m: m.narrow(0, 1, 2),
    "unfold": lambda m: m.unfold(0, 2, 2),
    "expand": lambda m: m[:1].expand(1, 4),
    "permute": lambda m: m.permute(1, 0),
    "swapaxes": lambda m: m.swapaxes(0, 1),
    "movedim": lambda m: m.movedim(0, 1),
    "as_strided": lambda m: m.as_strided((2,), (5,)),
    "detach": lambda m: m.detach(),
    "data": lambda m: m.data,
    "contiguous": lambda m: m.contiguous(),
    "to": lambda m: m.to(m.dtype),
    "type_as": lambda m: m.type_as(m),
    "view_as": lambda m: m.view_as(m),
    "unsqueeze": lambda m: m.unsqueeze(0),
    "squeeze": lambda m: m.squeeze(),
    "ravel": lambda m: m.ravel(),
    "hsplit": lambda m: m.hsplit(2)[0],
    "view_dtype": lambda m: m.view(m.dtype),
    "alias": lambda m: torch.ops.aten.alias(m),
    "atleast": lambda m: torch.atleast_3d(m),
    "real": lambda m: torch.real(m),
    "dropout": lambda m: F.dropout(m, 0.5, False),
}

#: Each writes to a tensor.
WRITERS = {
    "zero_": lambda x: x.zero_(),
    "fill_": lambda x: x.fill_(3),
    "function": lambda x: torch.fill_(x, 3),
    "setitem": lambda x: x.__setitem__(0, 5.0),
    "ellipsis": lambda x: x.__setitem__(..., 5.0),
    "copy_": lambda x: x.copy_(x * 0 + 4),
    "out": lambda x: torch.add(x, 1, out=x),
    "masked_fill_": lambda x: x.masked_fill_(x < 9, 1.0),
    "foreach": lambda x: torch._foreach_add_([x], 1.0),
    "foreach_copy": lambda x: torch._foreach_copy_([x], [x * 2 + 1]),
    "relu_": lambda x: F.relu(x.sub_(5), inplace=True),
    "inplace": lambda x: F.hardtanh(x, -0.5, 0.5, True),
    "index_fill_": lambda x: x.index_fill_(0, torch.zeros(1, dtype=torch.long), 7.0),
    "data": lambda x: x.data.mul_(3).add_(1),
    "custom": lambda x: scale_first(x, x + 1),
    "aten": lambda x: torch.ops.aten.add_(x, 2),
    "index_put_": lambda x: x.index_put_((torch.zeros(1, dtype=torch.long),), torch.full((), 4.0)),
    "lerp_": lambda x: x.lerp_(x + 1, 0.5),
    "tril": lambda x: torch.clamp(x, 5, 6, out=x),
    "mul_of_view": lambda x: x[..., :1].mul_(0).sub_(1),
    "method": lambda x: torch.Tensor.add_(x, 1),
}


def iadd(x):
    x += 1


def imul(x):
    x *= 3


def numpy_like(x):
    x.numpy()[..., 0] = 6


WRITERS |= {f.__name__: f for f in (iadd, imul, numpy_like)}


def write_through(writer, view):
    def function(x):
        base = x + 1
        writer(view(base))
        return base * 2

    return function


@pytest.mark.parametrize("writer", WRITERS)
def test_writers_through_views(writer):
    for view in ("itself", "row", "columns", "t", "unbind"):
        if writer in ("numpy_like", "out", "tril") and view != "itself":
            continue
        assert watched(write_through(WRITERS[writer], VIEWS[view]), torch.randn(4, 4)).written, view
        torch._dynamo.reset()


@pytest.mark.parametrize("view", VIEWS)
def test_views_that_are_written(view):
    def function(x):
        base = x + 1
        kept = base[2:] if view != "row" else base
        VIEWS[view](base).mul_(3)
        return base * 2, kept

    assert watched(function, torch.randn(4, 4)).written


def test_arguments_and_what_nothing_says():
    def function(x, y):
        base = x.sin()
        torch.cond(y.sum() > 0, lambda a: a.sin(), lambda a: a.cos(), (base,))
        return base

    run = watched(function, torch.randn(4), torch.randn(4))
    nodes = {n.name: n for n in run.module.graph.nodes}
    x, y = (n for n in run.module.graph.nodes if n.op == "placeholder" and "l_" in n.name)
    assert run.memory.shares(x, y), "arguments may overlap"
    assert [w.target for w in run.memory.writers(nodes["base"])] == [torch.ops.higher_order.cond]


def test_a_tensor_that_gets_another_storage():
    graph = torch.fx.Graph()
    with torch._subclasses.FakeTensorMode():
        values = {"x": torch.empty(4), "base": torch.empty(4), "other": torch.empty(4)}
    x = graph.placeholder("x")
    base, other = (graph.call_function(torch.add, (x, n)) for n in (1, 2))
    for node, name in ((x, "x"), (base, "base"), (other, "other")):
        node.meta["example_value"] = values[name]
    graph.call_method("set_", (base, other))
    written = graph.call_method("zero_", (base,))
    graph.output(other)
    assert written in SharedMemory(graph).writers(other)


def call(target, *args: Any, **kwargs: Any) -> Node:
    """A call of a target by its name (a method) or itself, of two placeholders."""
    graph = torch.fx.Graph()
    given = {name: graph.placeholder(name) for name in "xy"}
    args, kwargs = pytree.tree_map(lambda a: given.get(a, a) if isinstance(a, str) else a, (args, kwargs))
    return graph.create_node(
        "call_method" if isinstance(target, str) else "call_function", target, args, kwargs
    )


READS = (
    ("add", "x", "y"),
    ("__and__", "x", "y"),
    ("__rsub__", "x", 1),
    ("__getitem__", "x", 0),
    (torch.add, "x", "y"),
    ("view", "x", 4),
    (F.relu, "x", False),
    (F.embedding, "x", "y"),
    (F.softmax, "x", -1),
    (torch.special.expit, "x"),
    (F.gelu, "x"),
    (F.max_pool2d, "x", 2),
    (torch.linalg.inv, "x"),
    (torch.einsum, "ij->ji", "x"),
    (F.scaled_dot_product_attention, "x", "x", "y"),
    (torch.ops.aten.add.Tensor, "x", "y"),
    (torch._foreach_add, ["x", "y"], 1),
)


@pytest.mark.parametrize("case", READS, ids=lambda case: getattr(case[0], "__name__", str(case[0])))
def test_what_only_reads(case):
    found = effect(call(*case))
    assert not found.writes and not found.opaque


OPAQUE = (
    (F.batch_norm, "x", "y", "y", None, None, True),
    (torch.batch_norm, "x", None, None, "y", "y", True, 0.1, 1e-5, True),
    (torch.ops.aten._native_batch_norm_legit.default, "x"),
    (torch._C._set_grad_enabled, False),
    (print, "x"),
    ("backward", "x"),
    ("no_such_method", "x"),
    (torch.utils.checkpoint.checkpoint, "x"),
    ("set_", "x", "y"),
)


@pytest.mark.parametrize("case", OPAQUE, ids=lambda case: getattr(case[0], "__name__", str(case[0])))
def test_what_nothing_is_known_of(case):
    assert effect(call(*case)).opaque


def test_what_is_written():
    for target, args, kwargs, names in (
        (F.relu, ("x", True), {}, "x"),
        (F.relu, ("x", 1), {}, "x"),
        (F.dropout, ("x", 0.5, True, True), {}, "x"),
        (F.embedding, ("x", "y"), {"max_norm": 1.0}, "xy"),
        (torch.add, ("x", 1), {"out": "y"}, "y"),
        ("copy_", ("x", "y"), {}, "x"),
        ("__setitem__", ("x", 0, "y"), {}, "x"),
        (torch._foreach_copy_, (["x"], ["y"]), {}, "x"),
        (torch.ops.aten.copy_.default, ("x", "y"), {}, "x"),
        (torch.ops.aten.add.out, ("x", 1), {"out": "y"}, "y"),
    ):
        assert {n.name for n in effect(call(target, *args, **kwargs)).writes} == set(names)


def test_a_packet_of_torch_writes_what_its_overloads_write():
    """Dynamo captures ``x.T`` as ``aten.numpy_T`` from torch 2.14 on, without an overload."""
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    reads = graph.call_function(torch.ops.aten.numpy_T, (x,))
    writes = graph.call_function(torch.ops.aten.add_, (x, reads))
    rebinds = graph.call_function(torch.ops.aten.set_, (x, reads))
    unknown = graph.call_function(torch.ops.quantized.add, (x, reads))
    assert not effect(reads).opaque and effect(reads).writes == ()
    assert not effect(writes).opaque and effect(writes).writes == (x,)
    assert effect(rebinds).opaque and effect(unknown).opaque
