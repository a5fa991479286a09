"""Independent kernels in one launch: the numbers of every part, the order, the limits, and what Triton makes
of it.
"""

import random

import pytest
import torch
from compiling import Compiled, check, cloned

from fuse_mlir.bench.models.optimizers import AdamStep
from fuse_mlir.compiler.analysis.program.dependences import check_order
from fuse_mlir.compiler.analysis.program.launch_groups import MOST_LAUNCHES, Part
from fuse_mlir.compiler.base.remarks import Remarks
from fuse_mlir.compiler.codegen.launches import KernelSource, kernel_sources
from fuse_mlir.compiler.cost.devices import hardware_named
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.runtime.errors import DeviceAssertError
from fuse_mlir.compiler.runtime.interpreter.program import run_module
from fuse_mlir.compiler.verifier.verifier import verify
from fuse_mlir.passes.graph.eliminate_dead import EliminateDead
from fuse_mlir.passes.memory.plan_memory import PlanMemory
from fuse_mlir.passes.tiling.apply_tiling import ApplyTiling
from fuse_mlir.passes.tiling.choose_tiling import ChooseTiling
from fuse_mlir.passes.tiling.combine_launches import CombineLaunches
from fuse_mlir.passes.tiling.lower_to_tt import LowerToTt

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")


def adam_state(shapes, seed=0):
    """Parameters, gradients and the two moments, as `AdamStep` takes them, without the step."""
    generator = torch.Generator().manual_seed(seed)
    lists = [[torch.randn(shape, generator=generator) for shape in shapes] for _ in range(4)]
    lists[3] = [t.square() + 0.01 for t in lists[3]]
    return lists


def adam(count, foreach):
    """Adam as a function of tensors: parameters, gradients, first and second moments, then the step."""
    step = AdamStep(foreach=foreach)

    def update(*tensors):
        lists = [list(tensors[i * count : (i + 1) * count]) for i in range(4)]
        step(*lists, tensors[-1])

    return update


@pytest.mark.parametrize(("level", "foreach"), (("tiled", False), ("planned", True)))
def test_adam_over_many_tensors_is_two_launches(level, foreach):
    shapes = [(40, 24)] * 5 + [(7,)] * 3 + [(), (3, 5, 7)]
    tensors = [t for group in adam_state(shapes) for t in group]
    compiled = check(adam(len(shapes), foreach), *tensors, torch.tensor(3.0), interpret_level=level)
    (graph,) = compiled.graphs
    assert graph.launches_after == 2, "the step, and one launch for all tensors"
    assert len({node for launch in graph.launches for node in launch.nodes}) > len(shapes)


def functional_adam(*tensors):
    """The third step of Adam, as a function whose results are new parameters and moments."""
    count = len(tensors) // 4
    old, gradients, means, squares = (tensors[i * count : (i + 1) * count] for i in range(4))
    means = torch._foreach_lerp(means, gradients, 0.1)
    squares = torch._foreach_addcmul(torch._foreach_mul(squares, 0.99), gradients, gradients, 0.01)
    roots = torch._foreach_add(torch._foreach_sqrt(torch._foreach_div(squares, 1 - 0.99**3)), 1e-8)
    steps = torch._foreach_div(torch._foreach_div(means, 1 - 0.9**3), roots)
    return (*torch._foreach_sub(old, torch._foreach_mul(steps, 1e-3)), *means, *squares)


def test_results_that_live_to_the_end_share_a_launch():
    """The caller keeps the arguments: their last use frees nothing that the next call could take."""
    tensors = [t for group in adam_state([(256, 256)] * 6) for t in group]
    (graph,) = check(functional_adam, *tensors, interpret_level="tiled", hardware="h200").graphs
    assert graph.launches_after == 1


def test_a_backward_graph_is_given_its_arguments():
    compiled = Compiled(lambda x: x.sin().cos())
    compiled(torch.randn(8, requires_grad=True)).sum().backward()
    given = ["attributes {fuse.given}" in str(graph.module) for graph in compiled.graphs]
    assert [graph.name for graph in compiled.graphs] == ["forward", "backward"] and given == [False, True]


def clip(*gradients):
    """What `torch.nn.utils.clip_grad_norm_` does to gradients."""
    total = torch.nn.utils.get_total_norm(gradients)
    torch._foreach_mul_(list(gradients), torch.clamp(1.0 / (total + 1e-6), max=1.0))
    return total


def test_clipping_gradients_is_a_launch_for_each_step():
    """Slices of all norms, their totals, the norm of these, and the scaling: for any number of tensors."""
    gradients = [torch.randn(128, 256) for _ in range(9)]
    (graph,) = check(clip, *gradients, interpret_level="planned", hardware="h200").graphs
    assert graph.externs == 0
    assert graph.launches_after == 4


@pytest.mark.parametrize("order", (1, 2.0, float("inf")))
def test_norms_of_a_list(order):
    xs = [torch.randn(n, 3) for n in (1, 5, 1, 400)]
    (graph,) = check(lambda *xs: torch._foreach_norm(list(xs), order), *xs, interpret_level="tiled").graphs
    assert graph.externs == 0


def test_a_list_half_dead():
    def half(*xs):
        found = torch._foreach_mul(list(xs), 2.0)
        more = torch._foreach_add(found, 1.0)
        return more[::2]

    xs = [torch.randn(n, 30) for n in (5, 6, 5, 7, 8, 9)]
    (graph,) = check(half, *xs, interpret_level="planned").graphs
    assert graph.launches_after == 1
    (call,) = (line for line in str(graph.module).splitlines() if " = call @combined" in line)
    assert ":3 = call" in call, "the parts that nobody reads are gone"


def test_sizes_that_are_symbols_and_grids_of_two_axes():
    def parts(a, b, c, d):
        return a.sin() + 1, b.sin() + 1, c.t().contiguous() * 2, d.softmax(-1), (a * 0.5).sum(0)

    for rows in (5, 300):
        inputs = (
            torch.randn(rows, 64),
            torch.randn(rows, 64),
            torch.randn(96, 80),
            torch.randn(rows, 33),
        )
        check(parts, *inputs, dynamic=True, interpret_level="planned")


@pytest.mark.parametrize("bad", (False, True))
def test_a_part_that_asserts(bad):
    def looked_up(table, index, other):
        return table[index], other * 2

    index = torch.tensor([0, 3, 99 if bad else 5])
    inputs = (torch.randn(8, 40), index, torch.randn(50))
    if not bad:
        (graph,) = check(looked_up, *inputs, interpret_level="planned").graphs
        assert graph.launches_after == 1
        return
    with pytest.raises(DeviceAssertError):
        Compiled(looked_up, {"interpret_level": "planned"})(*inputs)


def test_each_pass_keeps_the_numbers():
    tensors = [t for group in adam_state([(6, 10)] * 3 + [(7,)]) for t in group]
    check(adam(4, False), *tensors, torch.tensor(3.0), interpret_level="planned", verify="numeric")


def test_can_be_left_out_by_name():
    from fuse_mlir.passes.pipeline import default_pipeline

    names = [p.name for p in default_pipeline("tiled") if p.name != "combine-launches"]
    pipeline = f"builtin.module({','.join(names)})"
    xs = [torch.randn(20) for _ in range(4)]
    compiled = check(
        lambda *xs: torch._foreach_exp(list(xs)), *xs, pipeline=pipeline, interpret_level="tiled"
    )
    (graph,) = compiled.graphs
    # Four equal sizes: one kernel already, or as many as the lists are long, but no combination.
    assert not any(launch.name.startswith("combined") for launch in graph.launches)


# --- order --------------------------------------------------------------------------------------------------

KERNELS = """
  func.func private @make{n}(%x: tensor<{n}xf32>, %o: tensor<{n}xf32>) -> tensor<{n}xf32>
      attributes {{fuse.kernel, fuse.dims = {{d0 = "{n}"}}, fuse.ties = array<i64: 1>}} {{
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %half = arith.constant 0.5 : f32
    %v = "fuse.load"(%x, %true, %zero) {{at = ["d0"]}} : (tensor<{n}xf32>, i1, f32) -> f32
    %m = arith.mulf %v, %half : f32
    %w = arith.addf %m, %half : f32
    %r = "fuse.store"(%o, %w, %true) {{at = ["d0"], mode = "set"}} : (tensor<{n}xf32>, f32, i1) -> tensor<{n}xf32>
    return %r : tensor<{n}xf32>
  }}
  func.func private @change{n}(%x: tensor<{n}xf32>, %y: tensor<{n}xf32>) -> tensor<{n}xf32>
      attributes {{fuse.kernel, fuse.dims = {{d0 = "{n}"}}, fuse.ties = array<i64: 0>}} {{
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {{at = ["d0"]}} : (tensor<{n}xf32>, i1, f32) -> f32
    %u = "fuse.load"(%y, %true, %zero) {{at = ["d0"]}} : (tensor<{n}xf32>, i1, f32) -> f32
    %w = arith.subf %v, %u : f32
    %r = "fuse.store"(%x, %w, %true) {{at = ["d0"], mode = "set"}} : (tensor<{n}xf32>, f32, i1) -> tensor<{n}xf32>
    return %r : tensor<{n}xf32>
  }}
  func.func private @torch{n}(tensor<{n}xf32>) -> tensor<{n}xf32> attributes {{
      fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {{}}}}
"""  # noqa: E501 MLIR text

SIZES = (96, 200)


def random_module(seed: int) -> str:
    """A program of pure kernels, kernels that overwrite what they read, torch ops and views, in random order.

    Each value is read only while its storage still holds it.
    """
    draw = random.Random(seed)
    current = {n: [f"%a{n}_{i}" for i in range(3)] for n in SIZES}  # values whose contents are there
    arguments = ", ".join(f"{v}: tensor<{n}xf32>" for n in SIZES for v in current[n])
    lines: list[str] = []
    owned: dict[str, str] = {}  # of an argument's storage: the value that it holds now
    for n in SIZES:
        owned.update({v: v for v in current[n]})
    for step in range(draw.randint(6, 24)):
        n = draw.choice(SIZES)
        t, new, kind = f"tensor<{n}xf32>", f"%v{step}", draw.choice(("make", "make", "change", "torch"))
        source = draw.choice(current[n])
        if kind == "make":
            lines.append(f'%o{step} = "fuse.empty"() {{syms = []}} : () -> {t}')
            lines.append(f"{new} = call @make{n}({source}, %o{step}) : ({t}, {t}) -> {t}")
        elif kind == "torch":
            lines.append(f"{new} = call @torch{n}({source}) : ({t}) -> {t}")
        else:
            target = draw.choice(current[n])
            others = [v for v in current[n] if v != target]
            lines.append(f"{new} = call @change{n}({target}, {draw.choice(others)}) : ({t}, {t}) -> {t}")
            current[n].remove(target)
            owned = {a: new if v == target else v for a, v in owned.items()}
        current[n].append(new)
    returned = [(v, n) for n in SIZES for v in current[n]]
    position = {v: i for i, (v, _) in enumerate(returned)}
    changed = [(position[v], i) for i, (a, v) in enumerate(owned.items()) if v != a]
    mutates = ", ".join(f'"{result}" = {argument} : i64' for result, argument in changed)
    types = ", ".join(f"tensor<{n}xf32>" for _, n in returned)
    attribute = f" {{fuse.mutates = {{{mutates}}}}}" if changed else ""
    body = "\n    ".join(lines)
    return f"""module attributes {{fuse.device = "cpu"}} {{
  func.func @main({arguments}) -> ({types}) {{
    {body}
    return{attribute} {", ".join(v for v, _ in returned)} : {types}
  }}
{"".join(KERNELS.format(n=n) for n in SIZES)}
}}"""


@pytest.mark.parametrize("seed", range(25))
def test_any_order_is_kept(seed):
    generator = torch.Generator().manual_seed(seed)
    inputs = [torch.randn(n, generator=generator) for n in SIZES for _ in range(3)]
    with make_context() as context:
        module = ir.Module.parse(random_module(seed), context)
        ChooseTiling().run(module, Remarks())
        ApplyTiling().run(module, Remarks())
        verify(module)
        before, after = cloned(inputs), cloned(inputs)
        expected = run_module(module, before)
        remarks = Remarks()
        CombineLaunches().run(module, remarks)
        verify(module)
        assert check_order(module) is None
        found = run_module(module, after)
    for a, b in zip([*expected, *before], [*found, *after], strict=True):
        assert torch.equal(a, b)


def test_random_programs_are_combined():
    combined = 0
    for seed in range(10):
        with make_context() as context:
            module = ir.Module.parse(random_module(seed), context)
            remarks = Remarks()
            for p in (ChooseTiling(), ApplyTiling(), CombineLaunches()):
                p.run(module, remarks)
        combined += sum(r.rule == "combined" for r in remarks.items)
    assert combined >= 10, "the test of orders must see calls move"


# --- many parts ---------------------------------------------------------------------------------------------


def updates(count: int, n: int) -> str:
    """``count`` tensors of ``n`` elements, each changed in place by another of its own."""
    t = f"tensor<{n}xf32>"
    arguments = ", ".join(f"%x{i}: {t}, %y{i}: {t}" for i in range(count))
    calls = [f"    %z{i} = call @change{n}(%x{i}, %y{i}) : ({t}, {t}) -> {t}" for i in range(count)]
    mutates = ", ".join(f'"{i}" = {2 * i} : i64' for i in range(count))
    results, types = ", ".join(f"%z{i}" for i in range(count)), ", ".join([t] * count)
    body = "\n".join(calls)
    return f"""module attributes {{fuse.device = "cpu"}} {{
  func.func @main({arguments}) -> ({types}) {{
{body}
    return {{fuse.mutates = {{{mutates}}}}} {results} : {types}
  }}
{KERNELS.format(n=n)}
}}"""


def planned(text: str) -> tuple[list[KernelSource], Remarks]:
    """What Triton gets of a module after tiling and combining, and why."""
    remarks = Remarks()
    with make_context() as context:
        module = ir.Module.parse(text, context)
        hardware = "h200"
        combine = (ChooseTiling(hardware), ApplyTiling(), CombineLaunches(hardware), EliminateDead())
        for p in (*combine, PlanMemory(), LowerToTt()):
            p.run(module, remarks)
        verify(module)
        return list(kernel_sources(module).values()), remarks


def test_the_arguments_of_a_launch_are_limited():
    sources, remarks = planned(updates(300, 64))
    assert [len(source.signature) for source in sources] == [510, 90], "4 KB less what Triton takes"
    assert any(r.rule == "arguments" for r in remarks.items)


def test_many_parts_cost_few_registers_and_keep_wide_accesses(tmp_path):
    pytest.importorskip("triton")
    from cubins import usage, widths

    from fuse_mlir.compiler.runtime.kernels.cubin import Target
    from fuse_mlir.compiler.runtime.kernels.triton_compile import compile_ttir

    (source,), _ = planned(updates(64, 1 << 20))
    kernel = compile_ttir(source.text, target=Target(90), num_warps=source.num_warps, num_stages=1)
    used = usage(kernel, tmp_path)
    assert used.spilled == 0
    assert used.registers <= 40, "addresses of 64 parts are read by number, not kept"
    assert widths(kernel) == {"v4.b32"}


def test_a_kernel_that_idles_is_small_whatever_it_moves():
    """Its time is latency: other programs run beside it."""
    hardware = hardware_named("h200")
    full, short = hardware.full_grid, int(MOST_LAUNCHES * hardware.launch * hardware.bandwidth * 1e3)
    small = {
        (programs, moved): Part(
            node=0, name="k", form=(), resources=(), stages=None, warps=4, programs=programs, moved=moved,
            ops=1, arguments=frozenset(), plain=True, elements=1,
        ).is_small(hardware)
        for programs in (full, full + 1)
        for moved in (short, 2 * short)
    }  # fmt: skip
    assert list(small.values()) == [True, True, True, False]
