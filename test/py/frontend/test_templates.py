"""Templates: the kernel of a custom op is the template's, and what is around the op is computed in it."""

import re
from dataclasses import replace

import pytest
import torch
from compiling import Compiled, cloned
from import_one import capture, graph_of
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from user_kernels import tl, triton

from fuse_mlir.compiler.base.errors import TemplateError, UnsupportedOp
from fuse_mlir.compiler.frontend.importer.importer import import_graph
from fuse_mlir.compiler.fx.graph_text import NotCacheable, graph_text
from fuse_mlir.compiler.fx.template_answers import template_launch
from fuse_mlir.compiler.fx.templates import template_of
from fuse_mlir.compiler.fx.user_kernels import Opaque
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.templates import TemplateKernel, register
from templates import (
    PLUS_AND_TWICE,
    RMS,
    SCALED,
    plus_and_twice_answer,
    registered,
    rms_answer,
    rms_template,
    scaled_answer,
)

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def exact_rms(x, w, eps=1e-6):
    scale = (x.square().mean(1) + eps).rsqrt()
    return x * scale[:, None] * w, scale


def run(function, exactly, shapes, dynamic=False, **options):
    """The one graph of ``function``, whose results are those of ``exactly`` in float64."""
    torch.manual_seed(0)
    inputs = [torch.randn(shape) for shape in shapes]
    compiled = Compiled(function, options, dynamic=dynamic)
    with torch.no_grad():
        found, expected = compiled(*inputs), exactly(*cloned(inputs, torch.float64))
    torch.testing.assert_close(found, expected, check_dtype=False, rtol=2e-5, atol=2e-5)
    (graph,) = compiled.graphs
    return graph


def normed(x, r, w):
    """A prologue, an epilogue of one output, and one of the other."""
    y, scale = RMS(x + r, w, 1e-6)
    return y.sigmoid() * 2, scale.log()


def exactly_normed(x, r, w):
    y, scale = exact_rms(x + r, w)
    return y.sigmoid() * 2, scale.log()


SHAPES = ((5, 100), (5, 100), (100,))


def said(graph, kind):
    return [
        (r.pass_name, r.rule)
        for r in graph.remarks.items
        if r.kind == kind and r.pass_name.startswith("fuse-user")
    ]


@pytest.mark.parametrize(
    ("dynamic", "options"), [(False, {"interpret_level": "planned"}), (True, {"verify": "numeric"})], ids=str
)
def test_prologue_and_epilogues(dynamic, options):
    with rms_template() as calls:
        graph = run(normed, exactly_normed, SHAPES, dynamic, **options)
    assert (graph.launches_after, graph.externs, graph.fallbacks) == (1, 0, [])
    assert {name for name, _ in said(graph, "passed")} == {"fuse-user-prologues", "fuse-user-epilogues"}
    assert (calls[0]["x"].strides[1], calls[0]["eps"]) == (1, 1e-6)
    assert isinstance(calls[0]["x"].shape[0], torch.SymInt if dynamic else int)


@pytest.mark.parametrize(
    ("spec", "launches", "missed"),
    [
        ({"prologues": ["w"]}, 2, {("fuse-user-prologues", "template")}),
        ({"epilogues": ["scales"]}, 2, {("fuse-user-epilogues", "template")}),
        (
            {"prologues": [], "epilogues": []},
            4,
            {(f"fuse-user-{n}", "template") for n in ("prologues", "epilogues")},
        ),
    ],
)
def test_the_fusion_spec_is_kept(spec, launches, missed):
    with rms_template(**spec):
        graph = run(normed, exactly_normed, SHAPES)
    assert graph.launches_after == launches and set(said(graph, "missed")) == missed


def test_an_epilogue_reads_two_outputs():
    """They are stored by one tile, so that both are known where the second is stored."""
    with registered(PLUS_AND_TWICE, plus_and_twice_answer):
        graph = run(
            lambda x: torch.mul(*PLUS_AND_TWICE([x.exp(), x.sin()])),
            lambda x: (x.sin() + 1) * x.sin() * 2,
            [(8, 64)],
        )
    assert graph.launches_after == 1


def test_calls_of_one_template_share_a_kernel():
    def twice(x, w):
        return RMS(RMS(x, w, 1e-6)[0], w, 1e-6)[0]

    with rms_template():
        graph = run(
            twice, lambda x, w: exact_rms(exact_rms(x, w)[0], w)[0], SHAPES[1:], interpret_level="planned"
        )
    assert graph.launches_after == 2 and str(graph.module).count("fuse.user") == 1


@pytest.mark.parametrize("fixed", ["columns", "block", "both"])
def test_a_size_that_a_template_fixes_is_known_in_front_of_the_call(fixed):
    """The producer's tensor has the number, too, so that it is computed in the kernel."""

    def arguments(c):
        rows, columns = c["x"].shape
        known = {
            "columns": {"columns": int(columns)},
            "block": {"block": triton.next_power_of_2(int(columns))},
        }
        both = {
            "columns": int(columns),
            "out_stride": int(columns),
            "x_stride": int(columns) * (int(rows) > 0),
        }
        return {**answer(c), **known.get(fixed, both)}

    with rms_template(arguments=arguments):
        graph = run(normed, exactly_normed, SHAPES, dynamic=True)
    assert (graph.launches_after, graph.externs) == (1, 0)
    assert {name for name, _ in said(graph, "passed")} == {"fuse-user-prologues", "fuse-user-epilogues"}


def test_a_size_that_a_template_fixes_is_guarded():
    changed = {"arguments": lambda c: {**answer(c), "columns": int(c["x"].shape[1])}}
    with rms_template(**changed), torch.no_grad():
        compiled = Compiled(lambda x, w: RMS(x, w, 1e-6), dynamic=True)
        for rows, columns in ((5, 100), (7, 100), (5, 90)):
            x, w = torch.randn(rows, columns), torch.randn(columns)
            expected = exact_rms(x.double(), w.double())
            torch.testing.assert_close(compiled(x, w), expected, check_dtype=False, rtol=2e-5, atol=2e-5)
    assert len(compiled.graphs) == 2


def test_gradients():
    x, w = torch.randn(5, 100, requires_grad=True), torch.randn(100, requires_grad=True)
    exact = [t.detach().double().requires_grad_() for t in (x, w)]
    want = torch.autograd.grad((exact_rms(*exact)[0] * 3).square().sum(), exact)
    with rms_template():
        compiled = Compiled(lambda x, w: (RMS(x, w, 1e-6)[0] * 3).square().sum())
        found = torch.autograd.grad(compiled(x, w), (x, w))
    torch.testing.assert_close(found, want, check_dtype=False, rtol=1e-4, atol=1e-4)
    assert [g.externs for g in compiled.graphs] == [0, 0]


def test_the_key_of_a_program_says_what_the_template_answers():
    gm = one_call()
    texts = [graph_text(gm)]
    for changed in ({}, {"num_warps": 8}, {"prologues": ["w"]}, {"grid": (7,)}, {"arguments": swapped}):
        with rms_template(**changed):
            texts.append(graph_text(gm))
    assert len(set(texts)) == len(texts)
    with rms_template():
        assert graph_text(gm) == texts[1]
    with (
        registered(RMS, lambda call: None),
        pytest.raises(NotCacheable, match="a template: its template declines"),
    ):
        graph_text(gm)


def test_the_key_of_a_program_has_the_order_of_the_outputs():
    gm = graph_of(PLUS_AND_TWICE, ([torch.randn(8, 64), torch.randn(8, 64)],))
    texts = []
    for outputs in (("out0", "out1"), ("out1", "out0")):
        with registered(PLUS_AND_TWICE, plus_and_twice_answer, outputs):
            texts.append(graph_text(gm))
    assert texts[0] != texts[1]


def test_the_key_of_a_program_has_symbols():
    gm = capture(lambda x, w: RMS(x, w, 1e-6)[0], torch.randn(5, 100), torch.randn(100), symbolic=True)
    texts = []
    for grid in ((1,), lambda c: (c["x"].shape[0],), lambda c: (c["x"].shape[0] * 2,)):
        with rms_template(grid=grid):
            texts.append(graph_text(gm))
    assert len(set(texts)) == 3


def swapped(call):
    return {**answer(call), "offset": 1.0}


def test_no_op_has_two_templates_and_none_that_writes():
    with (
        rms_template(),
        pytest.raises(ValueError, match=r"template_tests\.rms\.default has a template already, at "),
    ):
        register(RMS)
    with pytest.raises(ValueError, match=r"aten\.relu.default is torch's own"):
        register(torch.ops.aten.relu.default)
    with pytest.raises(ValueError, match="writes to an argument, or returns a view of one"):
        register(torch.ops.fsdp.copy_.default)
    with pytest.raises(ValueError, match=r"expected 2 names for the outputs of template_tests\.rms\.default"):
        register(RMS, outputs=("y", "x"))
    with pytest.raises(ValueError, match="expected an overload such as"):
        register(torch.ops.template_tests.rms)


# ---- what is not taken -------------------------------------------------------------------------------------


def one_call():
    return graph_of(RMS, (torch.randn(5, 100), torch.randn(100), 1e-6))


def imported(strict=False, device="cpu"):
    return import_graph(one_call(), context=make_context(), device=device, strict=strict)


def test_torch_runs_what_a_template_declines():
    with registered(RMS, lambda call: None):
        assert imported().fallbacks[0].reason == "its template declines"
        with pytest.raises(UnsupportedOp, match=r"template_tests.rms.default on .*: its template declines"):
            imported(strict=True)


def without(name):
    return lambda call: {n: v for n, v in answer(call).items() if n != name}


def answer(call):
    return dict(rms_answer(call).arguments)


@triton.jit
def forgetful_kernel(out, scales, x, block: tl.constexpr):
    """It never writes the scales."""
    i = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(out + i, tl.load(x + i) + tl.load(scales + tl.program_id(0)))


@triton.jit
def writes_its_input(x, y, s):
    tl.store(x, 1.0)
    tl.store(y, 1.0)
    tl.store(s, 1.0)


@triton.jit
def refused(x, y, s):
    tl.store(y, tl.load(x, beside=s))


def forgetful(call):
    return {"out": call["y"], "scales": call["scales"], "x": call["x"], "block": 4}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"prologues": ["z"]}, "its prologues name 'z', which is no input tensor: expected x, w"),
        ({"prologues": ["eps"]}, "its prologues name 'eps', which is no input tensor: expected x, w"),
        ({"epilogues": ["x"]}, "its epilogues name 'x', which is no output tensor: expected y, scales"),
        (
            {"arguments": lambda c: {**answer(c), "z": 1}},
            "the kernel has no parameter 'z': expected one of out, .*",
        ),
        ({"arguments": without("columns")}, "the kernel's parameter 'columns' has no argument"),
        (
            {"arguments": lambda c: {**answer(c), "scales": c["x"]}},
            "expected one argument that is the output 'scales', got 0",
        ),
        ({"grid": lambda c: c["z"].shape}, "it raises KeyError: 'z: expected one of x, w, eps, y, scales'"),
        ({"grid": (2.5,)}, "the kernel 'rms_kernel' at .* with an extent of 2.5: expected integers"),
        (
            {"arguments": lambda c: {**answer(c), "w": torch.ones(100)}},
            "expected the argument 'w' to be a tensor of the call, got a torch.Tensor",
        ),
        (
            {"arguments": lambda c: {**answer(c), "w": replace(c["w"])}},
            "the argument 'w' is the tensor 'w' of another call",
        ),
        ({"grid": ()}, r"expected a grid of one to three extents, got \(\)"),
        ({"grid": 5}, "expected a grid of one to three extents, got 5"),
        ({"num_warps": 3}, "expected num_warps to be a positive power of two, got 3"),
        ({"num_stages": 0}, "expected num_stages to be a positive integer, got 0"),
        (
            {"kernel": len},
            "expected kernel to be a function under @triton.jit, got builtin_function_or_method",
        ),
        (
            {"kernel": forgetful_kernel, "arguments": forgetful},
            "the kernel 'forgetful_kernel' never writes to the output 'scales'",
        ),
    ],
)
def test_a_wrong_answer_is_one_located_sentence(changed, message):
    with rms_template(**changed), pytest.raises(TemplateError) as raised:
        imported()
    where = r"the template of template_tests\.rms\.default at \S+templates\.py:\d+: "
    assert re.fullmatch(where + message, str(raised.value))


def test_a_kernel_that_triton_refuses_is_named():
    def template(call):
        return TemplateKernel(refused, {"x": call["x"], "y": call["y"], "s": call["scales"]}, (1,))

    with (
        registered(RMS, template, ("y", "scales")),
        pytest.raises(TemplateError, match=r"Triton refuses the kernel 'refused' at .*: .*beside"),
    ):
        imported()


@pytest.mark.parametrize("dynamic", [False, True])
def test_the_error_names_the_users_line(dynamic):
    """Torch could run the op, but whoever wrote the template has to know."""
    changed = (
        {"arguments": lambda c: {**answer(c), "block": c["x"].shape[1]}} if dynamic else {"prologues": "z"}
    )
    said = (
        "the tl.constexpr 'block' is a size that only a call knows: make it an int"
        if dynamic
        else "its prologues"
    )
    with (
        rms_template(**changed),
        torch.no_grad(),
        pytest.raises(Exception, match=f"{said}.* \\(at .*test_templates.py:"),
    ):
        Compiled(normed, dynamic=dynamic)(*map(torch.randn, SHAPES))


def test_what_is_not_given_has_its_default():
    """The parameter ``beside`` of the kernel has one, and so has ``by`` of the op."""
    with registered(SCALED, scaled_answer):
        run(lambda x: SCALED(x) + SCALED(x, 3.0), lambda x: x * 5, [(8, 64)])


def test_torch_runs_an_op_on_tensors_of_another_device():
    with rms_template():
        assert imported(device="cuda:0").fallbacks[0].reason == "its tensor 'x' is on cpu"


def test_torch_runs_an_op_with_a_number_that_only_a_call_knows():
    gm = one_call()
    (node,) = gm.graph.find_nodes(op="call_function", target=RMS)
    with gm.graph.inserting_before(node):
        number = gm.graph.placeholder("eps")
    number.meta["val"] = ShapeEnv().create_unbacked_symfloat()
    node.args = (*node.args[:2], number)
    with rms_template(), pytest.raises(Opaque, match="its argument 'eps' is a number that only a call knows"):
        template_launch(node, template_of(node))


def test_torch_runs_an_op_whose_kernel_writes_to_an_input():
    def template(call):
        x, y = call["x"], call["y"]
        return TemplateKernel(writes_its_input, {"x": x, "y": y, "s": call["scales"]}, (1,))

    with registered(RMS, template, ("y", "scales")):
        assert "may write to 'x'" in imported().fallbacks[0].reason
