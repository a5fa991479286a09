"""Custom ops with templates of their kernels: shared by tests, no test itself."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod

import torch
from user_kernels import both_kernel, rms_kernel, tl, triton

from fuse_mlir.templates import TemplateCall, TemplateKernel, register, unregister


@torch.library.custom_op("template_tests::rms", mutates_args=())
def rms(x: torch.Tensor, w: torch.Tensor, eps: float) -> tuple[torch.Tensor, torch.Tensor]:
    scale = (x.square().mean(1) + eps).rsqrt()
    return x * scale[:, None] * w, scale


@rms.register_fake
def _(x: torch.Tensor, w: torch.Tensor, eps: float) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.empty_like(x), x.new_empty(x.shape[0])


def rms_backward(ctx, grad, grad_scale):
    x, w, scale = ctx.saved_tensors
    of_scale = (grad * x * w).sum(1) + grad_scale
    down = grad * w * scale[:, None] - x * (of_scale * scale**3 / x.shape[1])[:, None]
    return down, (grad * x * scale[:, None]).sum(0), None


rms.register_autograd(
    rms_backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs[:2], output[1])
)


@torch.library.custom_op("template_tests::plus_and_twice", mutates_args=())
def plus_and_twice(xs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    return xs[1] + 1, xs[1] * 2


@plus_and_twice.register_fake
def _(xs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.empty_like(xs[1]), torch.empty_like(xs[1])


@torch.library.custom_op("template_tests::scaled", mutates_args=())
def scaled(x: torch.Tensor, by: float = 2.0) -> torch.Tensor:
    return x * by


scaled.register_fake(lambda x, by=2.0: torch.empty_like(x))


@triton.jit
def scale_kernel(x, out, by, n, block: tl.constexpr, beside=0):
    i = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(out + i, tl.load(x + i, i < n) * by + beside, i < n)


SCALED = torch.ops.template_tests.scaled.default
RMS = torch.ops.template_tests.rms.default
PLUS_AND_TWICE = torch.ops.template_tests.plus_and_twice.default


def rms_answer(call: TemplateCall, **changed) -> TemplateKernel:
    """The kernel of ``RMS``, whose outputs are ``y`` and ``scales``."""
    x, y = call["x"], call["y"]
    arguments = {
        "out": y, "out_stride": y.strides[0], "x": x, "x_stride": x.strides[0], "w": call["w"],
        "scales": call["scales"], "columns": x.shape[1], "eps": call["eps"], "offset": 0.0, "block": 128,
    }  # fmt: skip
    return TemplateKernel(**{"kernel": rms_kernel, "arguments": arguments, "grid": (x.shape[0],), **changed})


def plus_and_twice_answer(call: TemplateCall) -> TemplateKernel:
    x = call["xs"][1]
    n = x.shape[0] * x.shape[1]
    arguments = {"x": x, "z": call["out0"], "a": call["out1"], "n": n, "block": 64}
    return TemplateKernel(both_kernel, arguments, (triton.cdiv(n, 64),))


def scaled_answer(call: TemplateCall) -> TemplateKernel:
    x = call["x"]
    n = prod(x.shape)
    arguments = {"x": x, "out": call["out"], "by": call["by"], "n": n, "block": 64}
    return TemplateKernel(scale_kernel, arguments, (triton.cdiv(n, 64),))


@contextmanager
def registered(overload, template, outputs=()) -> Iterator[None]:
    """While this is entered, the op has the template."""
    register(overload, outputs=outputs)(template)
    try:
        yield
    finally:
        unregister(overload)


@contextmanager
def rms_template(**changed) -> Iterator[list[TemplateCall]]:
    """The template of ``RMS``, with these fields of its answer.  Gives the calls that it was asked about."""
    calls: list[TemplateCall] = []

    def template(call):
        calls.append(call)
        given = {n: v(call) if callable(v) and n != "kernel" else v for n, v in changed.items()}
        return rms_answer(call, **given)

    with registered(RMS, template, ("y", "scales")):
        yield calls
