"""Collectives whose starts and waits are in ordered groups or behind views, or write to an argument: what a
collective reads stays as it is until the wait, and what is in flight is waited for (``fx/in_flight.py``).
"""

import operator

import pytest
import torch
import torch.distributed as dist
from compiling import Compiled
from group_of_one import group_of_one, random
from made_up_gpu import made_up_gpu
from torch import Tensor, fx
from torch._inductor.fx_passes.control_dependencies import control_deps, preserve_node_ordering
from torch.utils._ordered_set import OrderedSet

from fuse_mlir.compiler.analysis.program.dependences import Dependences, extern_name
from fuse_mlir.compiler.ir.storage import functions_of
from fuse_mlir.compiler.mlir import ir

if not dist.is_available():
    pytest.skip("torch without torch.distributed", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("fresh_dynamo")
c10d = torch.ops._c10d_functional


@pytest.fixture(scope="module")
def group(tmp_path_factory):
    with group_of_one(tmp_path_factory.mktemp("store")) as name:
        yield name


def ordering(order):
    """An ``fx_pass``: ``order(nodes)`` gives pairs of nodes, the second of which is to follow the first."""

    def ordered(graph: fx.Graph) -> None:
        waits: dict[fx.Node, OrderedSet[fx.Node]] = {}
        for first, second in order({node.name: node for node in graph.nodes}):
            waits.setdefault(second, OrderedSet()).add(first)
        preserve_node_ordering(graph, waits)
        graph.lint()

    return ordered


def held_by(wait: ir.Operation) -> tuple[int, ...]:
    """The operands that a wait does not take, but holds."""
    return tuple(ir.DenseI64ArrayAttr(wait.attributes["fuse.held"])) if "fuse.held" in wait.attributes else ()


def overlaps(compiled: Compiled) -> list[list[str]]:
    """What is called between the start of each collective and the wait for it, once it is sure that what the
    collective reads stays as it is until then: no kernel writes it, it is not freed, nobody takes it over,
    and the wait holds it.
    """
    (compiled_graph,) = compiled.graphs
    graph = Dependences.of(compiled_graph.module)
    found = []
    for wait in (node for node in graph.nodes if node.waits):
        (start,) = (
            node
            for node in graph.nodes[: wait.index]
            if node.callee is not None
            and extern_name(node.callee).startswith("_c10d_functional.")
            and not node.waits
            and graph.roots[wait.operands[0]] in {graph.roots[v] for v in (*node.results, *node.mutated)}
        )
        read = {graph.roots[v] for v in start.reads if v not in start.mutated}
        held = {graph.roots[wait.operands[n]] for n in held_by(wait.callee)}
        assert read <= held, "the wait holds what the collective reads"
        between = graph.nodes[start.index + 1 : wait.index]
        for node in between:
            written = {graph.roots[v] for v in (*node.destinations, *node.mutated)}
            if node.kind in ("fuse.free", "fuse.reuse"):
                written |= {graph.roots[v] for v in node.operands}
            assert not written & (read | {graph.roots[v] for v in start.results}), node.name
        found.append([node.name for node in between if node.callee is not None])
    assert found, "nothing waits"
    return found


def beside(x: Tensor, y: Tensor, start) -> tuple[Tensor, Tensor]:
    """A collective that ``start`` starts and waits for, beside products."""
    p = y @ y
    begun, wait = start(x.relu() * 2)
    b = ((p * 3 + 1) @ y).sin() @ y
    return wait(begun).cos(), b.cos()


def gather(group):
    return lambda x: (c10d.all_gather_into_tensor(x, 1, group), c10d.wait_tensor)


START, WAIT = "all_gather_into_tensor", "wait_tensor"
ORDERS = {
    "start": [("mm", START)],
    "wait": [("mm_2", WAIT)],
    "start and wait": [("mm", START), ("mm_2", WAIT)],
    "several each": [("mm", START), ("relu", START), ("mm_2", WAIT), ("sin", WAIT)],
}


def check_overlap(function, order, *, whole: bool = False) -> Compiled:
    """``beside`` in an order, planned: its answers, and that products run beside the collective."""
    x, y = random(64, 64), random(64, 64) / 64
    compiled = Compiled(function, {"interpret_level": "planned", "fx_pass": order})
    with torch.no_grad():
        for found, expected in zip(compiled(x, y), function(x, y), strict=True):
            torch.testing.assert_close(found, expected)
    if not whole:
        (between,) = overlaps(compiled)
        assert sum(name.startswith("mm") for name in between) >= 2, between
    return compiled


@pytest.mark.parametrize("name", ORDERS)
def test_an_ordered_start_and_an_ordered_wait_hold_what_is_read(group, name):
    order = ordering(lambda nodes: [(nodes[a], nodes[b]) for a, b in ORDERS[name]])
    check_overlap(lambda x, y: beside(x, y, gather(group)), order)


def test_a_group_inside_a_group_holds_what_is_read(group):
    """The pass runs twice: the second time it puts groups into groups."""

    def order(graph: fx.Graph) -> None:
        for pairs in (ORDERS["start and wait"], [("relu", START), ("sin", WAIT)]):
            ordering(lambda nodes, pairs=pairs: [(nodes[a], nodes[b]) for a, b in pairs])(graph)

    check_overlap(lambda x, y: beside(x, y, gather(group)), order)


@pytest.mark.parametrize("ordered", (False, True))
def test_a_wait_through_a_view_holds_what_is_read(group, ordered):
    def start(x: Tensor):
        return c10d.all_gather_into_tensor(x, 1, group), lambda y: c10d.wait_tensor(y.view(-1)).view(64, 64)

    pairs = [("mm", START), ("view", WAIT), ("mm_2", WAIT)]
    order = ordering(lambda nodes: [(nodes[a], nodes[b]) for a, b in pairs if ordered])
    check_overlap(lambda x, y: beside(x, y, start), order if ordered else None)


def test_a_group_that_hands_a_result_through(group):
    """An ordered view lies between start and wait."""

    def start(x: Tensor):
        return c10d.all_gather_into_tensor(x, 1, group), lambda y: c10d.wait_tensor(y.view(-1)).view(64, 64)

    pairs = [("mm_1", "view"), ("mm_2", WAIT)]
    check_overlap(
        lambda x, y: beside(x, y, start), ordering(lambda nodes: [(nodes[a], nodes[b]) for a, b in pairs])
    )


def test_each_result_of_a_coalesced_collective_holds_all_that_is_read(group):
    def reduced(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        p = y @ y
        a, b = c10d.all_reduce_coalesced([x * 2, y + 1], "sum", group)
        q = ((p * 3 + 1) @ y).sin() @ y
        return c10d.wait_tensor(a).cos(), c10d.wait_tensor(b).cos(), q.cos()

    def order(nodes):
        return [(nodes["mm"], nodes["all_reduce_coalesced"]), (nodes["mm_2"], nodes["wait_tensor_1"])]

    x, y = random(64, 64), random(64, 64) / 64
    compiled = Compiled(reduced, {"interpret_level": "planned", "fx_pass": ordering(order)})
    for found, expected in zip(compiled(x, y), reduced(x, y), strict=True):
        torch.testing.assert_close(found, expected)
    (graph,) = compiled.graphs
    assert str(graph.module).count('"_c10d_functional.wait_tensor.default"') == 2
    waits = [f for f in functions_of(graph.module).values() if extern_name(f).endswith("wait_tensor.default")]
    assert [len(held_by(f)) for f in waits] == [2, 2]


def destinations(graph: fx.Graph) -> None:
    """Gathers into memory that is there: ``all_gather_into_tensor_out``."""
    for node in graph.find_nodes(op="call_function", target=c10d.all_gather_into_tensor.default):
        value = node.meta["val"]
        with graph.inserting_before(node):
            empty = torch.ops.aten.empty.memory_format
            out = graph.call_function(empty, (list(value.shape),), {"dtype": value.dtype})
            made = graph.call_function(c10d.all_gather_into_tensor_out.default, node.args, {"out": out})
        out.meta["val"], made.meta["val"] = value, value
        node.replace_all_uses_with(made)
        graph.erase_node(node)


def in_place(graph: fx.Graph) -> None:
    """Reduces in place: ``all_reduce_``."""
    for node in graph.find_nodes(op="call_function", target=c10d.all_reduce.default):
        node.target = c10d.all_reduce_.default


@pytest.mark.parametrize("ordered", ((), ("start",), ("wait",), ("start", "wait")))
@pytest.mark.parametrize("form", (destinations, in_place))
def test_collectives_that_write_to_an_argument(group, form, ordered):
    """What is written is no more read than anything else is; a group that writes runs whole."""

    def start(x: Tensor):
        if form is in_place:
            return c10d.all_reduce(x, "sum", group), c10d.wait_tensor
        return gather(group)(x)

    def order(graph: fx.Graph) -> None:
        form(graph)
        nodes = {node.name: node for node in graph.nodes}
        (begun,) = (n for n in nodes.values() if "all_gather" in n.name or "all_reduce" in n.name)
        pairs = {"start": (nodes["mm"], begun), "wait": (nodes["mm_2"], nodes[WAIT])}
        if ordered:
            ordering(lambda nodes: [pairs[o] for o in ordered])(graph)

    check_overlap(lambda x, y: beside(x, y, start), order, whole="start" in ordered)


def waits_of(compiled: Compiled) -> int:
    (graph,) = compiled.graphs
    return [launch.name for launch in graph.launches].count("_c10d_functional.wait_tensor.default")


def test_a_graph_waits_for_what_an_ordered_group_starts(group):
    def started(x: Tensor) -> tuple[Tensor, Tensor]:
        return c10d.all_gather_into_tensor(x * 2, 1, group), x @ x

    order = ordering(lambda nodes: [(nodes["mul"], nodes[START])])
    compiled = Compiled(started, {"interpret_level": "planned", "fx_pass": order})
    torch.testing.assert_close(compiled(random(8, 8))[0], random(8, 8) * 2)
    assert waits_of(compiled) == 1


def test_a_graph_waits_for_results_that_nobody_takes(group):
    """The memory of what is read is needed until then."""

    def started(x: Tensor) -> tuple[Tensor, ...]:
        return *c10d.all_reduce_coalesced([x * 3, x * 4], "sum", group), x @ x

    def drop(graph: fx.Graph) -> None:
        (output,) = graph.find_nodes(op="output")
        taken = output.args[0][:2]
        output.args = ((output.args[0][2], output.args[0][2], output.args[0][2]),)
        for node in taken:
            graph.erase_node(node)

    compiled = Compiled(started, {"interpret_level": "planned", "fx_pass": drop})
    compiled(random(8, 8))
    assert waits_of(compiled) == 1
    assert len(overlaps(compiled)) == 1


def test_what_a_branch_starts_it_waits_for(group):
    """The memory of what is read is the branch's own."""

    def function(x: Tensor) -> Tensor:
        def started(x: Tensor) -> Tensor:
            return c10d.all_gather_into_tensor(x * 2, 1, group)

        return torch.cond(x.sum() > 0, started, lambda x: x.sin(), (x,)).cos()

    x = random(8, 8)
    compiled = Compiled(function, {"interpret_level": "planned"})
    torch.testing.assert_close(compiled(x), (x * 2).cos())
    (graph,) = compiled.graphs
    assert '"_c10d_functional.wait_tensor.default"' in str(graph.module)


@pytest.mark.parametrize("waits_first", (False, True))
def test_a_sum_is_added_in_place_to_what_an_ordered_collective_has_read(group, waits_first):
    """Not before the wait; behind it nobody reads the old contents."""

    def gathered(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        read = x @ y
        whole = c10d.wait_tensor(c10d.all_gather_into_tensor(read, 1, group))
        return read + x.relu() @ y, whole.cos()

    def order(graph: fx.Graph) -> None:
        nodes = {node.name: node for node in graph.nodes}
        if not waits_first:
            for name in (WAIT, "cos"):
                nodes["add"].append(nodes[name])
                nodes["add"] = nodes[name]
        ordering(lambda nodes: [(nodes["mm"], nodes[WAIT])])(graph)

    x, y = random(64, 64).bfloat16(), random(64, 64).bfloat16()
    with made_up_gpu(), torch.no_grad():
        compiled = Compiled(gathered, {"fx_pass": order, "epilogues": "library"})
        compiled(x, y)
    assert ("addmm_" in compiled.graphs[0].source) == waits_first


@torch.library.custom_op("fuse_test::note", mutates_args=())
def note(x: Tensor) -> None:
    """Something with an effect and no value."""


note.register_fake(lambda x: None)
fx.node.has_side_effect(torch.ops.fuse_test.note.default)


def test_a_wait_that_runs_whole_holds_what_is_read(group):
    """An op without a value takes no time, so the group is one torch op; what it gives is what it took."""

    def function(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        torch.ops.fuse_test.note(y)
        return beside(x, y, gather(group))

    order = ordering(lambda nodes: [(nodes["note"], nodes[WAIT]), (nodes["mm_2"], nodes[WAIT])])
    compiled = check_overlap(function, order, whole=True)
    functions = functions_of(compiled.graphs[0].module).values()
    (wait,) = (f for f in functions if extern_name(f) == "higher_order.control_deps")
    kept = [str(wait.attributes[name]) for name in ("fuse.aliases", "fuse.mutated", "fuse.held")]
    (taken,) = ir.DenseI64ArrayAttr(wait.attributes["fuse.mutated"])
    assert kept[0] == f'{{"0" = {taken} : i64}}' and len(held_by(wait)) == 1, kept
    assert "_c10d_functional.wait_tensor.default" not in str(compiled.graphs[0].module)


def chained(*names: str, every: bool = False):
    """An ``fx_pass``: ops, each of which reads the one before, become one group behind the first product,
    which gives the last value or ``every`` one.
    """

    def order(graph: fx.Graph) -> None:
        named = {node.name: node for node in graph.nodes}
        nodes, inner = [named[name] for name in names], fx.Graph()
        first, last = nodes[0].args[0], nodes[-1]
        given = inner.placeholder("given")
        given.meta = dict(first.meta)
        copies = {first: given}
        for node in nodes:
            copies[node] = inner.node_copy(node, copies.__getitem__)
        inner.output(tuple(copies[node] for node in nodes) if every else copies[last])
        graph.owning_module.chain = fx.GraphModule(torch.nn.Module(), inner)
        with graph.inserting_before(last):
            arguments = ((named["mm"],), graph.get_attr("chain"), first)
            group = graph.call_function(control_deps, arguments)
        group.meta = dict(last.meta)
        if every:
            group.meta["val"] = tuple(node.meta["val"] for node in nodes)
            for number, node in enumerate(nodes):
                with graph.inserting_after(group):
                    one = graph.call_function(operator.getitem, (group, number))
                one.meta = dict(node.meta)
                node.replace_all_uses_with(one, delete_user_cb=lambda user: user not in nodes)
        else:
            last.replace_all_uses_with(group)
        for node in nodes[::-1]:
            graph.erase_node(node)

    return order


def test_what_only_a_group_has_cannot_be_held(group):
    """What the group gathers is its own, so it stays one torch op, which keeps it alive."""
    compiled = check_overlap(lambda x, y: beside(x, y, gather(group)), chained("mul", START), whole=True)
    (graph,) = compiled.graphs
    assert "reads a tensor made in the sub-graph" in graph.remarks.render("text")
    assert waits_of(compiled) == 1


def test_only_what_is_in_flight_is_waited_for(group):
    """Of what a group gives that starts a collective."""

    def started(x: Tensor) -> tuple[Tensor, ...]:
        product, twice = x @ x, x * 2
        gathered = c10d.all_gather_into_tensor(twice, 1, group)
        return gathered, twice + 1, product

    compiled = Compiled(started, {"fx_pass": chained("mul", START, every=True)})
    of_eager = started(random(8, 8))
    c10d.wait_tensor(of_eager[0])
    for mine, theirs in zip(compiled(random(8, 8)), of_eager, strict=True):
        torch.testing.assert_close(mine, theirs)
    assert waits_of(compiled) == 1


def test_a_group_that_starts_and_waits_is_not_waited_for_again(group):
    compiled = check_overlap(lambda x, y: beside(x, y, gather(group)), chained(START, WAIT), whole=True)
    assert waits_of(compiled) == 1
    assert overlaps(compiled) == [[]]
