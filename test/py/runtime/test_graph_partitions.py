"""What CUDA graphs record of a launch plan, why the rest runs between them, and that the cut plan computes
the same."""

import ctypes
import itertools

import pytest
import torch
from compiling import Compiled
from torch import nn
from versions import TORCH

from fuse_mlir.compiler.analysis.program.graph_regions import GraphRegions, graph_regions
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.runtime.cuda_graphs.partitions import partitioned_plan
from fuse_mlir.compiler.runtime.plans.bound_plan import LaunchPlan
from fuse_mlir.compiler.runtime.plans.extern_function import bind_externs
from fuse_mlir.compiler.runtime.plans.plan import Plan
from fuse_mlir.compiler.runtime.plans.python_source import python_source
from fuse_mlir.compiler.runtime.plans.steps import Align
from fuse_mlir.compiler.runtime.torch_names import op_tags

PLANNED = {"interpret_level": "planned"}
LATE = "it takes a number that the host learns only when the program runs"
T, LIBRARY = "tensor<4x4xf32>", torch.library.Library("fuse_graphs_test", "DEF")
LIBRARY.define("unsafe(Tensor x) -> Tensor", tags=(torch.Tag.cudagraph_unsafe,))
LIBRARY.define("fill_(Tensor(a!) x) -> ()")


@torch.library.impl(LIBRARY, "unsafe", "CompositeExplicitAutograd")
def unsafe(x):
    return x + 1


@torch.library.impl("fuse_graphs_test::unsafe", "Meta", lib=LIBRARY)
def unsafe_meta(x):
    return torch.empty_like(x)


@torch.library.impl(LIBRARY, "fill_", "CompositeExplicitAutograd")
def fill_(x):
    x.fill_(3)


def planned(function, *args, dynamic=False) -> ir.Module:
    run = Compiled(function, PLANNED, dynamic)
    run(*args)
    return run.graphs[0].module


def regions(module: ir.Module, static=()) -> GraphRegions:
    return graph_regions(module, static, op_tags)


def reasons(module: ir.Module, static=()) -> list[tuple[str, str]]:
    return [(u.op, u.reason) for u in regions(module, static).unrecorded]


def recorded(module: ir.Module, static=()) -> int:
    return sum(region.recorded for region in regions(module, static).regions)


def test_a_graph_of_kernels_and_matrix_products_is_one_partition():
    module = planned(lambda x, w: (x @ w).relu().softmax(-1) @ w, torch.randn(8, 8), torch.randn(8, 8))
    assert reasons(module) == [] and recorded(module) == 1


def test_sizes_from_data_stay_outside_with_what_depends_on_them():
    module = planned(lambda x: (x.cos().nonzero() * 2, x.sin()), torch.randn(6))
    assert reasons(module)[0] == ("aten.nonzero.default", "the size of its result depends on data")
    assert {why for _, why in reasons(module)[1:]} == {LATE}
    doubled = "mul_2" if TORCH < (2, 15) else "mul"
    assert reasons(module)[-1][0].endswith(doubled) and recorded(module) == 1


def counted(x, n):
    k = n.item()
    torch._check(k >= 0)
    torch._check(k <= 4)
    return torch.zeros(k) + 1, x @ x


def test_a_number_for_the_host_stays_outside():
    torch._dynamo.config.capture_scalar_outputs = True
    try:
        module = planned(counted, torch.randn(6, 6), torch.tensor(3))
    finally:
        torch._dynamo.config.capture_scalar_outputs = False
    found = dict(reasons(module))
    assert found["aten._local_scalar_dense.default"] == "it gives a number to the host"
    assert set(found.values()) == {LATE, "it gives a number to the host"} and recorded(module) == 1


def test_arithmetic_on_known_sizes_is_recorded():
    module = planned(
        lambda x, y: x.new_zeros(torch.sym_max(x.size(0), y.size(0))) + 1,
        torch.randn(6),
        torch.randn(7),
        dynamic=True,
    )
    assert "torch.sym_max" in str(module)
    assert reasons(module) == [] and recorded(module) == 1


def test_random_numbers_of_the_host_stay_outside():
    module = planned(lambda x: (torch.rand_like(x) + x).cumsum(0), torch.randn(6, 4))
    assert LATE in dict(reasons(module)).values()


def test_an_argument_that_is_written_must_be_static():
    def add(state, x):
        state.add_(x)
        return state * 2

    module = planned(add, torch.randn(6), torch.randn(6))
    [(op, reason)] = reasons(module)
    assert op.startswith("@") and reason == "it writes into an argument that is no parameter or buffer"
    assert reasons(module, static={0}) == [] and recorded(module, static={0}) == 1


@torch.library.impl("fuse_graphs_test::fill_", "Meta", lib=LIBRARY)
def fill_meta(x):
    """It gives nothing."""


def test_a_custom_op_that_only_writes_runs_between():
    """It writes in place: between two recorded parts, whether its memory is of the program or a parameter."""

    def filled(state, x):
        own = x + 1
        torch.ops.fuse_graphs_test.fill_(own)
        torch.ops.fuse_graphs_test.fill_(state)
        return own * state

    module = planned(filled, torch.randn(6), torch.randn(6))
    found = [(op, why) for op, why in reasons(module, static={0}) if not op.startswith("@")]
    assert found == [("fuse_graphs_test.fill_.default", "it has an effect on the host")] * 2
    cut = partitioned_plan(module, (0,))
    assert recorded(module, static={0}) == len(cut.partitions) == 2
    run = python_source(cut).partition("def run(")[2]
    calls = ("partition_0(", "extern_fill__default(", "extern_fill__default_1(", "partition_1(")
    assert [run.count(call) for call in calls] == [1] * 4
    assert sorted(calls, key=run.index) == list(calls)


def test_a_mask_as_an_index_waits():
    module = planned(
        lambda x, m: x.index_put((m,), torch.tensor(0.0)).cos(), torch.randn(6), torch.ones(6) > 0
    )
    externs = [name for name, _ in reasons(module)]
    assert externs in ([], ["aten.index_put.default"])  # a kernel where the importer can


def test_the_reason_names_the_users_line():
    module = planned(lambda x: torch.ops.fuse_graphs_test.unsafe(x.cos()).sin(), torch.randn(6))
    [found] = regions(module).unrecorded
    assert found.op == "fuse_graphs_test.unsafe.default"
    assert found.reason == "the op is tagged unsafe for CUDA graphs"
    assert found.lines[0][0] == __file__ and str(found).endswith(")")
    assert recorded(module) == 2


def test_parameters_are_static():
    """Of a module's graph AOTAutograd says which inputs are parameters."""
    from fuse_mlir.compiler.runtime.cuda_graphs import trees

    seen = []
    real = trees.static_placeholders

    def spy(gm, kind):
        found = real(gm, kind)
        names = [n.name for n in gm.graph.nodes if n.op == "placeholder"]
        seen.append((kind, [names[i] for i in sorted(found)], len(names)))
        return found

    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fuse_mlir.compiler.driver.request.static_placeholders", spy)
        Compiled(model, {"cudagraphs": True})(torch.randn(3, 4)).sum().backward()
    (forward, parameters, count), (backward, saved, _) = seen
    assert (forward, backward) == ("forward", "backward")
    assert len(parameters) == 4 and count == 5
    assert saved and all(name.startswith("primals_") for name in saved)


# --- the cut plan
# ---------------------------------------------------------------------------------------------

MODULE = f"""
module attributes {{fuse.device = "cpu"}} {{
  func.func @main(%x: {T}, %state: {T}) -> ({T}, {T}) {{
    %a = "fuse.alloc"() {{syms = []}} : () -> {T}
    %1 = call @double(%x, %a) : ({T}, {T}) -> {T}
    %2 = call @split(%1) : ({T}) -> {T}
    %b = "fuse.reuse"(%1) {{operandSegmentSizes = array<i32: 1, 0>, syms = []}} : ({T}) -> {T}
    %3 = call @double(%2, %b) : ({T}, {T}) -> {T}
    "fuse.free"(%2) : ({T}) -> ()
    %c = "fuse.alloc"() {{syms = []}} : () -> {T}
    %4 = call @double(%3, %c) : ({T}, {T}) -> {T}
    %5 = call @double(%state, %state) : ({T}, {T}) -> {T}
    return %4, %5 : {T}, {T}
  }}
  func.func private @double({T}, {T}) -> {T}
      attributes {{fuse.launch = @double_tt, fuse.grid = ["1"], fuse.params = ["0:ptr", "1:ptr"],
      fuse.ties = array<i64: 1>}}
  func.func private @split({T}) -> {T}
      attributes {{fuse.extern = "fuse_graphs_test.unsafe.default", fuse.args = [#fuse.arg<0 : i64>],
      fuse.kwargs = {{}}}}
}}
"""


@pytest.fixture
def module() -> ir.Module:
    with make_context(), ir.Location.unknown():
        return ir.Module.parse(MODULE)


def double(stream: int, gx: int, gy: int, gz: int, source: int, target: int) -> None:
    array = ctypes.c_float * 16
    array.from_address(target)[:] = [2 * v for v in array.from_address(source)]


def bound(cut: Plan, calls: list) -> LaunchPlan:
    """The plan with every recorded function counted: (name, ids of what it takes, how many results)."""

    def counted(name):
        def wrap(function):
            def call(args):
                calls.append((name, [a.data_ptr() if isinstance(a, torch.Tensor) else a for a in args]))
                results = function(args)
                assert args == []
                calls[-1] += (len(results),)
                return results

            return call

        return wrap

    externs = bind_externs(cut, {})
    wraps = {p.name: counted(p.name) for p in cut.partitions}
    return LaunchPlan.bind(cut, {"double": double}, externs, lambda d, c: (0, 0), wraps)


@pytest.mark.parametrize("static", [(), (1,)], ids=["no static", "static state"])
def test_the_cut_plan_computes_the_same(module, static):
    cut, calls = partitioned_plan(module, static), []
    x, state = torch.randn(4, 4), torch.arange(16.0).reshape(4, 4)
    expected, new_state = 4 * (2 * x + 1), 2 * state
    result, returned = bound(cut, calls)([x, state])
    torch.testing.assert_close(result, expected, rtol=0, atol=0)
    torch.testing.assert_close(state, new_state, rtol=0, atol=0)
    assert returned is state
    assert [name for name, _, _ in calls] == ["partition_0", "partition_1"]
    assert [p.results for p in cut.partitions] == [results for _, _, results in calls] == [1, 1]
    assert [len(p.inputs) for p in cut.partitions] == [1, 2 if static else 1]
    if static:
        assert cut.partitions[1].static == cut.partitions[1].mutated == (1,)


def test_addresses_never_travel_and_no_buffer_is_taken_over_from_another_part(module):
    cut = partitioned_plan(module, (1,))
    for partition in cut.partitions:
        assert not any(name.endswith("_p") or name == "stream" for name in partition.inputs)
    assert "reinterpret(" not in python_source(cut)
    for function in python_source(cut).split("def ")[1:]:
        assert ("stream = 0" in function) == ("launch_" in function)


def test_what_is_kept_beside_an_aligned_argument_is_static_as_that_is():
    def function(state, x):
        return state.exp() + x, state.as_strided((4, 4), (4, 1), 2) * 3

    cut = partitioned_plan(planned(function, torch.randn(32)[:20], torch.randn(20)), (0,))
    [aligned] = [s.given.name for s in cut.main.steps if isinstance(s, Align) and s.given is not None]
    [partition] = cut.partitions
    assert {partition.inputs[i] for i in partition.static} == {"a0", aligned}


def test_what_nobody_needs_any_more_is_let_go_before_a_part_runs(module):
    lines = [line.strip() for line in python_source(partitioned_plan(module, (1,))).splitlines()]
    run = lines[lines.index("def run(args):") :]
    call = next(i for i, line in enumerate(run) if "partition_0(given)" in line)
    assert run[call - 1] == "del a0"


def test_every_cut_of_a_chain_computes_the_same():
    """All ways to mark the ops of a chain as recorded or not, by an op that is safe and one that is not."""
    for kinds in itertools.product(("double", "split"), repeat=4):
        lines, last = [], "%x"
        for i, kind in enumerate(kinds):
            if kind == "double":
                lines.append(f'%a{i} = "fuse.alloc"() {{syms = []}} : () -> {T}')
                lines.append(f"%r{i} = call @double({last}, %a{i}) : ({T}, {T}) -> {T}")
            else:
                lines.append(f"%r{i} = call @split({last}) : ({T}) -> {T}")
            if i:
                lines.append(f'"fuse.free"({last}) : ({T}) -> ()')
            last = f"%r{i}"
        head, _, tail = MODULE.partition("%a =")
        body = "\n".join(lines) + f"\nreturn {last}, %state : {T}, {T}\n"
        with make_context(), ir.Location.unknown():
            chain = ir.Module.parse(head + body + tail[tail.index("  }\n") :])
        cut, x = partitioned_plan(chain, ()), torch.randn(4, 4)
        expected = x
        for kind in kinds:
            expected = expected * 2 if kind == "double" else expected + 1
        result, _ = bound(cut, [])([x.clone(), torch.zeros(4, 4)])
        torch.testing.assert_close(result, expected, rtol=0, atol=0)
        runs = sum(kind == "double" for kind, _ in itertools.groupby(kinds))
        assert len(cut.partitions) == runs, kinds
