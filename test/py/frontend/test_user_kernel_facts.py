"""What AOTAutograd is told of users' Triton kernels: torch's own analysis misses what these kernels do.  A
function of torch ops stands for a launch, since there is no GPU.
"""

from unittest import mock

import effectful_kernels as kernels
import pytest
import torch
from compiling import Compiled
from effectful_kernels import tl, triton
from torch._subclasses.fake_tensor import FakeTensorMode
from user_kernels import opaque_kernels
from versions import TORCH

from fuse_mlir.compiler.frontend.user_kernels.analysed_facts import facts_of
from fuse_mlir.compiler.frontend.user_kernels.facts import _capability
from fuse_mlir.compiler.frontend.user_kernels.tracing import user_kernel_facts
from fuse_mlir.compiler.frontend.user_kernels.ttir_of import UserKernelError, ttir_of

X = torch.linspace(-1, 1, 64)


@pytest.fixture(autouse=True)
def launches():
    """A machine with Triton; gives the names of the kernels that were launched."""
    found = []

    def launched(kernel, *args, grid, warmup=False, **kwargs):
        kernel = kernel if isinstance(kernel, triton.JITFunction) else kernel.fn
        found.append(kernel.__name__)
        given = dict(zip(kernel.arg_names, args, strict=False)) | kwargs
        if "add" in kernel.__name__:
            given["out"].add_(given["x"])
        elif "scatter" in kernel.__name__:
            given["out"][given["rows"]] = given["x"]
        elif "double" in kernel.__name__:
            given["out"].copy_(given["x"] * 2)
        elif "sometimes" in kernel.__name__:
            given["a"].copy_(given["x"] + 1)
            given["b"].copy_(given["x"] * 2)

    def run(self, *args, grid, warmup=False, **kwargs):
        launched(self, *args, grid=grid, **kwargs)

    with (
        opaque_kernels(),
        mock.patch("torch.utils._triton.has_triton", lambda **_: True),
        mock.patch.object(triton.runtime.jit.JITFunction, "run", run),
        mock.patch.object(triton.runtime.autotuner.Autotuner, "run", run),
    ):
        yield found


def test_a_descriptor_adds(launches):
    def summed(x, out):
        kernels.descriptor_add_kernel[(1,)](x, out, 64, 64)
        return out * 2

    out = torch.ones(64)
    assert torch.equal(Compiled(summed)(X, out), (X + 1) * 2)
    assert torch.equal(out, X + 1) and launches == ["descriptor_add_kernel"]


def test_a_descriptor_scatters(launches):
    def scattered(x, rows):
        out = torch.zeros_like(x)
        kernels.descriptor_scatter_kernel[(1,)](x, rows, out, 8, 8, 8)
        return out + 1

    rows = torch.randperm(8, generator=torch.Generator().manual_seed(0)).int()
    x = X.reshape(8, 8)
    assert torch.equal(Compiled(scattered)(x, rows)[rows], x + 1)
    assert launches == ["descriptor_scatter_kernel"]


def test_a_store_through_a_loaded_address_stays(launches):
    def through(x, table):
        kernels.through_table_kernel[(1,)](x, table, 64, 64)
        return x + 1

    assert torch.equal(Compiled(through)(X, torch.zeros(1, dtype=torch.int64)), X + 1)
    assert launches == ["through_table_kernel"]


@pytest.mark.parametrize("kernel", [kernels.assert_kernel, kernels.print_kernel])
def test_a_kernel_that_only_says_something_stays(kernel, launches):
    def said(x):
        y = x * 2
        kernel[(1,)](y, 64, 64)
        return x + 1

    assert torch.equal(Compiled(said)(X), X + 1)
    assert launches == [kernel.__name__]


def test_a_kernel_that_only_reads_is_dropped(launches):
    def read(x):
        kernels.pure_kernel[(1,)](x, 64, 64)
        return x + 1

    assert torch.equal(Compiled(read)(X), X + 1)
    assert launches == []


def test_another_configuration_writes_more(launches):
    def both(x):
        a, b = torch.zeros_like(x), torch.zeros_like(x)
        kernels.sometimes_kernel[(1,)](x, a, b, 64, block=64)
        return a, b

    a, b = Compiled(both)(X)
    assert torch.equal(a, X + 1) and torch.equal(b, X * 2)
    assert launches == ["sometimes_kernel"]


def test_a_kernel_with_an_effect_runs_once_in_training(launches):
    def trained(x):
        y = (x * 2).sin()
        kernels.print_kernel[(1,)](y, 64, 64)
        return (y * y).sum()

    x = X.clone().requires_grad_()
    Compiled(trained)(x).backward()
    assert launches == ["print_kernel"]
    torch.testing.assert_close(x.grad, 4 * (X * 2).sin() * (X * 2).cos())


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = torch.empty_like(x)
        kernels.print_and_double_kernel[(1,)](x, out, 64, 64)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, gradient):
        (out,) = ctx.saved_tensors
        made = torch.empty_like(gradient)
        kernels.print_and_double_kernel[(1,)](gradient * out, made, 64, 64)
        return made


def test_kernels_with_effects_run_once_in_forward_and_once_in_backward(launches):
    x = X.clone().requires_grad_()
    Compiled(lambda x: Doubled.apply(x.sin()).cos().sum())(x).backward()
    assert launches == ["print_and_double_kernel"] * 2
    doubled = 2 * X.sin()
    torch.testing.assert_close(x.grad, -doubled.sin() * doubled * 2 * X.cos())


@torch.library.triton_op("fuse_mlir_test::said", mutates_args={})
def said_op(x: torch.Tensor) -> torch.Tensor:
    torch.library.wrap_triton(kernels.print_kernel)[(1,)](x, 64, 64)
    return x + 1


def test_a_kernel_inside_a_triton_op_stays(launches):
    assert torch.equal(Compiled(lambda x: said_op(x * 2))(X), X * 2 + 1)
    assert launches == ["print_kernel"]


def test_other_backends_get_torchs_answer():
    asked, triton_kernel_wrap = [], torch._higher_order_ops.triton_kernel_wrap

    def torch_finds(kernel, *args):
        asked.append(kernel)
        raise NotImplementedError

    table = triton_kernel_wrap.kernel_side_table
    numbers = table.add_kernel(kernels.pure_kernel), table.add_constant_args({"n": 64, "block": 64})
    asks = "identify_mutated_tensors" if TORCH < (2, 13) else "identify_accessed_tensors"
    with mock.patch.object(triton_kernel_wrap, asks, torch_finds):
        with user_kernel_facts():
            assert triton_kernel_wrap.get_mutated_tensors(*numbers, {"x": X}, {}) == []
        assert asked == []
        with pytest.raises(NotImplementedError):
            triton_kernel_wrap.get_mutated_tensors(*numbers, {"x": X}, {})
    assert asked == [kernels.pure_kernel]


def test_facts_are_for_all_configurations():
    facts = facts_of(kernels.sometimes_kernel, {"x": X, "a": X, "b": X, "n": 64, "block": 64}, {})
    assert facts.written == ["a", "b"] and not facts.effect
    assert facts.parameters["x"].read and not facts.parameters["a"].read


@triton.autotune([triton.Config({"through": True}), triton.Config({"through": False})], key=["n"])
@triton.jit
def through_kernel(x, n, through: tl.constexpr):
    if through:
        tl.store(tl.load(x).to(tl.pointer_type(tl.int64)), n)


def test_one_configuration_that_is_not_understood_is_enough():
    facts = facts_of(through_kernel, {"x": X.long(), "n": 64}, {})
    assert facts.parameters["x"].unknown and facts.why == "it accesses addresses that it loads or computes"


def test_a_kernel_is_analysed_for_the_gpu_of_its_tensors(monkeypatch):
    """Nothing is known of a GPU where torch finds none."""
    with FakeTensorMode(allow_non_fake_inputs=True):
        x = torch.empty(8, device="cuda:1")
    asked = []
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.get_device_capability", lambda device: asked.append(device) or (8, 6))
    assert _capability({"n": 3, "y": X, "x": x}) == 86 and asked == [x.device]
    assert _capability({"n": 3, "y": X}) == 90


def test_a_kernel_that_triton_refuses_may_write_everything():
    @triton.jit
    def wrong(x, n):
        return undefined(x, n)  # noqa: F821

    facts = facts_of(wrong, {"x": X, "n": 3}, {})
    assert facts.written == ["x"] and facts.effect
    with pytest.raises(UserKernelError, match=r"kernel 'wrong': line 2 of the kernel: .*undefined"):
        ttir_of(wrong, {"x": facts, "n": 3} | {"x": None})


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"x": None}, "kernel 'pure_kernel' is not given 'n'"),
        ({"x": None, "n": 1, "block": 16, "warps": 3}, "kernel 'pure_kernel' has no parameter 'warps'"),
        ({"x": object(), "n": 1, "block": 16}, "kernel 'pure_kernel' is given object for 'x'"),
    ],
)
def test_wrong_arguments(given, says):
    with pytest.raises(UserKernelError, match=says):
        ttir_of(kernels.pure_kernel, given)


def test_only_functions_of_triton():
    with pytest.raises(UserKernelError, match=r"expected a function under @triton.jit, got function"):
        ttir_of(test_only_functions_of_triton, {})
