"""What the importer makes of whole graphs: structure, locations, sizes, mutation, externs, outputs."""

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from functorch.compile import make_boxed_func
from import_one import capture, graph_of, imported, outputs
from torch._dynamo.backends.common import aot_autograd
from torch._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily

from fuse_mlir.compiler.base.errors import MissingValue, UnsupportedDtype, UnsupportedOp
from fuse_mlir.compiler.frontend.autograd.decompositions import decomposition_table
from fuse_mlir.compiler.frontend.importer.importer import (
    ImportedGraph,
    OutputConstant,
    OutputResult,
    import_graph,
)
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.ir.kernel import Kernel, is_kernel, string
from fuse_mlir.compiler.ir.layout import TensorSpec

T = torch.Tensor
aten = torch.ops.aten


def compiled(
    function: Callable[..., Any], inputs: list[Any], *, dynamic: bool = False, **options: Any
) -> tuple[Any, list[ImportedGraph]]:
    """``function(*inputs)`` through Dynamo, AOTAutograd, the importer and the interpreter; the modules that
    were made.
    """
    torch._dynamo.reset()
    graphs: list[ImportedGraph] = []

    def compile_graph(gm: torch.fx.GraphModule, examples: list[Any]) -> Any:
        graph = imported(gm, **options)
        graphs.append(graph)

        def run(*args: Any) -> Any:
            with unset_fake_temporarily():
                return outputs(graph, list(args))

        return make_boxed_func(run)

    backend = aot_autograd(
        fw_compiler=compile_graph, bw_compiler=compile_graph, decompositions=decomposition_table()
    )
    return torch.compile(function, backend=backend, dynamic=dynamic, fullgraph=True)(*inputs), graphs


def functions(graph: ImportedGraph) -> dict[str, Any]:
    """Functions of the module by name."""
    return {string(op.attributes["sym_name"]): op.operation for op in graph.module.body.operations}


def kernels(graph: ImportedGraph) -> list[Kernel]:
    return [Kernel.of(f) for f in functions(graph).values() if is_kernel(f)]


def main_line(graph: ImportedGraph) -> str:
    """The line that declares @main."""
    return next(line for line in str(graph.module).splitlines() if "@main" in line)


def mlp() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 4)
    )


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_training_of_an_mlp(dynamic: bool) -> None:
    """Forward and backward agree with eager in float64."""
    model = mlp()
    x, weight = torch.randn(5, 8), torch.randn(5, 4)
    ours, graphs = compiled(lambda x: model(x), [x], dynamic=dynamic)
    (ours * weight).sum().backward()
    ours_grads = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    theirs = model.double()(x.double())
    model.zero_grad()
    (theirs * weight).sum().backward()
    torch.testing.assert_close(ours.double(), theirs, rtol=1e-5, atol=1e-6)
    for a, p in zip(ours_grads, model.parameters(), strict=True):
        torch.testing.assert_close(a.double(), p.grad, rtol=1e-4, atol=1e-5)
    assert len(graphs) == 2
    assert [f.target for g in graphs for f in g.fallbacks] == []
    assert ("fuse.sym" in main_line(graphs[0])) == dynamic


def test_text_is_the_same_every_time() -> None:
    model = mlp()
    texts = {
        str(compiled(lambda x: model(x), [torch.randn(5, 8)], dynamic=True)[1][0].module) for _ in range(2)
    }
    assert len(texts) == 1


def test_a_kernel_stores_into_an_empty_and_takes_its_symbols() -> None:
    graph = imported(capture(lambda x: aten.add.Tensor(x, 1.5), torch.randn(3, 1, 4), symbolic=True))
    (kernel,) = kernels(graph)
    assert kernel.ties == (1,) and len(kernel.dims) == 2, "no dim for the size 1"
    assert [str(c) for c in kernel.stores[0].coords] == ["d0", "0", "d1"]
    assert set(kernel.symbols) == {str(e) for e in kernel.dims.values()}
    assert [str(e) for e in kernel.spec(0).sizes] == [str(kernel.dims["d0"]), "1", str(kernel.dims["d1"])]


def test_half_precision_computes_in_float32_and_rounds_once() -> None:
    text = str(imported(capture(lambda x: aten.add.Tensor(x, x), torch.randn(4).bfloat16())).module)
    assert text.count("arith.extf") == 1 and text.count("arith.truncf") == 1
    assert re.search(r"arith.addf .* : f32", text)


def test_locations_name_the_node_and_the_users_line() -> None:
    def function(x: T) -> T:
        return x.exp()  # this line

    _, (graph,) = compiled(function, [torch.randn(3)])
    line = function.__code__.co_firstlineno + 1
    text = graph.module.operation.get_asm(enable_debug_info=True)
    assert re.search(rf'loc\("[^"]*test_importer.py":{line}:0\)', text)
    assert re.search(r'loc\("exp"\(#loc', text)
    assert "site-packages/torch/" not in text


def test_size_symbols_have_bounds_and_hints() -> None:
    _, (graph,) = compiled(lambda x: x * 2, [torch.randn(6, 5)], dynamic=True)
    assert re.search(
        r'index \{fuse.hint = 6 : i64, fuse.min = 2 : i64, fuse.sym = "s\d+"\}', main_line(graph)
    )


def test_sizes_that_no_argument_gives_are_read_off_a_tensor() -> None:
    graph = imported(capture(lambda x: aten.mul.Tensor(x, 2.0), torch.randn(6, 5), symbolic=True))
    assert str(graph.module).count('"fuse.size"') == 2
    assert torch.equal(outputs(graph, [torch.ones(9, 2)]), torch.full((9, 2), 2.0))


def test_a_new_size_works_without_a_new_import() -> None:
    graph = imported(
        capture(lambda x: aten.view.default(x + 1, [-1]) * x.shape[0], torch.randn(6, 4), symbolic=True)
    )
    x = torch.randn(11, 3)
    torch.testing.assert_close(outputs(graph, [x]), (x + 1).view(-1) * 11)


def test_size_expressions_of_the_host() -> None:
    """A maximum, and a ceiling of a quotient, become extern calls."""

    def function(x: T, y: T) -> list[T]:
        return [torch.zeros(max(x.shape[0], y.shape[0])) + 1, torch.arange(0, 1, 1 / x.shape[0])]

    ours, (graph,) = compiled(function, [torch.randn(3), torch.randn(7)], dynamic=True)
    for a, b in zip(ours, function(torch.randn(3), torch.randn(7)), strict=True):
        torch.testing.assert_close(a, b)
    assert "math.ceil" in str(graph.module)


def test_mutation_is_a_store_into_the_argument() -> None:
    gm = graph_of(aten.copy_.default, [torch.zeros(3, 4), torch.ones(4)])
    graph = imported(gm)
    (kernel,) = kernels(graph)
    assert kernel.ties == (1,) and "fuse.empty" not in str(graph.module)
    assert 'fuse.mutates = {"0" = 0 : i64}' in str(graph.module)
    x = torch.zeros(3, 4)
    outputs(graph, [x, torch.arange(4.0)])
    assert torch.equal(x, torch.arange(4.0).expand(3, 4))


def test_a_mutated_input_that_is_read_before_and_returned() -> None:
    def function(x: T) -> T:
        y = x.exp()
        x.mul_(2)
        return y + x

    x = torch.randn(5)
    a, b = x.clone(), x.clone()
    ours, _ = compiled(function, [a])
    torch.testing.assert_close(ours, function(b))
    torch.testing.assert_close(a, b)


def test_outputs_that_are_inputs_none_numbers_and_twice_the_same() -> None:
    def function(x: T) -> tuple[Any, ...]:
        y = aten.neg.default(x)
        return y, None, x, y, 3

    graph = imported(capture(function, torch.randn(3)))
    assert graph.output_spec == (
        OutputResult(0), OutputConstant(None), OutputResult(1), OutputResult(0), OutputConstant(3),
    )  # fmt: skip
    x = torch.randn(3)
    y, none, same, again, three = outputs(graph, [x])
    assert (
        same.data_ptr() == x.data_ptr() and again is y and none is None and three == 3 and torch.equal(y, -x)
    )


def test_graph_without_inputs() -> None:
    assert torch.equal(
        outputs(imported(capture(lambda: aten.full.default([2], 3.0))), []), torch.full((2,), 3.0)
    )


def test_empty_tensors_make_no_kernel() -> None:
    graph = imported(capture(lambda x: aten.exp.default(aten.slice.Tensor(x, 0, 0, 0)), torch.randn(3, 4)))
    assert kernels(graph) == []
    assert outputs(graph, [torch.randn(3, 4)]).shape == (0, 4)


def test_constants_become_arguments_after_the_inputs() -> None:
    root = torch.nn.Module()
    root.register_buffer("weights", torch.randn(3))
    gm = graph_of(aten.add.Tensor, [torch.ones(3), torch.ones(3)])
    _, second = gm.graph.find_nodes(op="placeholder")
    with gm.graph.inserting_before(second):
        constant = gm.graph.get_attr("weights")
    constant.meta["val"] = second.meta["val"]
    second.replace_all_uses_with(constant)
    gm.graph.erase_node(second)
    graph = imported(torch.fx.GraphModule(root, gm.graph))
    assert list(graph.constants) == ["weights"] and 'fuse.constant = "weights"' in main_line(graph)
    x = torch.randn(3)
    torch.testing.assert_close(outputs(graph, [x]), x + root.weights)


def test_an_input_with_a_storage_offset_is_the_root_of_its_views() -> None:
    graph = imported(capture(lambda x: aten.slice.Tensor(x, 0, 1, 9) + 0, torch.randn(10, 4)[2:]))
    main = functions(graph)["main"].regions[0].blocks[0]
    assert TensorSpec.of(main.arguments[0].type).offset == 0
    view = next(op for op in main.operations if op.operation.name == "fuse.view")
    assert TensorSpec.of(view.operation.results[0].type).offset == 4


def test_whole_ops_are_no_fallbacks() -> None:
    graph = imported(
        capture(lambda a, b: aten.mm.default(a, b), torch.randn(2, 3), torch.randn(3, 4)), strict=True
    )
    assert graph.fallbacks == () and 'fuse.extern = "aten.mm.default"' in str(graph.module)


def test_a_fallback_is_counted_remarked_and_right() -> None:
    x = torch.randn(4, 4)
    graph = imported(capture(lambda x: aten.linalg_inv_ex.default(x)[0] + 1, x))
    (fallback,) = graph.fallbacks
    assert fallback.target == "aten.linalg_inv_ex.default" and "no lowering" in fallback.reason
    assert [r.rule for r in graph.remarks.items] == ["fallback"]
    torch.testing.assert_close(outputs(graph, [x]), torch.linalg.inv(x) + 1)


def test_strict_raises_with_the_op_its_operands_and_the_place() -> None:
    gm = capture(lambda x: aten.linalg_inv_ex.default(x)[0], torch.randn(4, 4))
    with pytest.raises(
        UnsupportedOp, match=r"aten.linalg_inv_ex.default on torch.float32\[4, 4\] .* \(at linalg_inv_ex"
    ):
        import_graph(gm, (), context=make_context(), device="cpu", strict=True)


def test_complex_numbers_pass_through_externs() -> None:
    x = torch.randn(6, 2)
    graph = imported(
        capture(lambda x: aten.view_as_real.default(aten.mul.Tensor(aten.view_as_complex.default(x), 2)), x)
    )
    assert "complex<f32>" in str(graph.module)
    assert [f.target for f in graph.fallbacks] == ["aten.mul.Tensor"]
    torch.testing.assert_close(outputs(graph, [x]), x * 2)


def test_no_kernel_reads_a_view_that_is_negated_when_it_is_read() -> None:
    x = torch.randn(6)
    graph = imported(capture(lambda x: aten.clone.default(aten._neg_view.default(x)), x))
    [fallback] = graph.fallbacks
    assert fallback.target == "aten.clone.default" and "negated" in fallback.reason
    torch.testing.assert_close(outputs(graph, [x]), -x)


def test_aliases_and_mutations_of_externs_come_from_the_schema() -> None:
    text = str(imported(capture(lambda x: aten.view_as_complex.default(x), torch.randn(6, 2))).module)
    assert 'fuse.aliases = {"0" = 0 : i64}' in text
    text = str(imported(graph_of(aten.mul_.Tensor, [torch.ones(3), torch.ones(3)])).module)
    assert "fuse.mutated = array<i64: 0>" in text


def test_effects_are_marked() -> None:
    """A draw from a generator keeps its place among the others; a whole op without one does not."""
    drawn = str(imported(capture(lambda x: aten.multinomial.default(x, 2), torch.ones(3))).module)
    assert "fuse.effect" in drawn
    plain = str(imported(capture(lambda x: aten.mm.default(x, x), torch.ones(3, 3))).module)
    assert "fuse.effect" not in plain


def test_sub_graphs_of_ops_without_a_form_in_the_module_are_host_objects() -> None:
    from torch._higher_order_ops.map import map

    def function(x: T) -> T:
        return map(lambda row: row.sin(), x)

    x = torch.randn(3, 4)
    ours, (graph,) = compiled(function, [x])
    assert any(isinstance(o, torch.fx.GraphModule) for o in graph.objects.values())
    assert '#fuse.torch<"object:' in str(graph.module)
    torch.testing.assert_close(ours, x.sin())


def test_what_a_nested_module_holds_is_no_host_object() -> None:
    def function(x: T) -> T:
        return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))

    x = torch.randn(4)
    ours, (graph,) = compiled(function, [x])
    assert graph.objects == {} and "fuse.graph" in str(graph.module)
    torch.testing.assert_close(ours, function(x))


def test_unbacked_sizes_come_from_their_producer() -> None:
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True, capture_scalar_outputs=True):
        x = torch.tensor([0, 3, 0, 4, 5])
        ours, (graph,) = compiled(lambda x: torch.nonzero(x) * 2, [x])
        assert torch.equal(ours, torch.nonzero(x) * 2)
        assert re.search(r'"fuse.size".*symbol = "u\d+"', str(graph.module))
        ours, (graph,) = compiled(lambda n: torch.ones(n.item(), 2) + n.item(), [torch.tensor(3)])
        assert torch.equal(ours, torch.full((3, 2), 4.0))
        assert re.search(r'_local_scalar_dense.*|fuse.sym = "u\d+"', str(graph.module))


def test_floats_of_the_host_are_arguments_of_kernels() -> None:
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        ours, (graph,) = compiled(
            lambda x, s: x * torch.full_like(x, s.item()), [torch.ones(4), torch.tensor(2.5)]
        )
    torch.testing.assert_close(ours, torch.full((4,), 2.5))
    assert any("f64" in [str(a.type) for a in k.arguments] for k in kernels(graph))


def test_a_cpu_number_in_a_gpu_kernel_is_an_argument() -> None:
    """Fake CUDA tensors suffice for an import."""
    mode = FakeTensorMode()
    gm = torch.fx.GraphModule(torch.nn.Module(), torch.fx.Graph())
    with mode:
        x, s = torch.empty(4, device="cuda"), torch.empty((), dtype=torch.float64)
        nodes = [gm.graph.placeholder(n) for n in ("x", "s")]
        add = gm.graph.call_function(aten.mul.Tensor, tuple(nodes))
        for node, value in zip([*nodes, add], [x, s, aten.mul.Tensor(x, s)], strict=True):
            node.meta["val"] = value
    gm.graph.output((add,))
    graph = import_graph(gm, (), context=make_context(), device="cuda:0", strict=True)
    assert graph.module.operation.verify()
    (kernel,) = kernels(graph)
    assert [str(a.type) for a in kernel.arguments] == ["tensor<4xf32>", "tensor<4xf32>", "f64"]
    assert 'tensor<f64, #fuse.layout<"", "", "0", "cpu">>' in main_line(graph)


def test_a_graph_without_fake_values_is_refused() -> None:
    gm = torch.fx.symbolic_trace(lambda x: x.exp())
    gm.graph.find_nodes(op="placeholder")[0].meta["val"] = torch.ones(3)
    with pytest.raises(Exception, match="call_method node") as caught:
        import_graph(gm, (), context=make_context(), device="cpu")
    assert caught.type.__name__ == "UnsupportedValue"
    graph = torch.fx.Graph()
    graph.output(graph.call_function(aten.exp.default, (graph.placeholder("x"),)))
    with pytest.raises(MissingValue, match="node exp"):
        import_graph(
            torch.fx.GraphModule(torch.nn.Module(), graph),
            [torch.ones(3)],
            context=make_context(),
            device="cpu",
        )


def test_quantised_tensors_are_refused_by_name() -> None:
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    x.meta["val"] = torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)
    graph.output(x)
    with pytest.raises(UnsupportedDtype, match=r"x has elements of torch\.qint8"):
        import_graph(torch.fx.GraphModule(torch.nn.Module(), graph), (), context=make_context(), device="cpu")
