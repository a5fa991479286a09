"""Templates that answer several kernels: each is a configuration, and what fuses is in all of them
(``configurations.py``, ``template_answers.py``).
"""

from math import prod

import pytest
import torch
from compiling import Compiled
from import_one import capture, graph_of
from interpreted_gpu import interpreted_gpu
from user_kernels import tl, triton

from fuse_mlir.compiler.base.errors import TemplateError, UserKernelTuned
from fuse_mlir.compiler.frontend.importer.importer import import_graph
from fuse_mlir.compiler.fx.graph_text import graph_text
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.templates import TemplateConfigurations, TemplateKernel
from templates import SCALED, registered, scaled_answer

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


@triton.jit
def shifted_kernel(source, factor, count, target, block: tl.constexpr):
    """What ``scale_kernel`` computes and 1 more, with other parameters."""
    at = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(target + at, tl.load(source + at, at < count) * factor + 1, at < count)


def shifted_answer(call, **changed):
    x = call["x"]
    n = prod(x.shape)
    arguments = {"source": x, "factor": call["by"], "count": n, "target": call["out"], "block": 32}
    return TemplateKernel(
        **{"kernel": shifted_kernel, "arguments": arguments, "grid": ((n + 31) // 32,), **changed}
    )


def both(call):
    """The second of three is the first again."""
    rows = call["x"].shape[0]
    return TemplateConfigurations([scaled_answer(call), scaled_answer(call), shifted_answer(call)], [rows])


def between(x):
    return (SCALED(x.exp(), 3.0) * 2).to(torch.float16)


@pytest.mark.parametrize("form", [0, 1])
@pytest.mark.parametrize("dynamic", [False, True])
def test_what_is_around_is_computed_in_each_kernel(form, dynamic):
    x = torch.randn(350)
    with registered(SCALED, both), interpreted_gpu(fastest=form) as plans, torch.no_grad():
        compiled = Compiled(between, {"verify": "on"}, dynamic=dynamic)
        found = compiled(x)
    torch.testing.assert_close(found.double(), (x.double().exp() * 3 + form) * 2, rtol=2**-10, atol=1e-6)
    (step,) = (s for s in plans[0].steps() if s.word == "tune")
    assert len(step.launches) == 2 and len(plans[0].kernels) == 2, "nothing else is launched"
    assert compiled.graphs[0].externs == 0


def one_call():
    return graph_of(SCALED, (torch.randn(8, 64),))


def imported(answer):
    with registered(SCALED, answer):
        return import_graph(one_call(), context=make_context(), device="cpu")


def test_the_module_has_each_kernel_once_and_the_sizes_of_the_choice():
    with registered(SCALED, both):
        gm = capture(SCALED, torch.randn(7, 50), symbolic=True)
        text = str(import_graph(gm, context=make_context(), device="cpu").module)
    assert text.count("fuse.user =") == 2 and 'fuse.tuned_by = ["s' in text


def test_what_one_kernel_leaves_out_none_takes():
    def answer(call):
        return TemplateConfigurations([scaled_answer(call), shifted_answer(call, epilogues=[])])

    text = str(imported(answer).module)
    assert text.count("fuse.apart") == 2


def test_the_key_of_a_program_has_all_kernels():
    texts = []
    for kernels in (
        (scaled_answer,),
        (shifted_answer,),
        (scaled_answer, shifted_answer),
        (shifted_answer, scaled_answer),
    ):
        for tuned_by in ([], [1]):

            def answer(call, kernels=kernels, tuned_by=tuned_by):
                return TemplateConfigurations([kernel(call) for kernel in kernels], tuned_by)

            with registered(SCALED, answer):
                texts.append(graph_text(one_call()))
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda call: TemplateConfigurations([]), "expected TemplateConfigurations of at least one kernel"),
        (
            lambda call: TemplateConfigurations([scaled_answer(call), 3]),
            "expected each configuration to be a TemplateKernel, got int",
        ),
        (
            lambda call: TemplateConfigurations([scaled_answer(call)], [call["x"]]),
            "expected tuned_by to list sizes, got ",
        ),
        (
            lambda call: TemplateConfigurations([scaled_answer(call), shifted_answer(call, num_warps=3)]),
            "expected num_warps to be a positive power of two, got 3",
        ),
        (
            lambda call: [scaled_answer(call)],
            "expected a TemplateKernel, TemplateConfigurations or None, got list",
        ),
    ],
    ids=["none", "number", "tensor", "second", "list"],
)
def test_a_wrong_answer_is_one_located_sentence(answer, message):
    with pytest.raises(TemplateError, match=rf"the template of \S+ at \S+\.py:\d+: {message}"):
        imported(answer)


def test_deterministic_algorithms_refuse_a_choice():
    torch.use_deterministic_algorithms(True)
    try:
        with pytest.raises(UserKernelTuned, match=r"'scale_kernel' at .* is tuned over 3 configurations"):
            imported(both)
    finally:
        torch.use_deterministic_algorithms(False)
