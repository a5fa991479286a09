"""Random sums of products with what is around them, drawn by hypothesis, and what it means that one is right.

    max|compiled - ref| <= 2 * max|eager - ref| + 8 * eps * max(1, largest)

with eps of the type that results are rounded to, ref a float64 run, and largest the largest value that this
run met, or the largest sum of absolute products.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch
from compiling import Compiled, cloned
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F
from versions import TORCH

from fuse_mlir.compiler.frontend.importer import extern

#: Sizes of batches, of what is multiplied, and of what needs tiles: no block divides most of them.
BATCHES = (0, 1, 2, 3, 5)
SIZES = (0, 1, 2, 3, 5, 16, 33, 70, 130)
TILED = (17, 33, 64, 70, 130)
DTYPES = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
#: Kernels before fusion, after it, and as tiles and loops: options of the backend.
LEVELS = {
    "graph": {"pipeline": "builtin.module(choose-libraries{products=generated})"},
    "scheduled": {"products": "generated", "interpret_level": "scheduled"},
    "planned": {"products": "generated", "interpret_level": "planned", "hardware": "h200"},
}


def _scaled(x: Tensor, y: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """``_scaled_mm``, which has no float64."""
    if x.dtype == torch.float64:
        return x @ y.t() * left * right
    return torch._scaled_mm(x, y.t(), left, right, out_dtype=torch.bfloat16)


#: op -> (shapes of left, right and what is added or scales, over the sizes b, m, k, n; the call).
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
    "int8": (
        ("mk", "kn", "n"),
        lambda x, y, c: (x @ y if x.is_floating_point() else torch._int_mm(x, y)) * c,
    ),
    "fp8": (("mk", "nk", ""), lambda x, y, c: _scaled(x, y, c.abs(), c.abs() + 1)),
    "fp8 by row": (("mk", "nk", "mn"), lambda x, y, c: _scaled(x, y, c[:, :1].abs(), c[:1].abs())),
}
if TORCH < (2, 13):
    del OPS["fp8 by row"]  # eager has no such product on a CPU
#: Those that are reductions of pointwise products, not products of matrices.
REDUCTIONS = ("mv", "dot")
#: The types of factors, of what is added or scales, and of all else, of ops that multiply bytes.
OF_BYTES = {
    "int8": (torch.int8, torch.float32, torch.float32),
    "fp8": (torch.float8_e4m3fn, torch.float32, torch.bfloat16),
    "fp8 by row": (torch.float8_e5m2, torch.float32, torch.bfloat16),
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


def _pieces(tensor: Tensor) -> tuple[Tensor, ...]:
    """Two, of which the first has an odd number of columns."""
    border = tensor.shape[-1] // 3 | 1
    return tensor[..., :border].clone(), tensor[..., border:].clone()


def _rows(tensor: Tensor) -> tuple[Tensor, ...]:
    """A table, and which of its rows a factor has: some not at all, and some twice."""
    count = tensor.shape[0]
    return tensor, torch.arange(count) * 3 // 2 % max(1, count)


def _bytes(tensor: Tensor) -> tuple[Tensor, ...]:
    return ((tensor.double() * 40).clamp(-128, 127).to(torch.int8),)


def _as_it_is(tensor: Tensor) -> tuple[Tensor, ...]:
    return (tensor,)


#: What makes a factor: the arguments that it is made of, and the factor, of a row that has its last dim, and
#: of these arguments.
BEFORE: dict[str, tuple[Callable[[Tensor], tuple[Tensor, ...]], Callable[..., Tensor]]] = {
    "itself": (_as_it_is, lambda r, t: t),
    "scaled": (_as_it_is, lambda r, t: t * 0.5),
    "relu": (_as_it_is, lambda r, t: t.relu()),
    "silu": (_as_it_is, lambda r, t: F.silu(t)),
    "shifted": (_as_it_is, lambda r, t: t + r),
    "flipped": (_as_it_is, lambda r, t: t.flip(0) if t.dim() else t),
    "normed": (_as_it_is, lambda r, t: t * torch.rsqrt(t.square().mean(-1, keepdim=True) + 1)),
    "widened": (_bytes, lambda r, q: q.to(r.dtype) * (r / 64)),
    "gathered": (_rows, lambda r, t, rows: t[rows]),
    "joined": (_pieces, lambda r, t, u: torch.cat([t, u], -1)),
}
#: Those that torch has for bytes.
MOVES = ("itself", "gathered", "joined")

#: What reads the product: of it, and of a residual of its shape, a row of its last dim and a mask of its
#: shape.
AFTER: dict[str, Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]] = {
    "bias": lambda z, e, r, keep: z + r,
    "residual": lambda z, e, r, keep: z + e,
    "silu": lambda z, e, r, keep: F.silu(z),
    "gate": lambda z, e, r, keep: z * torch.sigmoid(e),
    "scale": lambda z, e, r, keep: z * r,
    "turned": lambda z, e, r, keep: _turned(z).tanh(),
    "dropout": lambda z, e, r, keep: torch.where(keep, z * 2, 0),
    "sum": lambda z, e, r, keep: z.sum(-1, keepdim=True) if z.dim() else z,
    "largest": lambda z, e, r, keep: z.amax(-1, keepdim=True) if z.dim() and z.shape[-1] else z,
    "softmax": lambda z, e, r, keep: z.softmax(-1) if z.dim() else z,
    "rms": lambda z, e, r, keep: z * torch.rsqrt(z.square().mean(-1, keepdim=True) + 1) if z.dim() else z,
}
#: Those that need nothing of the product's shape.
ALONE = ("silu", "sum", "largest", "softmax", "rms")
#: Which argument is written after it was read: a part of the left factor, the residual, or none.
UPDATES = ("", "left", "residual")


@dataclass(frozen=True)
class Contraction:
    """A program: ``after(op(before(left), before(right), added))``, an update of an argument, and what is
    returned.

    gated: the product is ``silu(op(left, right, added)) * op(left, other, added)``.
    kept: what ``op`` computes is a result, too.
    tf32: the switch of torch that lets a GPU's products of float32 round their factors.
    """

    op: str
    sizes: tuple[int, int, int, int]
    dtype: torch.dtype
    layouts: tuple[str, str, str] = ("plain",) * 3
    before: tuple[str, str] = ("itself",) * 2
    after: tuple[str, ...] = ()
    dynamic: bool = False
    level: str = "planned"
    seed: int = 0
    gated: bool = False
    kept: bool = False
    updates: str = ""
    tf32: bool = False

    @property
    def types(self) -> tuple[torch.dtype, torch.dtype, torch.dtype]:
        """Of factors, of what is added, and of all else."""
        return OF_BYTES.get(self.op, (self.dtype,) * 3)

    @property
    def made_by(self) -> tuple[str, ...]:
        """Names of ``BEFORE`` for both factors."""
        return tuple(name if self.op not in OF_BYTES or name in MOVES else "itself" for name in self.before)

    def shapes(self) -> list[tuple[int, ...]]:
        """Of left, right and what is added."""
        # torch takes no empty image and no scales of no rows, and its sums of no bytes are any numbers
        least = "bmkn" if self.op == "conv1d" else "mkn" if self.op.startswith("fp8") else ""
        extent = {d: max(int(d in least), n) for d, n in zip("bmkn", self.sizes, strict=True)} | {"1": 1}
        return [tuple(extent[d] for d in dims) for dims in OPS[self.op][0]]

    def inputs(self) -> list[Tensor]:
        """Added, the right factor of the second product, a row for each factor, a residual, a row and a mask
        of the result; what the left factor is made of, and the right one.
        """
        generator = torch.Generator().manual_seed(self.seed)

        def drawn(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
            values = torch.randn(shape, generator=generator, dtype=torch.float64)
            return (values * 40).clamp(-128, 127).to(dtype) if dtype == torch.int8 else values.to(dtype)

        factor, added, plain = self.types
        left, right, c = (
            drawn(shape, dtype) for shape, dtype in zip(self.shapes(), (factor, factor, added), strict=True)
        )
        made = OPS[self.op][1](left, right, c).shape
        rows = [drawn(tuple(shape[-1:]), plain) for shape in (left.shape, right.shape, made)]
        residual, keep = drawn(tuple(made), plain), drawn(tuple(made), torch.float64) > 0
        other = drawn(tuple(right.shape), factor)
        # torch's own _int_mm reads past the end of an expanded factor
        laid = ("plain" if (self.op, name) == ("int8", "expanded") else name for name in self.layouts)
        first, second, third = (LAYOUTS[name] for name in laid)
        parts = [first(t) for t in BEFORE[self.made_by[0]][0](left)]
        parts += [second(t) for t in BEFORE[self.made_by[1]][0](right)]
        return [third(c), other, *rows[:2], third(residual), rows[2], keep, *parts]

    def values(
        self, c: Tensor, other: Tensor, rx: Tensor, ry: Tensor, e: Tensor, r: Tensor, keep: Tensor,
        *parts: Tensor,
    ) -> list[Tensor]:  # fmt: skip
        """All that is computed: both factors, the product, what reads it, the result last."""
        left, right = (BEFORE[name][1] for name in self.made_by)
        count = 2 if self.made_by[0] in ("gathered", "joined") else 1
        found = [left(rx, *parts[:count]), right(ry, *parts[count:])]
        call = OPS[self.op][1]
        found.append(call(*found, c))
        if self.gated:
            found.append(F.silu(found[-1]) * call(found[0], other, c))
        for name in self.after:
            turned = found[-1].shape != e.shape  # a result that was turned or summed meets no residual
            if not turned or name in ALONE:
                found.append(AFTER[name](found[-1], e, r, keep))
        return found

    def results(self, *inputs: Tensor) -> list[Tensor]:
        """What the program returns; it writes an argument before."""
        values = self.values(*inputs)
        left, residual = inputs[7], inputs[4]
        if self.updates == "left" and self.layouts[0] != "expanded" and left.dtype.itemsize > 1:
            left.mul_(0.5)
        same = values[-1].shape == residual.shape != ()  # Dynamo loses updates of float64 without dims
        if self.updates == "residual" and self.layouts[2] != "expanded" and same:
            residual.add_(values[-1])
        return [values[-1], *([values[2]] if self.kept else [])]

    @property
    def is_dynamic(self) -> bool:
        """Whether sizes are symbols.  Of ``_scaled_mm``, torch does not say that those of both factors are
        equal."""
        return self.dynamic and not (self.op.startswith("fp8") and "joined" in self.made_by)

    @property
    def products(self) -> int:
        """How many products of matrices it has."""
        return 0 if self.op in REDUCTIONS else 1 + self.gated

    @property
    def is_tiled(self) -> bool:
        """Whether its products are surely of tiles."""
        narrow = self.types[0] == torch.float64 and "widened" in self.before  # see ``reason_to_sum``
        large = min(self.sizes[1:]) > 16 and self.sizes[0] > 0
        return large and self.level == "planned" and self.products > 0 and not narrow


@st.composite
def contractions(draw: st.DrawFn) -> Contraction:
    """Contractions of all kinds, half of them large enough for tiles."""
    layout, before = st.sampled_from(sorted(LAYOUTS)), st.sampled_from(sorted(BEFORE))
    size = st.sampled_from(TILED if draw(st.booleans()) else SIZES)
    return Contraction(
        draw(st.sampled_from(sorted(OPS))),
        (draw(st.sampled_from(BATCHES)), draw(size), draw(size), draw(size)),
        draw(st.sampled_from(DTYPES)),
        (draw(layout), draw(layout), draw(layout)),
        (draw(before), draw(before)),
        tuple(draw(st.lists(st.sampled_from(sorted(AFTER)), max_size=3))),
        draw(st.booleans()),
        draw(st.sampled_from(sorted(LEVELS))),
        draw(st.integers(0, 99)),
        draw(st.booleans()),
        draw(st.booleans()),
        draw(st.sampled_from(UPDATES)),
        draw(st.booleans()),
    )


@contextmanager
def rounded_factors() -> Iterator[None]:
    """Torch lets a GPU's products of float32 round their factors, and graphs are imported as a GPU's are."""
    switches, declared = (torch.backends.cuda.matmul, torch.backends.cudnn.conv), extern._precision
    before = [switch.fp32_precision for switch in switches]

    def on_a_gpu(state: Any, *more: Any) -> dict[str, Any]:
        return declared(SimpleNamespace(device="cuda:0", builder=state.builder), *more)

    for switch in switches:
        switch.fp32_precision = "tf32"
    try:
        with mock.patch.object(extern, "_precision", on_a_gpu):
            yield
    finally:
        for switch, value in zip(switches, before, strict=True):
            switch.fp32_precision = value


def check_contraction(c: Contraction) -> None:
    """Asserts that all products of a contraction are kernels, and that its results and its arguments are
    right.
    """
    inputs = c.inputs()
    given = [cloned(inputs, torch.float64), cloned(inputs), cloned(inputs)]
    values = c.values(*cloned(inputs, torch.float64))
    compiled = Compiled(c.results, LEVELS[c.level], c.is_dynamic)
    wanted, eager = c.results(*given[0]), c.results(*given[1])
    with rounded_factors() if c.tf32 else nullcontext():
        found = compiled(*given[2])
    _assert_kernels(c, compiled)
    left, right, *_ = (v.double().abs() for v in values)
    added = given[0][0].abs()
    values.append(OPS[c.op][1](left, right, added))
    if c.gated:
        values.append(values[-1].square())
    largest = max([1.0, *(v.abs().max().item() for v in values if v.numel())])
    limit = 8 * torch.finfo(c.types[2]).eps * largest
    for got, other, exact in zip(found + given[2], eager + given[1], wanted + given[0], strict=True):
        assert (got.shape, got.dtype) == (other.shape, other.dtype)
        if got.numel():
            errors = [(t.double() - exact.double()).abs().max() for t in (got, other)]
            assert errors[0] <= 2 * errors[1] + limit


def _assert_kernels(c: Contraction, compiled: Compiled) -> None:
    """Asserts that no product is torch's, that each is a ``fuse.dot``, and that tiles are multiplied."""
    text = "\n".join(str(graph.module) for graph in compiled.graphs)
    assert 'fuse.extern = "aten.' not in text
    remarks = [r for graph in compiled.graphs for r in graph.remarks.items]
    made = sum(r.pass_name == "choose-libraries" and r.kind == "passed" for r in remarks)
    # torch multiplies factors of one column without a product, and those of none not at all
    surely = min(c.sizes) > 0 and c.sizes[2] > 1
    assert made == c.products if surely else made <= c.products
    if surely and c.level == "graph":
        assert text.count('"fuse.dot"') == c.products
    if c.is_tiled:
        rounded = c.tf32 and c.types[0] == torch.float32
        assert '"tt.dot"' in text and (f"inputPrecision = {0 if rounded else 2} " in text)
