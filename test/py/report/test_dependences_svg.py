"""The picture of dependences: every call once, what it has to follow, and why."""

import re
from xml.etree import ElementTree

import pytest
import torch
from compiling import Compiled
from repository import ROOT

from fuse_mlir.compiler.analysis.program.dependences import Dependences
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.report.dependences_svg import calls_and_order, draw_dependences

#: The modules whose dependences lit checks as text.
PARTS = (ROOT / "test/lit/tools/print-dependences.mlir").read_text(encoding="utf-8").split("\n// -----\n")


def order_of(module: ir.Module) -> dict[str, list[str]]:
    calls, order = calls_and_order(module)
    return {node.name: [str(b) for b in before] for node, before in zip(calls, order, strict=True)}


@pytest.mark.parametrize(
    ("part", "want"),
    [
        (0, {"copy": [], "neg": ["0: war of argument 0"]}),
        (1, {"add_": [], "alias": ["0: raw of argument 0"], "relu": ["0: raw of argument 0"]}),
        (
            2,
            {
                "masked": [],
                "fill": ["0: size"],
                "positive": ["0: size"],
                "choose": ["2: size", "1: data", "0: data, size"],
            },
        ),
        (3, {"rows": [], "relu": ["0: token"]}),
    ],
    ids=["view", "mutation", "sizes", "token"],
)
def test_why_a_call_follows_others(part, want):
    """Also where a view, a size or a token stands between the two."""
    assert order_of(ir.Module.parse(PARTS[part], make_context())) == want


def test_memory_that_is_taken_over_is_no_reason():
    """The third call takes over the memory of the first, which it does not read."""
    relu = '{fuse.extern = "aten.relu.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}'
    text = f"""
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {{
  %a = call @first(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %b = call @second(%a) : (tensor<8xf32>) -> tensor<8xf32>
  %o = "fuse.reuse"(%a) {{operandSegmentSizes = array<i32: 1, 0>, syms = []}}
    : (tensor<8xf32>) -> tensor<8xf32>
  %c = call @third(%b, %o) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %c : tensor<8xf32>
}}
func.func private @first(tensor<8xf32>) -> tensor<8xf32> attributes {relu}
func.func private @second(tensor<8xf32>) -> tensor<8xf32> attributes {relu}
func.func private @third(%x: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {{fuse.kernel, fuse.dims = {{d0 = "8"}}, fuse.ties = array<i64: 1>}} {{
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {{at = ["d0"]}} : (tensor<8xf32>, i1, f32) -> f32
  %r = "fuse.store"(%o, %v, %true) {{at = ["d0"], mode = "set"}} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}}"""
    module = ir.Module.parse(text, make_context())
    assert order_of(module) == {"first": [], "second": ["0: data"], "third": ["1: data"]}


def test_the_picture_has_every_call_and_reason():
    def function(x, w, cache):
        y = (x @ w).relu()
        cache.add_(y.sum(0))
        return (y @ w).sin(), cache * 2

    compiled = Compiled(function, {"interpret_level": "planned"})
    compiled(torch.randn(8, 8), torch.randn(8, 8), torch.randn(8))
    [graph] = compiled.graphs
    text = graph.dependences_svg()
    assert text == draw_dependences(graph.module, graph.name)
    root = ElementTree.fromstring(text)
    space = "{http://www.w3.org/2000/svg}"
    rows = [g for g in root.iter(f"{space}g") if g.get("class") == "row"]
    calls, order = calls_and_order(graph.module)
    assert [row.get("id") for row in rows] == [f"call{n}" for n in range(len(calls))]
    begun = {b.row for before in order for b in before}
    assert len(re.findall('class="line"', text)) == len(begun)
    for number, (row, node, before) in enumerate(zip(rows, calls, order, strict=True)):
        said = [t.text for t in row.iter(f"{space}text")]
        assert said == [f"{number} {node.name}", "; ".join(map(str, before)) or "nothing"]
        assert len(list(row.iter(f"{space}circle"))) == len(before) + (number in begun)
        assert all(b.row < number for b in before)
    assert "test_dependences_svg.py" in text, "pointing at a call names the user's lines"
    for word in ("reads the result", "memory is written again", "has to run after"):
        assert word in text


def test_every_edge_between_calls_is_drawn():
    module = ir.Module.parse(PARTS[2], make_context())
    calls, order = calls_and_order(module)
    rows = {node.index: row for row, node in enumerate(calls)}
    for edge in Dependences.of(module).edges:
        if edge.before in rows and edge.after in rows:
            assert rows[edge.before] in {b.row for b in order[rows[edge.after]]}


def test_a_module_without_main():
    with pytest.raises(ValueError, match="no function @main"):
        draw_dependences(ir.Module.parse("module {}", make_context()))
