"""Random sums of products with what is around them, drawn by hypothesis, and what it means that one is right.

    max|compiled - ref| <= 2 * max|eager - ref| + 8 * eps * max(1, largest)

with eps of the dtype, ref a float64 run, and largest the largest value that this run met.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from compiling import Compiled, cloned
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

SIZES = (0, 1, 2, 3, 5, 16, 33)
DTYPES = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
#: Kernels before fusion, and after it: options of the backend.
LEVELS = {
    "graph": {"pipeline": "builtin.module(choose-libraries{products=generated})"},
    "scheduled": {"products": "generated", "interpret_level": "scheduled"},
}

#: op -> (shapes of left, right and what is added, over the sizes b, m, k, n; the call).
OPS: dict[str, tuple[tuple[str, str, str], Callable[[Tensor, Tensor, Tensor], Tensor]]] = {
    "mm": (("mk", "kn", ""), lambda x, y, c: x @ y),
    "bmm": (("bmk", "bkn", ""), lambda x, y, c: x @ y),
    "matmul": (("bmk", "kn", ""), lambda x, y, c: x @ y),
    "addmm": (("mk", "kn", "n"), lambda x, y, c: torch.addmm(c, x, y, beta=0.5, alpha=2)),
    "baddbmm": (("bmk", "bkn", "bmn"), lambda x, y, c: torch.baddbmm(c, x, y, beta=-1)),
    "addbmm": (("bmk", "bkn", "mn"), lambda x, y, c: torch.addbmm(c, x, y, alpha=-0.5)),
    "mv": (("mk", "k", ""), lambda x, y, c: torch.mv(x, y)),
    "dot": (("k", "k", ""), lambda x, y, c: torch.dot(x, y)),
    "linear": (("bmk", "nk", "n"), F.linear),
    "einsum": (("bmk", "nbk", ""), lambda x, y, c: torch.einsum("bmk,nbk->mbn", x, y)),
    "conv1d": (("bkm", "nk1", "n"), F.conv1d),
}


def _strided(tensor: Tensor) -> Tensor:
    """The same numbers two elements apart in every dim."""
    whole = tensor.new_zeros([2 * n for n in tensor.shape])
    view = whole[tuple(slice(1, None, 2) for _ in tensor.shape)]
    return view.copy_(tensor)


def _turned(tensor: Tensor) -> Tensor:
    return tensor.permute(tuple(reversed(range(tensor.dim()))))


LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "plain": lambda t: t,
    "transposed": lambda t: _turned(_turned(t).contiguous()),
    "strided": _strided,
    "expanded": lambda t: t[:1].expand(t.shape) if t.dim() and t.shape[0] else t,
}

#: What makes a factor: of it, and of a row that has its last dim.
BEFORE: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "itself": lambda t, r: t,
    "scaled": lambda t, r: t * 0.5,
    "relu": lambda t, r: t.relu(),
    "shifted": lambda t, r: t + r,
    "flipped": lambda t, r: t.flip(0) if t.dim() else t,
    "normed": lambda t, r: t * torch.rsqrt(t.square().mean(-1, keepdim=True) + 1),
}

#: What reads the product: of it, and of a residual of its shape and a row of its last dim.
AFTER: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "bias": lambda z, e, r: z + r,
    "residual": lambda z, e, r: z + e,
    "silu": lambda z, e, r: F.silu(z),
    "gate": lambda z, e, r: z * torch.sigmoid(e),
    "scale": lambda z, e, r: z * r,
    "turned": lambda z, e, r: _turned(z).tanh(),
    "sum": lambda z, e, r: z.sum(-1, keepdim=True) if z.dim() else z,
}


@dataclass(frozen=True)
class Contraction:
    """A program: ``after(op(before(left), before(right), added))``."""

    op: str
    sizes: tuple[int, int, int, int]
    dtype: torch.dtype
    layouts: tuple[str, str, str]
    before: tuple[str, str]
    after: tuple[str, ...]
    dynamic: bool
    level: str
    seed: int

    def shapes(self) -> list[tuple[int, ...]]:
        """Of left, right and what is added."""
        least = 1 if self.op == "conv1d" else 0  # torch takes no empty image
        extent = {d: max(least, n) for d, n in zip("bmkn", self.sizes, strict=True)} | {"1": 1}
        return [tuple(extent[d] for d in dims) for dims in OPS[self.op][0]]

    def inputs(self) -> list[Tensor]:
        """Left, right, added, a row for each factor, a residual and a row of the result."""
        generator = torch.Generator().manual_seed(self.seed)

        def drawn(shape: tuple[int, ...]) -> Tensor:
            return torch.randn(shape, generator=generator, dtype=torch.float64).to(self.dtype)

        left, right, added = (
            LAYOUTS[layout](drawn(shape)) for layout, shape in zip(self.layouts, self.shapes(), strict=True)
        )
        made = OPS[self.op][1](*(t.to("meta") for t in (left, right, added))).shape
        rows = [drawn(tuple(shape[-1:])) for shape in (left.shape, right.shape, made)]
        return [left, right, added, *rows[:2], LAYOUTS[self.layouts[2]](drawn(tuple(made))), rows[2]]

    def values(
        self, x: Tensor, y: Tensor, c: Tensor, rx: Tensor, ry: Tensor, e: Tensor, r: Tensor
    ) -> list[Tensor]:
        """All that is computed, the result last."""
        found = [BEFORE[self.before[0]](x, rx), BEFORE[self.before[1]](y, ry)]
        found.append(OPS[self.op][1](*found, c))
        for name in self.after:
            turned = found[-1].shape != e.shape  # a result that was turned or summed meets no residual
            if not turned or name in ("silu", "sum"):
                found.append(AFTER[name](found[-1], e, r))
        return found

    def result(self, *inputs: Tensor) -> Tensor:
        return self.values(*inputs)[-1]


@st.composite
def contractions(draw: st.DrawFn) -> Contraction:
    """Contractions of all kinds."""
    layout, before = st.sampled_from(sorted(LAYOUTS)), st.sampled_from(sorted(BEFORE))
    return Contraction(
        draw(st.sampled_from(sorted(OPS))),
        tuple(draw(st.sampled_from(SIZES)) for _ in range(4)),
        draw(st.sampled_from(DTYPES)),
        (draw(layout), draw(layout), draw(layout)),
        (draw(before), draw(before)),
        tuple(draw(st.lists(st.sampled_from(sorted(AFTER)), max_size=3))),
        draw(st.booleans()),
        draw(st.sampled_from(sorted(LEVELS))),
        draw(st.integers(0, 99)),
    )


def check_contraction(c: Contraction) -> None:
    """Asserts that all products of a contraction are kernels, and that its result is right."""
    inputs = c.inputs()
    exact = c.values(*cloned(inputs, torch.float64))
    eager = c.result(*cloned(inputs))
    compiled = Compiled(c.result, LEVELS[c.level], c.dynamic)
    found = compiled(*cloned(inputs))
    assert all('fuse.extern = "aten.' not in str(graph.module) for graph in compiled.graphs)
    assert (found.shape, found.dtype) == (eager.shape, eager.dtype)
    if not found.numel():
        return
    largest = max(1.0, *(v.abs().max().item() for v in exact if v.numel()))
    limit = 2 * (eager.double() - exact[-1]).abs().max() + 8 * torch.finfo(c.dtype).eps * largest
    assert (found.double() - exact[-1]).abs().max() <= limit
