"""Collectives of several processes: what a wait gives is what it was given, and what a collective reads stays
as it is until then (``fx/collectives.py``).  ``test_ordered_collectives.py`` has those in ordered groups.
"""

import pytest
import torch
import torch.distributed as dist
from compiling import Compiled
from group_of_one import group_of_one, random
from import_one import imported
from made_up_gpu import made_up_gpu
from torch import Tensor, fx
from versions import TORCH

import fuse_mlir
from fuse_mlir.compiler.analysis.program.dependences import extern_name
from fuse_mlir.compiler.fx.collectives import ranks_of
from fuse_mlir.compiler.fx.graph_text import NotCacheable, graph_text
from fuse_mlir.compiler.ir.storage import functions_of
from fuse_mlir.compiler.mlir import ir

if not dist.is_available():
    pytest.skip("torch without torch.distributed", allow_module_level=True)

#: Products are the calls that run beside collectives.
pytestmark = [pytest.mark.usefixtures("fresh_dynamo"), pytest.mark.products("auto")]
c10d = torch.ops._c10d_functional


@pytest.fixture(scope="module")
def group(tmp_path_factory):
    with group_of_one(tmp_path_factory.mktemp("store")) as name:
        yield name


@pytest.fixture(params=["graph", "scheduled", "tiled", "planned"])
def level(request):
    return request.param


def test_what_was_waited_for_outlives_the_collective(group, level):
    """Storage of the collective's result is that of the wait's: nothing may take it over."""

    def reduced(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        sums = c10d.wait_tensor(c10d.all_reduce(x * 2, "sum", group))
        products = sums @ sums
        return sums, products.cos() + sums, sums * 3

    x = random(16, 16)
    found = Compiled(reduced, {"interpret_level": level})(x)
    for a, b in zip(found, reduced(x), strict=True):
        torch.testing.assert_close(a, b)


def test_what_a_collective_keeps_apart_has_a_cost(group):
    def reduced(x: Tensor) -> Tensor:
        return c10d.wait_tensor(c10d.all_reduce(x * 2, "sum", group)) + 1

    compiled = Compiled(reduced)
    compiled(random(256, 256))
    told = {
        dict(remark.numbers).get("op"): remark.loss for remark in compiled.graphs[0].remarks.worst().items
    }
    read, written = 256 * 256 * 4, 2 * 256 * 256 * 4
    assert told["_c10d_functional.all_reduce.default"].bytes == read
    assert told["_c10d_functional.wait_tensor.default"].bytes in (read, written)
    assert all(loss.microseconds > 2 for loss in told.values())


def test_several_results_are_waited_for_one_by_one(group, level):
    def reduced(x: Tensor, y: Tensor) -> Tensor:
        a, b = c10d.all_reduce_coalesced([x * 2, y + 1], "sum", group)
        return c10d.wait_tensor(a) @ c10d.wait_tensor(b)

    x, y = random(8, 8), random(8, 8) + 1
    torch.testing.assert_close(Compiled(reduced, {"interpret_level": level})(x, y), reduced(x, y))


def test_a_graph_waits_for_what_it_starts(group):
    """Nothing in the graph waits: what the collective reads would have to stay as it is for ever."""

    def started(x: Tensor) -> Tensor:
        return c10d.all_gather_into_tensor(x * 2, 1, group)

    compiled = Compiled(started)
    torch.testing.assert_close(compiled(random(8, 8)), random(8, 8) * 2)
    assert "_c10d_functional.wait_tensor.default" in str(compiled.graphs[0].module)


def test_a_declaration_says_how_many_processes_take_part(group):
    def reduced(x: Tensor) -> Tensor:
        return c10d.wait_tensor(c10d.all_reduce(x * 2, "sum", group))

    compiled = Compiled(reduced)
    compiled(random(8, 8))
    externs = {extern_name(f): f for f in functions_of(compiled.graphs[0].module).values()}
    start, wait = (externs[f"_c10d_functional.{op}.default"] for op in ("all_reduce", "wait_tensor"))
    assert ir.IntegerAttr(start.attributes["fuse.ranks"]).value == 1
    assert "fuse.ranks" not in wait.attributes
    graph = fx.Graph()
    unknown = graph.call_function(c10d.all_reduce.default, (graph.placeholder("x"), "sum", "no such group"))
    assert ranks_of(unknown) is None


def test_a_reduction_that_is_an_object_runs_in_eager_mode(group):
    """torch 2.15 takes it, and Dynamo leaves the call out of its graphs."""
    if TORCH < (2, 15):
        pytest.skip(f"torch {torch.__version__} takes names of reductions alone")

    def reduced(x: Tensor) -> Tensor:
        most = c10d.wait_tensor(c10d.all_reduce(x * 2, dist.ReduceOp.MAX, group))
        return most + c10d.wait_tensor(c10d.all_reduce(x + 1, "sum", group))

    graphs: list = []
    call = torch.compile(reduced, backend=fuse_mlir.backend, options={"on_compiled": graphs.append})
    torch.testing.assert_close(call(random(8, 8)), reduced(random(8, 8)))
    assert len(graphs) == 2


def test_a_reduction_that_is_an_object_is_named_and_in_no_key():
    """In a graph of another one than Dynamo, which holds it as it holds the object of a group."""
    graph, root = fx.Graph(), torch.nn.Module()
    root.twice, root.thrice = (dist._make_nccl_premul_sum(n) for n in (2.0, 3.0))
    x = graph.placeholder("x")
    objects = [graph.get_attr(name) for name in ("twice", "thrice")]
    starts = [graph.call_function(c10d.all_reduce.default, (x, op, "0")) for op in (*objects, objects[0])]
    for node in (x, *starts):
        node.meta["val"] = torch.empty(4)
    graph.output(tuple(starts))
    gm = fx.GraphModule(root, graph)
    with pytest.raises(NotCacheable, match="ReduceOp"):
        graph_text(gm)
    module = imported(gm)
    text = str(module.module)
    assert [text.count(f'"object:{name}"') for name in ("twice", "thrice")] == [2, 1]
    assert module.objects["twice"] is root.twice and module.objects["thrice"] is root.thrice


def plan_of(function, *args: Tensor) -> list[str]:
    with made_up_gpu(), torch.no_grad():
        compiled = Compiled(function)
        compiled(*args)
    return compiled.graphs[0].source.splitlines()


def line(plan: list[str], text: str) -> int:
    (found,) = [number for number, line in enumerate(plan) if text in line]
    return found


def test_what_a_collective_reads_is_not_written_before_the_wait(group):
    """The wait comes after work that needs memory: that of the operand is free only then."""

    def gathered(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        whole = c10d.all_gather_into_tensor(x.relu() * 2, 1, group)
        beside = ((y * 3 + 1) @ y).sin() @ y
        return c10d.wait_tensor(whole).cos(), beside.cos()

    plan = plan_of(gathered, random(64, 64), random(64, 64))
    start, wait = line(plan, "= extern_all_gather"), line(plan, "= extern_wait_tensor")
    operand = plan[start].split("(")[1].rstrip(")")
    assert operand in plan[wait], "the wait holds what the collective reads"
    between = plan[start + 1 : wait]
    assert any("extern_mm" in text for text in between), "products run beside the collective"
    assert any("launch_" in text for text in between), "so does a kernel"
    assert not any(f"{operand}_p" in text or f"del {operand}" in text for text in between)


def test_a_sum_is_not_added_in_place_to_what_a_collective_reads(group):
    def gathered(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        read = x.relu()
        whole = c10d.all_gather_into_tensor(read, 1, group)
        total = read + y @ y
        return total, c10d.wait_tensor(whole)

    plan = plan_of(gathered, random(64, 64), random(64, 64))
    operand = plan[line(plan, "= extern_all_gather")].split("(")[1].rstrip(")")
    assert not any("addmm_" in text and operand in text for text in plan)


def test_collectives_keep_their_order(group):
    """Processes that start collectives in different orders wait for each other for ever."""

    def reduced(x: Tensor, y: Tensor) -> Tensor:
        late = c10d.all_reduce((x @ y).sin(), "sum", group)
        early = c10d.all_reduce(y, "max", group)
        return c10d.wait_tensor(early) - c10d.wait_tensor(late)

    plan = plan_of(reduced, random(64, 64), random(64, 64))
    first, second = (number for number, text in enumerate(plan) if "= extern_all_reduce" in text)
    made_late = line(plan, "launch_sin")
    assert made_late < first < second


def test_collectives_are_not_recorded(group):
    def reduced(x: Tensor) -> Tensor:
        return c10d.wait_tensor(c10d.all_reduce(x * 2, "sum", group)) + 1

    with made_up_gpu(), torch.no_grad():
        compiled = Compiled(reduced, {"cudagraphs": True, "hardware": "h200"})
        with pytest.raises(Exception, match=r"CUDA|NVIDIA driver"):  # nothing can be recorded here
            compiled(random(8, 8))
    reasons = {str(call) for graph in compiled.graphs for call in graph.unrecorded}
    assert any("other processes take part in it" in reason for reason in reasons)


PASSES = ["bucket-collectives", "overlap-collectives"]


@pytest.mark.parametrize(("collectives", "run"), [("keep", []), ("overlap", PASSES[1:]), ("bucket", PASSES)])
def test_the_option_says_which_passes_move_collectives(group, collectives, run):
    def gathered(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        whole = c10d.wait_tensor(c10d.all_gather_into_tensor(x * 2, 1, group))
        return whole.cos(), y @ y

    x, y = random(64, 64), random(64, 64)
    compiled = Compiled(gathered, {"collectives": collectives})
    for found, expected in zip(compiled(x, y), gathered(x, y), strict=True):
        torch.testing.assert_close(found, expected)
    (graph,) = compiled.graphs
    assert [p.name for p in graph.passes if "collectives" in p.name] == run
