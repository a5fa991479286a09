"""Cascades forced on the interpreter, and what ``derive-cascades`` says: shared by tests, no test itself."""

from compiling import Compiled

from fuse_mlir.compiler.driver.program import CompiledGraph

FORCED = {"products": "generated", "attention": False, "interpret_level": "tiled", "cache": False}


def refusals(graph: CompiledGraph) -> list[tuple[str, str]]:
    return [(r.rule, r.message) for r in graph.remarks.items if r.pass_name == "derive-cascades"]


def assert_derived(compiled: Compiled) -> None:
    [graph] = compiled.graphs
    assert [rule for rule, _ in refusals(graph)] == ["cascade"]
    assert (graph.launches_after, graph.externs) == (1, 0)
    [tiling] = [r.rule for r in graph.remarks.items if r.pass_name == "choose-tiling"]
    assert tiling == "columns-in-a-loop"
