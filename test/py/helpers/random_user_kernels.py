"""Random programs of users' Triton kernels that read each other's results, with ops between them.

A program is drawn by a number: chains and diamonds of kernels (elementwise, of rows, transposing, by
descriptors, in place, products) over tensors of a few shapes, dims of one element among them, with pointwise
ops, sums, casts, transposes and slices in front of, between and behind them.  The same text runs with the
kernels and with torch's ops in their place, so that eager needs no GPU.
"""

import random
from collections.abc import Callable

import torch
from prologue_models import matmul_kernel
from torch import Tensor
from user_kernels import add_kernel, double_kernel, softmax_kernel, transpose_kernel, triton

from fuse_mlir.compiler.base.dataclass import dataclass

SIZES = (1, 1, 2, 5, 16, 33)


def add(x: Tensor, y: Tensor) -> Tensor:
    x, y = x.contiguous(), y.contiguous()
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(x.numel(), 64),)](x, y, out, x.numel(), block=64)
    return out


def rows(x: Tensor) -> Tensor:
    x = x.contiguous()
    out = torch.empty_like(x)
    softmax_kernel[(x.shape[0],)](out, x, out.stride(0), x.stride(0), x.shape[1], block=64, num_warps=1)
    return out


def turned(x: Tensor) -> Tensor:
    x = x.contiguous()
    out = torch.empty(x.shape[1], x.shape[0], device=x.device)
    grid = triton.cdiv(x.shape[0], 16), triton.cdiv(x.shape[1], 16)
    transpose_kernel[grid](x, out, x.shape[0], x.shape[1], block=16)
    return out


def twice(x: Tensor) -> Tensor:
    """Writes to a value in place."""
    y = x.clone(memory_format=torch.contiguous_format)
    double_kernel[(triton.cdiv(y.numel(), 32),)](y, y.numel(), block=32)
    return y


def product(x: Tensor, y: Tensor) -> Tensor:
    """x times the transpose of y."""
    x, y = x.contiguous(), y.t().contiguous()
    out = torch.empty(x.shape[0], y.shape[1], device=x.device)
    grid = triton.cdiv(x.shape[0], 16), triton.cdiv(y.shape[1], 16)
    matmul_kernel[grid](x, y, out, x.shape[0], y.shape[1], x.shape[1], B=16)
    return out


#: A kernel, and the same in torch's ops.
KERNELS: dict[str, tuple[Callable[..., Tensor], Callable[..., Tensor]]] = {
    "add": (add, lambda x, y: x + y),
    "rows": (rows, lambda x: x.softmax(1)),
    "turned": (turned, lambda x: x.t().contiguous()),
    "twice": (twice, lambda x: x * 2),
    "product": (product, lambda x, y: x @ y.t()),
}

#: An op on one tensor of two dims that keeps its shape.
ONE = (
    "{}.sin()", "torch.sigmoid({})", "{} * 0.5 + 1", "-{}", "{}.bfloat16().to({}.dtype)", "torch.relu({})",
    "({} - {}.mean(1, keepdim=True))", "{}.abs().sqrt()", "{}.clone()", "{}.t().contiguous().t()",
)  # fmt: skip
TWO = ("{} + {}", "{} * {}.tanh()", "torch.maximum({}, {})", "torch.where({} > 0, {}, 0.5)")


@dataclass(frozen=True)
class Program:
    """``text``: of a function of ``inputs`` that calls kernels by name.  ``shape``: that of each input."""

    text: str
    shape: tuple[int, int]
    inputs: int

    def function(self, *, exact: bool) -> Callable[..., tuple[Tensor, ...]]:
        """With the kernels, or with torch's ops in their place (``exact``)."""
        names = {name: pair[exact] for name, pair in KERNELS.items()}
        scope: dict[str, Callable[..., tuple[Tensor, ...]]] = {}
        exec(
            compile(self.text, "<random program of users' kernels>", "exec"), {"torch": torch} | names, scope
        )
        return scope["program"]

    def given(self, dtype: torch.dtype = torch.float32) -> list[Tensor]:
        generator = torch.Generator().manual_seed(1)
        return [torch.randn(self.shape, generator=generator).to(dtype) for _ in range(self.inputs)]


def draw(seed: int) -> Program:
    """The program of a number."""
    rng = random.Random(seed)
    shape = rng.choice(SIZES), rng.choice(SIZES)
    inputs = rng.randint(1, 3)
    values = {f"x{n}": shape for n in range(inputs)}
    lines: list[str] = []
    used = 0

    def any_of(shape: tuple[int, int] | None = None) -> str:
        names = [name for name, found in values.items() if shape is None or found == shape]
        return rng.choice(names[-4:] if rng.random() < 0.7 else names)

    for number in range(rng.randint(3, 9)):
        name, made = f"v{number}", rng.random()
        if made < 0.55:
            kernel = rng.choice(list(KERNELS))
            first = any_of()
            taken = [first]
            if kernel == "add":
                taken.append(any_of(values[first]))
            if kernel == "product":
                width = values[first][1]
                taken.append(rng.choice([n for n, found in values.items() if found[1] == width]))
            text = f"{kernel}({', '.join(taken)})"
            shapes = {"turned": values[first][::-1], "product": (values[first][0], values[taken[-1]][0])}
            values[name] = shapes.get(kernel, values[first])
            used += 1
        elif made < 0.8:
            first = any_of()
            text = rng.choice(ONE).replace("{}", first)
            values[name] = values[first]
        else:
            first = any_of()
            text = rng.choice(TWO).format(first, any_of(values[first]))
            values[name] = values[first]
        lines.append(f"{name} = {text}")
    results = rng.sample(list(values)[inputs:], min(len(values) - inputs, rng.randint(1, 2)))
    last = f"v{len(lines) - 1}"
    results = [*dict.fromkeys([last, *results])]
    body = "\n    ".join([*lines, f"return ({', '.join(results)},)"])
    return Program(f"def program({', '.join(f'x{n}' for n in range(inputs))}):\n    {body}\n", shape, inputs)
