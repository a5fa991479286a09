"""Templates that answer with TTIR: it becomes a kernel of the module as a function of Triton's does
(``given_ttir.py``, ``ttir_arguments.py``, ``ttir_function.py``).
"""

import re

import pytest
import torch
from compiling import Compiled
from import_one import graph_of

from fuse_mlir.compiler.base.errors import TemplateError
from fuse_mlir.compiler.frontend.importer.importer import import_graph
from fuse_mlir.compiler.fx.graph_text import graph_text
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.templates import TemplateKernel, TemplateTtir
from templates import SCALED, registered

pytestmark = pytest.mark.usefixtures("fresh_dynamo")

TEXT = """
module {
  tt.func public @scaled(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>, %by: f32, %n: i32) {
    %block = arith.constant 64 : i32
    %program = tt.get_program_id x : i32
    %first = arith.muli %program, %block : i32
    %lanes = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %firsts = tt.splat %first : i32 -> tensor<64xi32>
    %i = arith.addi %firsts, %lanes : tensor<64xi32>
    %ns = tt.splat %n : i32 -> tensor<64xi32>
    %mask = arith.cmpi slt, %i, %ns : tensor<64xi32>
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %at = tt.addptr %xs, %i : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %v = tt.load %at, %mask : tensor<64x!tt.ptr<f32>>
    %factors = tt.splat %by : f32 -> tensor<64xf32>
    %w = arith.mulf %v, %factors : tensor<64xf32>
    %outs = tt.splat %out : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %to = tt.addptr %outs, %i : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    tt.store %to, %w, %mask : tensor<64x!tt.ptr<f32>>
    tt.return
  }
}
"""


def template(text=TEXT, **changed):
    def answer(call):
        x, n = call["x"], call["x"].shape[0]
        arguments = {"x": x, "out": call["out"], "by": call["by"], "n": n, **changed}
        given = {name: value for name, value in arguments.items() if value != "left out"}
        return TemplateKernel(TemplateTtir(text), given, ((n + 63) // 64,))

    return answer


@pytest.mark.parametrize("dynamic", [False, True])
def test_what_is_around_is_computed_in_the_text(dynamic):
    x = torch.randn(300)
    with registered(SCALED, template()), torch.no_grad():
        compiled = Compiled(lambda x: SCALED(x.exp(), 3.0).sigmoid(), {"verify": "numeric"}, dynamic=dynamic)
        torch.testing.assert_close(compiled(x), (x.double().exp() * 3).sigmoid().float())
    (graph,) = compiled.graphs
    assert (graph.launches_after, graph.externs, graph.fallbacks) == (1, 0, [])


def one_call():
    return graph_of(SCALED, (torch.randn(300),))


def test_the_key_of_a_program_has_the_text():
    texts = []
    for text in (TEXT, TEXT.replace("mulf", "addf"), TEXT):
        with registered(SCALED, template(text)):
            texts.append(graph_text(one_call()))
    assert texts[0] == texts[2] != texts[1]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            template(TEXT.replace("%v, %f", "%i, %f")),
            "'scaled' at line 16 of its TTIR: use of value '%i' expects",
        ),
        (template("module {"), "'ttir' at line 1 of its TTIR: expected operation name in quotes"),
        (template("module { }"), "'ttir' at its TTIR: expected one public tt.func"),
        (template(n="left out"), "'scaled' at its TTIR: it takes 4 arguments, and the template gives 3"),
        (
            template(n=1.5),
            "'scaled' at its TTIR: its argument 3 is of type i32, and 'n' of type f32 or f64",
        ),
        (template(n=True), "'scaled' at its TTIR: its argument 3 is of type i32, and 'n' of type i1"),
        (
            template(TEXT.replace("ptr<f32>", "ptr<f16>").replace("64xf32", "64xf16").replace("f32", "f16")),
            "'scaled' at its TTIR: its argument 0 is of type !tt.ptr<f16>, and 'x' of type !tt.ptr<f32>",
        ),
    ],
    ids=["verifier", "parser", "empty", "missing", "number", "bool", "elements"],
)
def test_a_wrong_text_is_one_located_sentence(answer, said, capfd):
    with registered(SCALED, answer), pytest.raises(TemplateError) as raised:
        import_graph(one_call(), context=make_context(), device="cpu")
    where = r"the template of template_tests\.scaled\.default at \S+test_ttir_templates\.py:\d+: "
    assert re.match(where + "Triton refuses the kernel " + re.escape(said), str(raised.value))
    assert capfd.readouterr().err == "", "what Triton prints is in the error"
