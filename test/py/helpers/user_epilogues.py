"""Models in which something reads what a user's Triton kernel makes: shared by tests, no test itself."""

import torch
from torch.nn.functional import gelu, silu
from user_kernel_corpus import matmul as matmul_kernel
from user_kernel_corpus import persistent as persistent_kernel
from user_kernel_models import layer_norm, swiglu
from user_kernels import (
    add_kernel,
    both_kernel,
    double_kernel,
    flip_kernel,
    rms_kernel,
    softmax_kernel,
    tl,
    transpose_kernel,
    triton,
)


@triton.jit
def early_kernel(x, out, n, block: tl.constexpr):
    """It may return before it stores."""
    first = tl.program_id(0) * block
    if first >= n:
        return
    i = first + tl.arange(0, block)
    tl.store(out + i, tl.load(x + i, i < n) * 2, i < n)


@triton.jit
def checked_kernel(x, out, n, block: tl.constexpr):
    """It has an effect."""
    i = tl.program_id(0) * block + tl.arange(0, block)
    tl.device_assert(i >= 0, "below the first element")
    tl.store(out + i, tl.load(x + i, i < n) * 2, i < n)


def products(a, b, dtype=None):
    (m, k), n = a.shape, b.shape[1]
    out = torch.empty(m, n, device=a.device, dtype=dtype or torch.float32)
    grid = (triton.cdiv(m, 16) * triton.cdiv(n, 16),)
    matmul_kernel[grid](a, b, out, m, n, k, B=16, G=2)
    return out


def softmaxed(x):
    out = torch.empty_like(x)
    softmax_kernel[(x.shape[0],)](out, x, x.shape[1], x.stride(0), x.shape[1], block=128)
    return out


def normed(x, w):
    out, scales = torch.empty_like(x), torch.empty(x.shape[0], device=x.device)
    rms_kernel[(x.shape[0],)](out, out.stride(0), x, x.stride(0), w, scales, x.shape[1], 1e-6, 0.0, block=128)
    return out, scales


def layer_normed(x, w, b):
    out, mean, rstd = torch.empty_like(x), *(torch.empty(x.shape[0], device=x.device) for _ in range(2))
    layer_norm[(x.shape[0],)](x, w, b, out, mean, rstd, x.shape[1], B=128)
    return out


def added(x, y):
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(x.numel(), 64),)](x, y, out, x.numel(), block=64)
    return out


def both(x):
    z, a = torch.empty_like(x), torch.empty_like(x)
    both_kernel[(triton.cdiv(x.numel(), 64),)](x, z, a, x.numel(), block=64)
    return z, a


def softmax_scale(x):
    return softmaxed(x) * 0.125


def matmul_bias_gelu(a, b, bias):
    return gelu(products(a, b) + bias)


def layer_norm_residual(x, w, b, r):
    return layer_normed(x, w, b) + r


def rms_norm_quantised(x, w, scale):
    return (normed(x, w)[0] / scale).clamp(-448, 448).to(torch.float8_e4m3fn)


def swiglu_cast(g, u):
    out = torch.empty_like(g)
    swiglu[(g.shape[0],)](g, u, out, g.shape[1], B=128)
    return out.to(torch.bfloat16)


def transposed_copy(x, y):
    return added(x, y).T.contiguous()


def matmul_transposed(a, b):
    return products(a, b).T.contiguous() * 2


def binary_epilogue(x):
    z, a = both(x)
    return z * a + z


def also_returned(x, y):
    out = added(x, y)
    return out, out.sin()


def of_a_view(x, y):
    return added(x, y).view(-1, 10)[:, 2:5] * 3


def halves(x, y):
    gate, up = added(x, y).chunk(2, 1)
    return silu(gate), up.exp()


def several_readers(x, y, r):
    out = added(x, y)
    return out.exp(), (out * r).to(torch.float16), out.T + 1


def row_sums(x):
    out = softmaxed(x)
    return (out * out).sum(1)


def softmax_of_norm(x, w):
    return normed(x, w)[0].softmax(1)


def transposed_kernel(x):
    out = torch.empty(x.shape[1], x.shape[0], device=x.device)
    grid = (triton.cdiv(x.shape[0], 16), triton.cdiv(x.shape[1], 16))
    transpose_kernel[grid](x, out, x.shape[0], x.shape[1], block=16)
    return out.exp()


def swiglu_in_torch(x, y):
    gate, up = added(x, y).chunk(2, 1)
    return silu(gate) * up


def column_sums(x, y):
    return added(x, y).sum(0)


def with_scales(x, w):
    out, scales = normed(x, w)
    return out * scales[:, None]


def exact_norm(x, w):
    scale = 1 / (x.square().mean(1, keepdim=True) + 1e-6).sqrt()
    return x * scale * w, scale


def exact_halves(x, y):
    gate, up = (x + y).chunk(2, 1)
    return silu(gate), up.exp()


def residual_norm(x, w, r):
    out = normed(x, w)[0] + r
    return out, out.sum(0)


def of_a_loop(x):
    out = torch.empty_like(x)
    persistent_kernel[(3,)](x, out, x.numel(), B=64)
    return torch.where(torch.arange(x.numel(), device=x.device) < 5, out, 0.0)


def of_a_branch(x):
    out = torch.empty_like(x)
    early_kernel[(9,)](x, out, x.numel(), block=32)
    return out.exp()


def chosen_of_a_branch(x):
    out = torch.empty_like(x)
    early_kernel[(9,)](x, out, x.numel(), block=32)
    return torch.where(x > 0, out, 7.0)


def with_an_effect(x):
    out = torch.empty_like(x)
    checked_kernel[(7,)](x, out, x.numel(), block=32)
    return out + 1


def in_place(x):
    y = x.sin()
    double_kernel[(9,)](y, y.numel(), block=32)
    return y + 1


def of_bools(x):
    above = x > 0
    out = torch.empty_like(above)
    flip_kernel[(1,)](above, out, block=64)
    return torch.where(out, x, -2.0)


def one_after_the_other(x, y):
    return added(added(x, y) * 2, y) + 1


#: Model -> the rule that refuses (None: it is one launch), the same in torch ops, the shapes of its inputs.
CASES = {
    softmax_scale: (None, lambda x: x.softmax(1) * 0.125, (5, 100)),
    matmul_bias_gelu: (None, lambda a, b, bias: gelu(a @ b + bias), (40, 36), (36, 24), (24,)),
    layer_norm_residual: (
        None,
        lambda x, w, b, r: torch.nn.functional.layer_norm(x, w.shape, w, b) + r,
        (12, 100),
        (100,),
        (100,),
        (12, 100),
    ),
    rms_norm_quantised: (None, lambda x, w, scale: exact_norm(x, w)[0] / scale, (7, 100), (100,), (1,)),
    swiglu_cast: (None, lambda g, u: silu(g) * u, (6, 100), (6, 100)),
    transposed_copy: (None, lambda x, y: (x + y).T, (20, 30), (20, 30)),
    matmul_transposed: (None, lambda a, b: (a @ b).T * 2, (40, 36), (36, 24)),
    binary_epilogue: (None, lambda x: (x + 1) * x * 2 + (x + 1), (300,)),
    also_returned: (None, lambda x, y: (x + y, (x + y).sin()), (300,), (300,)),
    of_a_view: (None, lambda x, y: (x + y).view(-1, 10)[:, 2:5] * 3, (20, 30), (20, 30)),
    halves: (None, exact_halves, (20, 30), (20, 30)),
    several_readers: (
        None,
        lambda x, y, r: ((x + y).exp(), (x + y) * r, (x + y).T + 1),
        (20, 30),
        (20, 30),
        (30,),
    ),
    row_sums: (None, lambda x: x.softmax(1).square().sum(1), (5, 100)),
    softmax_of_norm: (None, lambda x, w: exact_norm(x, w)[0].softmax(1), (7, 100), (100,)),
    transposed_kernel: (None, lambda x: x.T.exp(), (40, 33)),
    swiglu_in_torch: (
        "several-maps",
        lambda x, y: exact_halves(x, y)[0] * (x + y).chunk(2, 1)[1],
        (20, 30),
        (20, 30),
    ),
    column_sums: ("reduction", lambda x, y: (x + y).sum(0), (20, 30), (20, 30)),
    residual_norm: (
        "reduction",
        lambda x, w, r: (exact_norm(x, w)[0] + r, (exact_norm(x, w)[0] + r).sum(0)),
        (7, 100),
        (100,),
        (7, 100),
    ),
    of_a_loop: (None, lambda x: torch.where(torch.arange(len(x), device=x.device) < 5, x, 0.0), (500,)),
    of_a_branch: (None, lambda x: (x * 2).exp(), (200,)),
    chosen_of_a_branch: ("partly-written", lambda x: torch.where(x > 0, x * 2, 7.0), (200,)),
    with_an_effect: (None, lambda x: x * 2 + 1, (200,)),
    in_place: ("not-empty", lambda x: x.sin() * 2 + 1, (200,)),
    of_bools: (None, lambda x: torch.where(x > 0, -2.0, x), (64,)),
    one_after_the_other: (None, lambda x, y: (x + y) * 2 + y + 1, (20, 30), (20, 30)),
    with_scales: (None, lambda x, w: exact_norm(x, w)[0] * exact_norm(x, w)[1], (7, 100), (100,)),
}
#: What is rounded to few bits: how far results may be from those in float64, relative and absolute.
ROUGH = {rms_norm_quantised: (2**-4, 2**-9), swiglu_cast: (2**-8, 1e-6), several_readers: (2**-11, 1e-6)}


def inputs_of(model, device="cpu"):
    """Its arguments, the same in each run."""
    torch.manual_seed(0)
    made = [torch.randn(shape, device=device) for shape in CASES[model][2:]]
    return [*made[:2], made[2].abs() + 0.5] if model is rms_norm_quantised else made


def require_close(model, found, inputs):
    """``found`` are the results of the model, by those of torch ops in float64."""
    expected = CASES[model][1](*[x.double() for x in inputs])
    relative, absolute = ROUGH.get(model, (2e-5, 2e-5))
    pairs = zip(*(r if isinstance(r, tuple) else (r,) for r in (found, expected)), strict=True)
    for one, exact in pairs:
        torch.testing.assert_close(one.double(), exact, rtol=relative, atol=absolute)
