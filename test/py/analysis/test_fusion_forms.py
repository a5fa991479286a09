"""A verdict on two groups is kept by their form, which holds all that the rules read, and nothing else."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import pytest
from fusion_modules import Graph

from fuse_mlir.compiler.analysis.fusion.form import Limits
from fuse_mlir.compiler.analysis.fusion.graph import GroupGraph
from fuse_mlir.compiler.analysis.fusion.merged import Merged
from fuse_mlir.compiler.analysis.fusion.placement import plan_group
from fuse_mlir.compiler.analysis.fusion.plan import FusionPlan, Refusal
from fuse_mlir.compiler.analysis.fusion.rules import OF_MERGED, Candidate, judge, judge_form
from fuse_mlir.compiler.analysis.program.dependences import Dependences, Node
from fuse_mlir.compiler.cost.devices import hardware_named
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.ir.kernel import program_facts
from fuse_mlir.compiler.ir.sizes import hints_of
from fuse_mlir.compiler.mlir import ir


@contextmanager
def graph_of(g: Graph, *outputs: Any) -> Iterator[GroupGraph]:
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(g.text(*outputs))  # lives while the graph does
        yield GroupGraph.of(module)


def pairs(graph: GroupGraph) -> list[Candidate]:
    """Neighbouring kernels, in program order."""
    kernels = sorted(graph.summaries)
    return [Candidate(graph, a, b, Limits()) for a, b in pairwise(kernels)]


def test_limits_follow_from_the_gpu() -> None:
    """They were fitted on an H200.  Of what others differ in, rules allow no more than was measured."""
    assert Limits.of(hardware_named("h200"), stores=64) == Limits() == Limits.of(hardware_named("h100"))
    a100, b200 = (Limits.of(hardware_named(name), ops=7) for name in ("a100", "b200"))
    assert (a100.rows, a100.cached, a100.ops) == (216, (40 << 20) * 16 // 25, 7)
    assert (a100.slots_per_byte, b200.slots_per_byte) == (4, 3)
    slice_ = Limits.of(hardware_named("h100:sm_count=16:registers=32768"))
    assert (slice_.rows, slice_.row, slice_.walked, slice_.numbers) == (32, 16384, 8192, 24576)


def layers() -> tuple[Graph, list[Any]]:
    """Three layers of the same kernels (exp, sum, add); in the last one others need the sum, too."""
    g = Graph()
    x = g.input(6, 5)
    for _ in range(3):
        e = g.pointwise("exp", x)
        total = g.reduce("sum", e, (1,))
        x = g.pointwise("add", e, total)
    return g, [total, x]


def test_layers_that_repeat_have_equal_forms_and_one_verdict() -> None:
    g, outputs = layers()
    with graph_of(g, *outputs) as graph:
        first, between, _, second, *_ = pairs(graph)
        assert first.form == second.form and hash(first.form) == hash(second.form)
        assert first.form != between.form
        one, other = judge(first), judge(second)
        assert graph.verdicts == {first.form: one} == {second.form: other}


@pytest.mark.parametrize(
    ("there", "instead", "known"),
    [
        ("", "", True),
        ("fuse.hint = 6", "fuse.hint = 7", False),
        ("fuse.min = 2", "fuse.min = 3", False),
    ],
    ids=["same", "hint", "bound"],
)
def test_a_graph_that_is_read_again_keeps_verdicts_where_sizes_are_as_before(
    there: str, instead: str, known: bool
) -> None:
    g = Graph(symbols=("s0",))
    text = g.text(g.pointwise("exp", g.pointwise("exp", g.input("s0", 5))))
    with make_context(), ir.Location.unknown():
        module, changed = ir.Module.parse(text), ir.Module.parse(text.replace(there, instead))
        before = GroupGraph.of(module)
        [pair] = pairs(before)
        verdict = judge(pair)
        again = GroupGraph.of(changed, before=before)
        [pair] = pairs(again)
        assert again.verdicts == ({pair.form: verdict} if known else {})
        assert (again.sizes.facts, again.sizes.hints) == (
            program_facts(again.deps.main), hints_of(again.deps.main)
        )  # fmt: skip
        assert judge(pair) == judge(pairs(GroupGraph.of(changed))[0])


def test_who_else_needs_a_value_is_part_of_a_form() -> None:
    g, outputs = layers()
    with graph_of(g, *outputs) as graph:
        found = pairs(graph)
        inner, last = found[1].form, found[7].form
        assert inner != last and inner == last._replace(escaping=inner.escaping)
        assert inner.escaping < last.escaping


def test_limits_types_and_storages_are_part_of_a_form() -> None:
    g, outputs = layers()
    with graph_of(g, *outputs) as graph:
        form = pairs(graph)[0].form
        others = {
            form._replace(limits=Limits(row=1)),
            form._replace(types=tuple(reversed(form.types))),
            form._replace(storages=tuple(0 for _ in form.storages)),
        }
        assert len(others) == 3 and form not in others


def test_a_form_names_its_kernels_and_not_the_graphs() -> None:
    g, outputs = layers()
    with graph_of(g, *outputs) as graph:
        for candidate in pairs(graph):
            members = candidate.form.members
            assert [m.name for m in members] == ["{0}", "{1}"] and [m.node for m in members] == [0, 1]
            for member, node in zip(members, candidate.nodes, strict=True):
                real = graph.member(node)
                assert member.summary is real.summary
                assert (len(member.operands), len(member.results)) == (len(real.operands), len(real.results))
                assert len(member.roots) == len(real.roots)


def reached(start: Any) -> list[Any]:
    """What can be had of an object by items, and by attributes of the project's objects."""
    seen: dict[int, Any] = {}
    waiting = [start]
    while waiting:
        item = waiting.pop()
        if id(item) in seen:
            continue
        seen[id(item)] = item
        if isinstance(item, (tuple, list, set, frozenset)):
            waiting += item
        elif isinstance(item, dict):
            waiting += [*item, *item.values()]
        elif type(item).__module__.startswith("fuse_mlir"):
            slots = [name for c in type(item).__mro__ for name in getattr(c, "__slots__", ())]
            waiting += [*getattr(item, "__dict__", {}).values(), *(getattr(item, n, None) for n in slots)]
    return list(seen.values())


def test_no_way_leads_from_what_rules_judge_to_the_graph() -> None:
    g, outputs = layers()
    with graph_of(g, *outputs) as graph:
        form = pairs(graph)[0].form
        merged = Merged(form, plan_group(form.members, form.escaping, form.sizes.facts))
        for rule in OF_MERGED:
            assert rule(merged) is None
        found = reached(merged)
        assert any(isinstance(item, FusionPlan) for item in found)  # the walk reaches what there is
        assert not [
            item
            for item in found
            if isinstance(item, (GroupGraph, Dependences, Node, Candidate, ir.Operation, ir.Module, ir.Value))
        ]


def test_no_rule_depends_on_those_before_it() -> None:
    """Each says of what no rule has read yet what it says after the others, in both orders."""
    g, outputs = layers()
    with graph_of(g, *outputs) as graph:
        for candidate in pairs(graph):
            form = candidate.form
            plan = plan_group(form.members, form.escaping, form.sizes.facts)
            if isinstance(plan, Refusal):
                continue
            alone = [rule(Merged(form, plan)) for rule in OF_MERGED]
            merged, turned = Merged(form, plan), Merged(form, plan)
            assert [rule(merged) for rule in OF_MERGED] == alone
            assert [rule(turned) for rule in reversed(OF_MERGED)] == alone[::-1]
            first = next((refusal for refusal in alone if refusal is not None), None)
            assert judge_form(form).refusal == first


def test_a_form_is_judged_without_its_graph() -> None:
    g, outputs = layers()
    with graph_of(g, *outputs) as graph:
        candidate = pairs(graph)[0]
        form, expected = candidate.form, judge(candidate)
    del candidate, graph
    assert judge_form(form) == expected
