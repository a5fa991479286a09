"""The benchmark models compile and match eager; the harness that says so can fail."""

import json
import math

import pytest
import torch
from functorch.compile import make_boxed_func
from torch import nn
from torch._dynamo.backends.common import aot_autograd
from torch.nn import functional as F

from fuse_mlir.bench.accuracy import Report, compare
from fuse_mlir.bench.models import CASES, Draw, Inputs, ModelCase, projection_loss, select, table
from fuse_mlir.bench.randomness import check_random_case, mask_statistics, same_mask_in_backward
from fuse_mlir.bench.reference import float64_reference
from fuse_mlir.bench.tolerance import judge, judge_all

TINY = list(select(size="tiny"))
#: Weights alone, a model of transformers with several inputs, buffers that are written, arguments that are.
QUICK = ("mlp", "hf_bert_tiny", "resnet_bottleneck", "adam_step")
COMPARABLE = [
    pytest.param(
        case,
        mode == "training",
        id=f"{case.name}-{mode}",
        marks=() if case.name in QUICK else (pytest.mark.slow,),
    )
    for case in TINY
    for mode in case.modes
    if not (case.random and mode == "training")
]


pytestmark = pytest.mark.usefixtures("one_thread")


def available(case: ModelCase) -> ModelCase:
    reason = case.unavailable()
    if reason:
        pytest.skip(reason)
    return case


def broken(forward=None, backward=None):
    """A backend that runs ATen graphs eagerly and passes their outputs through the given functions."""

    def compiler(spoil):
        def compile_graph(graph, example_inputs):
            def run(*args):
                outputs = graph(*args)
                return spoil(list(outputs)) if spoil else outputs

            return make_boxed_func(run)

        return compile_graph

    return aot_autograd(fw_compiler=compiler(forward), bw_compiler=compiler(backward))


def spoil_last_float(outputs, factor=1 + 1e-4):
    """Scale the last floating tensor of the list."""
    for index in reversed(range(len(outputs))):
        value = outputs[index]
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            outputs[index] = value * factor
            break
    return outputs


def spoil_first_float(outputs, factor=1 + 1e-4):
    return spoil_last_float(outputs[::-1], factor)[::-1]


# The table


def test_case_names_are_unique():
    with pytest.raises(AssertionError, match="two model cases are named 'mlp'"):
        table([CASES["mlp"]], [CASES["mlp"]])


def test_every_key_is_the_name_of_its_case():
    assert all(key == case.name for key, case in CASES.items())


@pytest.mark.parametrize("case", TINY, ids=lambda case: case.name)
def test_dynamic_dims_follow_the_batch(case):
    two, three = (case.inputs(n, torch.device("cpu"), torch.float32).named() for n in (2, 3))
    varying = {
        name: tuple(d for d in range(two[name].ndim) if two[name].shape[d] != three[name].shape[d])
        for name in two
    }
    assert {name: dims for name, dims in varying.items() if dims} == dict(case.dynamic_dims)
    assert case.frozen <= two.keys()


def test_weights_and_inputs_do_not_depend_on_the_global_seed():
    case = CASES["mlp"]
    torch.manual_seed(1)
    first = case.new_module("cpu", torch.float32), case.inputs(2, torch.device("cpu"), torch.float32)
    torch.manual_seed(2)
    second = case.new_module("cpu", torch.float32), case.inputs(2, torch.device("cpu"), torch.float32)
    assert torch.equal(first[0].up.weight, second[0].up.weight)
    assert torch.equal(first[1].args[0], second[1].args[0])


def test_base_sizes_are_the_published_ones():
    with torch.device("meta"):
        parameters = {
            name: sum(p.numel() for p in CASES[name].build().parameters())
            for name in ("gpt2_small", "hf_gpt2", "hf_bert_base")
            if not CASES[name].unavailable()
        }
    assert parameters.pop("gpt2_small") == 124_439_808
    assert parameters.pop("hf_gpt2", 124_439_808) == 124_439_808
    assert not parameters or 109e6 < parameters["hf_bert_base"] < 111e6


def test_attention_variants_agree():
    fused, explicit = (CASES[f"gpt2_block{suffix}"] for suffix in ("", "_explicit"))
    inputs = fused.inputs(2, torch.device("cpu"), torch.float64)
    outputs = [case.new_module("cpu", torch.float64)(*inputs.args) for case in (fused, explicit)]
    torch.testing.assert_close(*outputs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["adam_step", "adam_step_foreach"])
def test_adam_is_torch_adam(name):
    case = CASES[name]
    params, grads, averages, squares, step = case.inputs(2, torch.device("cpu"), torch.float64).args
    step = step.double()  # in float32, 1 - 0.999 ** 4 would keep five digits
    leaves = [nn.Parameter(p.clone()) for p in params]
    optimizer = torch.optim.Adam(leaves, lr=1e-2, foreach=False)
    for leaf, grad, average, square in zip(leaves, grads, averages, squares, strict=True):
        leaf.grad = grad.clone()
        optimizer.state[leaf] = {
            "step": step.clone(),
            "exp_avg": average.clone(),
            "exp_avg_sq": square.clone(),
        }
    optimizer.step()
    case.new_module("cpu", torch.float64)(params, grads, averages, squares, step)
    assert step.item() == 4.0
    for leaf, param in zip(leaves, params, strict=True):
        torch.testing.assert_close(param, leaf.detach(), rtol=1e-12, atol=1e-12)


# Every tiny case


@pytest.mark.parametrize(("case", "training"), COMPARABLE)
def test_matches_eager(case, training):
    """`test_model_accuracy.py` has all cases in each run, by the same comparison."""
    report = compare(available(case), "aot_eager", training=training)
    assert report.passed, report.explain()
    assert (report.graphs, report.graph_breaks) == (1, 0)


@pytest.mark.parametrize("case", [case for case in TINY if case.random], ids=lambda case: case.name)
def test_random_cases_hold_their_properties(case):
    report = check_random_case(available(case), "aot_eager", seeds=16)
    assert report.passed, str(report)


@pytest.mark.parametrize("name", ["mlp", "llama_block", "resnet_bottleneck", "adam_step", "gpt2_tiny"])
def test_one_graph_serves_two_batches(name):
    case = CASES[name]
    report = compare(case, "aot_eager", training="training" in case.modes, dynamic="marked")
    assert report.passed, report.explain()
    assert report.batches == (2, 3)
    assert report.graphs == 1


def test_training_batch_norm_reports_running_statistics():
    rows = {row.name: row for row in compare(CASES["resnet_bottleneck"], "aot_eager", training=True).rows}
    assert rows["state:norm1.running_mean"].passed
    assert rows["state:norm1.num_batches_tracked"].passed
    assert "grad:input:0" in rows


def test_autocast_widens_the_tolerance_only_under_autocast():
    case = CASES["mlp"]
    plain, mixed = (
        compare(case, "aot_eager", training=True, autocast=lower) for lower in (None, torch.bfloat16)
    )
    assert plain.passed and mixed.passed, f"{plain.explain()}\n{mixed.explain()}"
    assert plain.rows[0].limit_norm < 1e-5 < mixed.rows[0].limit_norm
    assert mixed.autocast == "bfloat16" and mixed.rows[0].eager_norm > 1e-4


# The harness can fail


@pytest.mark.parametrize("training", [False, True])
def test_perturbed_output_fails(training):
    report = compare(CASES["mlp"], broken(forward=spoil_first_float), training=training)
    assert not report.passed
    assert "output" in {row.name for row in report.failures}


def test_perturbed_gradient_fails_though_outputs_pass():
    report = compare(CASES["mlp"], broken(backward=spoil_first_float), training=True)
    assert not report.passed
    assert all(row.name.startswith("grad:") for row in report.failures)
    assert compare(CASES["mlp"], broken(backward=spoil_first_float)).passed


def test_one_wrong_element_fails():
    def spoil(outputs):
        outputs[0] = outputs[0].clone()
        outputs[0].view(-1)[5] += 1e-4
        return outputs

    assert not compare(CASES["mlp"], broken(forward=spoil)).passed


def test_nan_fails():
    report = compare(CASES["mlp"], broken(forward=lambda outputs: [outputs[0] * math.nan, *outputs[1:]]))
    assert not report.passed
    assert "NaN" in report.failures[0].note
    assert json.loads(json.dumps(report.to_json(), allow_nan=False))["passed"] is False


def test_wrong_mutation_fails():
    """The mutated tensors are the leading outputs of the functionalised graph."""
    report = compare(CASES["adam_step"], broken(forward=spoil_first_float))
    assert not report.passed
    assert all(row.name.startswith("input:") for row in report.failures)


def test_wrong_running_statistics_fail():
    def spoil(outputs):
        return [out + 1 if out is not None and out.dtype == torch.int64 else out for out in outputs]

    report = compare(CASES["resnet_bottleneck"], broken(forward=spoil), training=True)
    assert {row.name.rsplit(".", 1)[-1] for row in report.failures} == {"num_batches_tracked"}


def test_wrong_strides_fail():
    def transpose(outputs):
        return [out.mT.contiguous().mT if out is not None and out.ndim > 1 else out for out in outputs]

    def backend(graph, example_inputs):
        return lambda *args: transpose(list(graph(*args)))

    report = compare(CASES["mlp"], backend)
    assert not report.failures
    assert not report.passed
    assert "eager has" in report.notes[0]


def test_a_backend_that_is_never_called_fails():
    class Disabled(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(8))

        @torch.compiler.disable
        def forward(self, x):
            return F.dropout(x * self.weight, 0.5, self.training)

    case = ModelCase(
        "disabled", Disabled, lambda n, d, t: Inputs((Draw(d, t).normal(n, 8),)), projection_loss, {"0": (0,)}
    )
    report = compare(case, "eager")
    assert not report.passed
    assert "never called" in str(report)
    random = check_random_case(case, "eager", seeds=2)
    assert random.graphs == 0 and not random.passed


def test_recompilation_fails_under_marked_dims():
    class Branches(nn.Module):
        def forward(self, x):
            return x + 1 if x.shape[0] == 2 else x + 2

    case = ModelCase(
        "branches", Branches, lambda n, d, t: Inputs((Draw(d, t).normal(n, 8),)), projection_loss, {"0": (0,)}
    )
    report = compare(case, "eager", dynamic="marked")
    assert not report.passed
    assert report.notes == ("recompiled for another batch: 2 graphs, 0 graph breaks",)


def test_modes_that_cannot_be_compared_are_refused():
    with pytest.raises(ValueError, match="random in training"):
        compare(CASES["decoder_layer_dropout"], "eager", training=True)
    with pytest.raises(ValueError, match="no training mode"):
        compare(CASES["adam_step"], "eager", training=True)


def test_compare_leaves_no_trace():
    def settings():
        cudnn = torch.backends.cudnn
        tf32 = [b.fp32_precision for b in (torch.backends.cuda.matmul, cudnn.conv, cudnn.rnn)]
        return (*tf32, torch.backends.cudnn.enabled, torch.get_default_dtype(), torch.is_grad_enabled())

    before = settings()
    state = torch.get_rng_state()
    compare(CASES["mlp"], "eager")
    assert settings() == before
    assert torch.equal(torch.get_rng_state(), state)


def test_report_is_strict_json_and_one_line():
    report = compare(CASES["mlp"], "eager")
    assert json.loads(json.dumps(report.to_json(), allow_nan=False))["rows"][0]["name"] == "output"
    assert "\n" not in str(report) and "\n" not in Report.header()


# The rule


EPS = torch.finfo(torch.float32).eps


def test_twice_the_eager_error_is_the_limit():
    ref = torch.ones(64, dtype=torch.float64)
    eager = (ref + 1e-4).float()
    assert judge("output", ref, eager, (ref - 1.9e-4).float(), EPS).passed
    assert not judge("output", ref, eager, (ref - 2.1e-4).float(), EPS).passed


def test_nan_never_passes_even_beside_nan():
    ref = torch.ones(64, dtype=torch.float64)
    bad = ref.clone()
    bad[3] = math.nan
    assert not judge("output", ref, ref.float(), bad.float(), EPS).passed
    assert not judge("output", bad, bad.float(), bad.float(), EPS).passed


def test_infinities_must_be_equal():
    ref = torch.ones(64, dtype=torch.float64)
    ref[0] = -math.inf
    wrong = ref.clone()
    wrong[0] = math.inf
    assert judge("output", ref, ref.float(), ref.float(), EPS).passed
    assert not judge("output", ref, ref.float(), wrong.float(), EPS).passed


def test_vanishing_gradient_may_hold_noise_and_nothing_more():
    def verdict(value):
        ref = {"grad:w": torch.ones(64).double(), "grad:b": torch.zeros(64).double()}
        eager = {"grad:w": torch.ones(64), "grad:b": torch.zeros(64)}
        compiled = {"grad:w": torch.ones(64), "grad:b": torch.full((64,), value)}
        return [row.passed for row in judge_all(ref, eager, compiled, EPS)]

    assert verdict(1e-7) == [True, True]
    assert verdict(1e-5) == [True, False]


def test_shape_dtype_and_absence_fail():
    ref = torch.ones(4, dtype=torch.float64)
    assert "shape" in judge("output", ref, ref.float(), torch.ones(4, 1), EPS).note
    assert "dtype" in judge("output", ref, ref.float(), ref, EPS).note
    (row,) = judge_all({"grad:w": ref}, {"grad:w": ref.float()}, {}, EPS)
    assert not row.passed and "missing from the compiled run" in row.note


def test_reference_ignores_requests_for_float32():
    x = torch.tensor([1.0, 1e-12], dtype=torch.float64, requires_grad=True)
    with float64_reference():
        y = x.float().sum() + torch.zeros(()) + x.softmax(0, dtype=torch.float32).sum()
        y.backward()
    assert y.dtype == torch.float64 and y.item() == pytest.approx(2 + 1e-12, abs=1e-15)
    assert torch.get_default_dtype() == torch.float32


# Dropout


def dropout_input() -> torch.Tensor:
    return torch.rand(64, 128, generator=torch.Generator().manual_seed(0)) + 0.5


def test_mask_statistics_accept_dropout():
    torch.manual_seed(0)
    x = dropout_input()
    assert mask_statistics(x, F.dropout(x, 0.3), 0.3).passed


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x: F.dropout(x, 0.5),
        lambda x: F.dropout(x, 0.3) * 0.7,
        lambda x: x * F.dropout(torch.ones(64, 1), 0.3),
        lambda x: x * F.dropout(torch.ones(128), 0.3),
    ],
    ids=["probability", "scale", "row-mask", "column-mask"],
)
def test_mask_statistics_reject(wrong):
    torch.manual_seed(0)
    x = dropout_input()
    assert not mask_statistics(x, wrong(x), 0.3).passed


def test_same_mask_in_backward_tells_a_redrawn_mask():
    class Redrawn(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return F.dropout(x, 0.5)

        @staticmethod
        def backward(ctx, grad):
            return F.dropout(grad, 0.5)

    torch.manual_seed(0)
    assert same_mask_in_backward(lambda x: F.dropout(x, 0.5), dropout_input())
    assert not same_mask_in_backward(Redrawn.apply, dropout_input())


def test_random_check_fails_on_a_wrong_gradient_and_on_a_constant_mask():
    case = CASES["decoder_layer_dropout"]
    wrong = check_random_case(case, broken(backward=lambda outs: spoil_first_float(outs, 1.5)), seeds=4)
    assert not wrong.passed and wrong.derivative_error > 1e-5

    def frozen(graph, example_inputs):
        def run(*args):
            torch.manual_seed(0)
            return graph(*args)

        return run

    constant = check_random_case(case, frozen, seeds=4)
    assert not constant.passed and not constant.varies
