"""FX output: what its nodes say, that it can be changed and traced again, and that it is the plan to the bit
for mutation, views, sizes, random numbers and assertions.
"""

from dataclasses import replace

import pytest
import torch
from compiling import Compiled, cloned
from fx_beside_plan import assert_same_bits, fx_beside_plan
from interpreted_gpu import interpreted_gpu
from torch import Tensor
from torch.fx import GraphModule, Interpreter
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional as F

from fuse_mlir.compiler.base.options import OptionError, Options
from fuse_mlir.compiler.driver.fx_program import fx_program
from fuse_mlir.compiler.driver.program import FinalModule
from fuse_mlir.compiler.runtime.cuda_graphs.partitions import partitioned_plan
from fuse_mlir.compiler.runtime.errors import DeviceAssertError, RunError
from fuse_mlir.compiler.runtime.fx_output.kernels import FxKernel, kernel_named, kernel_of

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")

FX = {"output": "fx"}
LAUNCH = "fuse_mlir.launch.default"


def targets(module: GraphModule) -> list[str]:
    return [str(node.target) for node in module.graph.nodes if node.op == "call_function"]


def layer(x, weight, bias):
    return F.gelu(x @ weight + bias).softmax(-1)


def arguments():
    return [torch.randn(6, 16), torch.randn(16, 12), torch.randn(12)]


def compiled_layer(dynamic=False, **options):
    """The graph of `layer`, arguments of its module, and the tensor that it gives."""
    compiled, args = Compiled(layer, {**FX, **options}, dynamic), arguments()
    result = compiled(*args)
    (graph,) = compiled.graphs
    return graph, with_sizes(graph.fx(), args), result


def with_sizes(module: GraphModule, tensors: list[Tensor]) -> list:
    """Arguments of a module: the tensors in order, and sizes as when it was made."""
    rest = iter(tensors)
    values = [node.meta["val"] for node in module.graph.find_nodes(op="placeholder")]
    return [v.node.hint if isinstance(v, torch.SymInt) else next(rest) for v in values]


def same_as_plan(function, *args, dynamic=False, backward=False, **options) -> list[GraphModule]:
    """The modules of the graphs of a function, each of which ran beside its plan."""
    with fx_beside_plan() as equal:
        compiled = Compiled(function, {**FX, **options}, dynamic)
        results = compiled(*args)
        if backward:
            sum(r.sum() for r in results).backward()
    assert [id(g) for g in equal] == [id(g) for g in compiled.graphs]
    return [graph.fx() for graph in compiled.graphs]


@pytest.mark.products("auto")  # a product is a call
def test_nodes_say_what_runs_and_where_it_comes_from():
    graph, _, _ = compiled_layer()
    module = graph.fx()
    assert module is graph.fx()
    assert "aten.mm.default" in targets(module) and LAUNCH in targets(module)
    (launch,) = [node for node in module.graph.nodes if kernel_of(node) is not None]
    kernel = kernel_of(launch)
    name, grid, read, written, numbers = launch.args
    assert kernel is kernel_named(name) and "tt.func" in kernel.ttir and "fused" in name
    assert len(grid) == 3 and len(kernel.pointers) == len(read) + len(written) and not numbers
    assert written[0] in next(iter(module.graph.find_nodes(op="output"))).args[0]
    assert {"gelu", "exp"} <= set(launch.meta["fuse_origin"].nodes)
    for node in module.graph.nodes:
        assert "val" in node.meta and "fuse_origin" in node.meta
    text = module.print_readable(print_output=False)
    assert "F.gelu(x @ weight + bias).softmax(-1)" in text and "f32[6, 12]" in text and name in text
    assert name in module.code


@pytest.mark.products("auto")  # a product is a call
@pytest.mark.parametrize("dynamic", [False, True])
def test_metadata_is_what_runs(dynamic):
    """Each node gives what its `meta["val"]` says: kind, dtype, sizes and strides."""
    graph, given, _ = compiled_layer(dynamic)
    checked = []

    class Checked(Interpreter):
        def run_node(self, node):
            found, said = super().run_node(node), node.meta["val"]
            if isinstance(found, Tensor):
                sizes = [int(n) if isinstance(n, int) else n.node.hint for n in (*said.shape, *said.stride())]
                assert (found.dtype, [*found.shape, *found.stride()]) == (said.dtype, sizes)
                checked.append(node)
            elif isinstance(found, int):
                assert found == (said if isinstance(said, int) else said.node.hint)
                checked.append(node)
            return found

    with torch.no_grad():
        Checked(graph.fx()).run(*given)
    assert len(checked) >= 5


def test_a_name_is_the_kernel_s_in_every_compilation():
    names = []
    for _ in range(2):
        torch._dynamo.reset()
        module = compiled_layer()[0].fx()
        names.append([n.args[0] for n in module.graph.nodes if kernel_of(n) is not None])
    assert names[0] == names[1]


def test_default_path_gives_fx_too():
    compiled, args = Compiled(layer), arguments()
    result = compiled(*args)
    (graph,) = compiled.graphs
    assert graph.plan is None
    with torch.no_grad():
        (found,) = graph.fx()(*args)
    torch.testing.assert_close(found, result)  # the interpreter runs scalar code, which adds in another order


def test_a_pass_of_the_user_s_changes_what_runs():
    def halve(graph):
        module = graph.fx()
        (last,) = module.graph.find_nodes(op="output")
        with module.graph.inserting_before(last):
            half = module.graph.call_function(torch.ops.aten.mul.Tensor, (last.args[0][0], 0.5))
        last.args = ((half,),)
        module.graph.eliminate_dead_code()
        module.recompile()

    args = arguments()
    plain = Compiled(layer, FX)(*args)
    changed = Compiled(layer, {**FX, "on_compiled": halve})
    assert torch.equal(changed(*args), plain * 0.5)


def dropped(x, weight, bias):
    return F.dropout(layer(x, weight, bias), 0.5)


@pytest.mark.parametrize("how", ["symbolic_trace", "fake", "symbolic", "eager"])
def test_traced_again(how):
    compiled = Compiled(dropped, FX, dynamic=how == "symbolic")
    args = arguments()
    compiled(*args)
    module = compiled.graphs[0].fx()
    given = with_sizes(module, args)
    if how == "symbolic_trace":
        again = torch.fx.symbolic_trace(module)
    elif how == "eager":
        torch._dynamo.reset()
        again = torch.compile(module, backend="eager")
    else:
        again = make_fx(module, tracing_mode=how)(*given)
        assert LAUNCH in targets(again) and "fuse_mlir.draw.default" in targets(again)
    for seed in (1, 2):  # random numbers are drawn anew, and memory is
        outcomes = []
        for call in (module, again):
            torch.manual_seed(seed)
            with torch.no_grad():
                outcomes += [*call(*given)]
        assert_same_bits(outcomes[1:], outcomes[:1])


def updates(x, counts, table):
    counts.add_(1)
    table[2:5].mul_(x)
    return table.t(), counts.view(-1), x


def sliced(x, y):
    both = torch.cat([x, y])
    products = x[1:].exp() @ y.t(), x[:, 1:] @ y[:, 1:].t()
    return both[2:5], both.t().relu(), *products, both.view(-1)[7:].sum()


def updated(x, y):
    x = x * y
    z = x.sin()
    x = x.index_put((torch.tensor([0, 2]),), y[:2])
    return x.cumsum(0), z.t(), torch.ops.aten.sort.default(z)[1]


def found(x):
    rows = x[x.sum(1) > 0]
    return rows.exp(), rows.sum(0)


def drawn(x):
    return torch.rand_like(x) + torch.randn_like(x), F.dropout(x, 0.3), torch.rand(3)


@pytest.mark.parametrize("dynamic", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.parametrize(
    ("function", "make"),
    [
        (updates, lambda: [torch.randn(3, 4), torch.zeros(2, 2), torch.randn(6, 4)]),
        (sliced, lambda: [torch.randn(3, 4), torch.randn(3, 4)]),
        (updated, lambda: [torch.randn(3, 4), torch.randn(3, 4)]),
        (drawn, lambda: [torch.randn(5, 7)]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_same_bits_as_the_plan(function, make, dynamic):
    same_as_plan(function, *make(), dynamic=dynamic)


def test_sizes_that_data_decides():
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        (module,) = same_as_plan(found, torch.randn(6, 4), dynamic=True)
    assert "aten.sym_size.int" in targets(module)


def test_forward_and_backward():
    args = [a.requires_grad_() for a in arguments()]
    modules = same_as_plan(lambda *a: [F.dropout(layer(*a), 0.2)], *args, backward=True)
    assert len(modules) == 2 and all(LAUNCH in targets(module) for module in modules)


def test_arguments_at_any_address():
    def function(x, y):
        y.add_(x)
        return x.exp()

    def odd(*sizes):
        return torch.randn(40)[1:][: sizes[0] * sizes[1]].view(sizes)

    module = same_as_plan(function, odd(3, 5), odd(3, 5))[0]
    assert "aten.copy_.default" not in targets(module)


@pytest.mark.parametrize("away", [1, 2])
def test_a_kernel_gets_tensors_at_16_byte_boundaries(away):
    """Others, here ``away`` elements behind one, are copied, and what the kernel writes to the copies comes
    back.
    """
    seen = []

    def double(grid, arguments):
        seen.append([t.data_ptr() for t in arguments])
        assert not any(address & 15 for address in seen[-1])
        arguments[1].copy_(arguments[0] * 2)

    kernel = FxKernel("k", "", ("ptr", "ptr"), (1,), 4, 1, "cpu", lambda: double)
    whole = torch.arange(12.0)
    odd, even = whole[away : away + 4], torch.empty(4)
    expected = (odd * 2).tolist()
    kernel.launch([1, 1, 1], [odd], [even], [])
    assert even.tolist() == expected and seen[0][1] == even.data_ptr()
    kernel.launch([1, 1, 1], [odd], [odd], [])
    assert whole.tolist() == [*range(away), *expected, *range(away + 4, 12)] and seen[1][0] == seen[1][1]


def test_the_way_of_a_gpu():
    with interpreted_gpu() as plans:
        (module,) = same_as_plan(layer, *arguments())
    assert len(plans) == 1 and LAUNCH in targets(module)


def test_what_cuda_graphs_record_is_part_of_the_module():
    compiled, args = Compiled(layer, {"interpret_level": "planned"}), arguments()
    compiled(*args)
    (graph,) = compiled.graphs
    (parts,) = graph.load_fx.args
    plan = partitioned_plan(graph.module, ())
    assert plan.partitions
    module = fx_program(replace(parts, load=lambda: FinalModule(graph.module, plan, None)))
    assert targets(module) == targets(graph.fx())
    with torch.no_grad():
        assert_same_bits([*module(*args)], [*graph.fx()(*args)])


def test_an_assertion_of_the_program_s():
    def function(x, i):
        return x[i] * 2

    compiled = Compiled(function, FX)
    x = torch.randn(5, 3)
    assert torch.equal(compiled(x, torch.tensor([4, 0])), x[[4, 0]] * 2)
    with pytest.raises(DeviceAssertError, match=r"test_fx_output\.py"):
        compiled(x, torch.tensor([5, 0]))


def test_a_graph_that_torch_runs_is_its_own_fx_output():
    compiled = Compiled(lambda x: (x.to("meta"), x * 2), FX)
    x = torch.eye(3)
    assert torch.equal(compiled(x)[1], x * 2)
    (graph,) = compiled.graphs
    with torch.no_grad():
        assert torch.equal(graph.fx()(x)[1], x * 2)
    assert "aten.mul.Tensor" in targets(graph.fx())


def test_deterministic():
    graph, given, result = compiled_layer(deterministic=True)
    with torch.no_grad():
        assert_same_bits([*graph.fx()(*given)], [result])


@pytest.mark.parametrize(
    "other", [{"cudagraphs": True}, {"check_values": "nan"}, {"synchronous": True}, {"check_memory": True}]
)
def test_options_about_a_launch_plan_are_refused(other):
    with pytest.raises(OptionError, match="output='fx' runs no launch plan"):
        Options.of({**FX, **other})


def test_a_kernel_that_is_not_there_is_named():
    with pytest.raises(RunError, match="no kernel 'lost_0' was compiled in this process"):
        torch.ops.fuse_mlir.launch("lost_0", [1, 1, 1], [], [torch.empty(2)], [])


@pytest.mark.products("auto")  # a product is a call
def test_arguments_that_do_not_fit_a_kernel_are_refused():
    module = compiled_layer()[0].fx()
    (launch,) = [node for node in module.graph.nodes if kernel_of(node) is not None]
    with pytest.raises(RunError, match=r"takes 3 extents of the grid, 2 tensors that it reads, 1 that it w"):
        torch.ops.fuse_mlir.launch(launch.args[0], [1, 1, 1], [], [torch.empty(2)], [])


@pytest.mark.gpu
@pytest.mark.parametrize("dynamic", [False, True])
def test_on_a_gpu(dynamic):
    args = [a.cuda() for a in arguments()]
    odd = torch.randn(6 * 16 + 1, device="cuda")[1:].view(6, 16)
    for given in (args, [odd, *args[1:]]):
        with fx_beside_plan() as equal:
            compiled = Compiled(layer, FX, dynamic)
            torch.testing.assert_close(compiled(*cloned(given)), layer(*given))
        assert equal and LAUNCH in targets(compiled.graphs[0].fx())
