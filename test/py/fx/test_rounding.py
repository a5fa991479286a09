"""The option ``rounding``: 16-bit results between the ops of a kernel, as eager has them or in float32
(``passes/kernels/keep_float32.py``, ``compiler/fx/roundings.py``).
"""

import copy
from typing import Any

import pytest
import torch
from compiling import Compiled
from lowering import trace
from rounding_cases import GROUPS
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils import _pytree as pytree

from fuse_mlir.compiler.base.options import Options
from fuse_mlir.compiler.fx.graph_text import graph_text
from fuse_mlir.compiler.fx.new_node import ROUNDED
from fuse_mlir.compiler.fx.roundings import round_what_decides, round_what_is_saved
from fuse_mlir.passes.pipeline import Settings, default_pipeline

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")

#: How far an answer may be from the one in float32, rounded: what Inductor's tests allow.
TOLERANCE = {torch.float16: (1e-3, 1e-5), torch.bfloat16: (1.6e-2, 1e-5)}
F16, BF16 = torch.float16, torch.bfloat16


def arguments(
    dtype: torch.dtype, *, positive: bool = False, rows: int = 8, columns: int = 16
) -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    made = [torch.randn(rows, columns, generator=generator) for _ in range(2)]
    return [(x.abs() * 0.4 + 0.05 if positive else x).to(dtype) for x in made]


def wrong(name: str, dtype: torch.dtype, rounding: str, **options: Any) -> list[str]:
    """The names of a group's results that are further from float32 than Inductor's tests allow."""
    function, positive = GROUPS[name]
    given = arguments(dtype, positive=positive)
    compiled = Compiled(function, {"rounding": rounding, **options})
    found, exact = compiled(*given), function(*(x.float() for x in given))
    rtol, atol = TOLERANCE[dtype]

    def differs(mine: Tensor, theirs: Tensor) -> bool:
        return not torch.allclose(mine, theirs.to(mine.dtype), rtol=rtol, atol=atol, equal_nan=True)

    return [n for n, mine in found.items() if any(map(differs, *map(pytree.tree_leaves, (mine, exact[n]))))]


@pytest.mark.parametrize(
    ("name", "dtype"),
    [*((name, F16) for name in GROUPS), ("chains", BF16), ("reductions of chains", BF16), ("mixed", BF16)],
)
def test_answers_in_float32(name, dtype):
    """Inductor's checks of 16-bit inputs: the function of float32 inputs is the reference."""
    assert wrong(name, dtype, "float32") == []


def test_roundings_of_eager_are_further_from_float32():
    """What a user chooses between: with eager's roundings many of the chains do not hold."""
    assert len(wrong("chains", F16, "eager")) > 10
    assert wrong("unary of positive", F16, "eager") == []  # one op rounds once


@pytest.mark.parametrize("dtype", [F16, BF16])
def test_float32_in_tile_code(dtype):
    assert wrong("mixed", dtype, "float32", interpret_level="planned") == []


@pytest.mark.parametrize("rounding", ["eager", "float32"])
def test_both_take_the_short_functions(rounding):
    """An erf and quotients whose readers see them rounded in eager mode are approximated in float32, too."""
    compiled = Compiled(
        lambda x, y: F.gelu(x * y) * y.sigmoid() + x, {"rounding": rounding, "interpret_level": "planned"}
    )
    compiled(*arguments(BF16))
    text = str(compiled.graphs[0].module)
    assert "math.erf" not in text and "tt.precise_divf" not in text and "llvm.nvvm.div.approx" in text


def test_eager_rounds_as_eager_does():
    def chain(x, y):
        return (x * y + x) * 0.3 - y * y

    given = arguments(BF16)
    assert torch.equal(Compiled(chain, {"rounding": "eager"})(*given), chain(*given))
    assert not torch.equal(Compiled(chain, {"rounding": "float32"})(*given), chain(*given))


def test_a_pipeline_for_each_choice():
    plain, kept = (default_pipeline("scheduled", Settings(rounding=r)) for r in ("eager", "float32"))
    changed = ["choose-libraries", "derive-cascades", "unpack-dots", "keep-float32", "fold-factors"]
    assert [p.name for p in kept if p not in plain] == changed
    assert Options.of({"rounding": "float32"}).text() != Options.of({"rounding": "eager"}).text()


# --- what keeps its rounding --------------------------------------------------------------------------------


def as_eager(function: Any, *given: Tensor) -> None:
    """``function`` has eager's answers, bit for bit, with rounding in float32."""
    found = pytree.tree_leaves(Compiled(function, {"rounding": "float32", "verify": "numeric"})(*given))
    for mine, theirs in zip(found, pytree.tree_leaves(function(*given)), strict=True):
        assert torch.equal(mine, theirs)


def test_casts_of_the_program_round():
    wide = arguments(torch.float32)
    as_eager(lambda x, y: (x * y).to(BF16).float() + y, *wide)
    as_eager(lambda x, y: (x * y).half().float() - y, *wide)
    as_eager(lambda x, y: (x * y).to(torch.float8_e4m3fn).float() + y, *wide)
    as_eager(lambda x, y: x.float().to(F16).float() + y.float(), *arguments(BF16))


def test_casts_of_autocast_round():
    def step(x, y):
        with torch.autocast("cpu", BF16):
            return F.linear(x, y) - x @ x.T

    as_eager(step, *arguments(torch.float32, rows=16))


def test_casts_inside_an_op_do_not():
    """A softmax is computed in float32 and cast by its decomposition: the next op reads what was not cast."""
    compiled = Compiled(lambda x, y: x.softmax(-1) * y, {"rounding": "float32"})
    compiled(*arguments(BF16))
    assert str(compiled.graphs[0].module).count("arith.truncf") == 1  # what is stored


@pytest.mark.parametrize(
    "decide",
    [
        lambda z: z == z.amax(-1, keepdim=True),
        lambda z: z.argmax(-1),
        lambda z: z.max(-1).indices,
        lambda z: (z * 7.3).to(torch.int8),
        lambda z: (z * 3e4 * 3).isinf(),
        lambda z: z.view(torch.int16),
        lambda z: (z > 0.5).sum(-1),
        lambda z: (z > z.topk(3).values[:, -1:]).float(),
        lambda z: F.max_pool2d(z[None], 2, return_indices=True)[1],
        lambda z: torch.isclose(z, z.T.contiguous().T.neg().neg() * 1.001).any(),
    ],
)
def test_what_decides_is_rounded(decide):
    """The integers and bools are eager's, whatever the numbers are that they come from."""
    as_eager(lambda x, y: decide((x * y + x) * 1.7 - y), *arguments(F16, columns=64))


@pytest.mark.parametrize("limit", [0.3, torch.tensor(0.3)], ids=["number", "tensor"])
def test_what_only_chooses_is_not(limit):
    def function(x, y):
        limited = limit if isinstance(limit, float) else torch.scalar_tensor(0.3, dtype=x.dtype)
        return torch.where(x * y > limited, x * y, y)

    compiled = Compiled(function, {"rounding": "float32"})
    compiled(*arguments(BF16))
    assert str(compiled.graphs[0].module).count("arith.truncf") == 1


def test_gradients_of_an_extreme_find_it():
    """The backward graph compares what it computes again with what the forward graph has saved."""

    def loss(a, b):
        t = a * b
        return ((t + b) * 1.1).amax(1).sum() + (t * t).sum()

    found = []
    for call in (loss, Compiled(loss, {"rounding": "float32"})):
        given = [x.requires_grad_() for x in arguments(BF16, rows=32, columns=64)]
        found.append(torch.autograd.grad(call(*given), given))
    for theirs, mine in zip(*found, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=3e-2, atol=3e-2)


def test_what_is_saved_is_read_rounded():
    """Forward reads what it saves as backward does."""

    class Saves(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 1.37
            ctx.save_for_backward(y)
            return y.sin()

        @staticmethod
        def backward(ctx, gradient):
            (y,) = ctx.saved_tensors
            return gradient @ y

    compiled = Compiled(Saves.apply, {"rounding": "float32"})
    (x, _) = arguments(BF16, rows=16)
    given = x.requires_grad_()
    assert torch.equal(compiled(given), Saves.apply(given))


def test_what_a_saved_view_lies_in_is_rounded():
    """A view, or one of several results, is of the elements that another node computes."""

    def saved(x):
        return x.sin().reshape(-1).t(), x.exp().split(4)[1], x * 2

    gm = trace(saved, arguments(BF16)[:1])
    (output,) = gm.graph.find_nodes(op="output")
    assert round_what_is_saved(output.args[0]) == 3
    assert [n.name for n in gm.graph.nodes if ROUNDED in n.meta] == ["sin", "exp", "mul"]


def test_training_is_nearer_to_float64():
    """Outputs and gradients of a block in bfloat16, in both modes."""
    torch.manual_seed(0)
    block = nn.Sequential(nn.LayerNorm(32), nn.Linear(32, 64), nn.SiLU(), nn.Linear(64, 32), nn.LayerNorm(32))
    x = torch.randn(16, 32)

    def step(model, x, call):
        x = x.clone().requires_grad_()
        y = call(x)
        return [
            y.detach().double(),
            *(g.double() for g in torch.autograd.grad((y * y.sin()).sum(), [x, *model.parameters()])),
        ]

    wide = copy.deepcopy(block).double()
    narrow = block.to(BF16)
    for p, q in zip(wide.parameters(), narrow.parameters(), strict=True):
        p.data.copy_(q.data)
    exact = step(wide, x.to(BF16).double(), wide)
    errors = {}
    for rounding in ("eager", "float32"):
        call = Compiled(narrow, {"rounding": rounding})
        found = step(narrow, x.to(BF16), call)
        errors[rounding] = sum(float((a - e).norm() / e.norm()) for a, e in zip(found, exact, strict=True))
    assert errors["float32"] <= errors["eager"]


# --- the graph ----------------------------------------------------------------------------------------------


def test_the_key_says_what_is_rounded():
    """Graphs that differ only in what they round are imported to different modules."""
    gm = trace(lambda x, y: x * y + y, arguments(BF16))
    before = graph_text(gm)
    next(n for n in gm.graph.nodes if n.op == "call_function").meta["rounded"] = True
    assert graph_text(gm) != before


def test_marks_end_at_library_ops():
    gm = trace(lambda x, y: ((x * 2) @ y.T + 1).argmax(-1), arguments(BF16))
    assert round_what_decides(gm) == 2  # the product and the sum behind it
    assert round_what_decides(gm) == 0
    marked = [n.name for n in gm.graph.nodes if "rounded" in n.meta]
    assert marked == ["mm", "add"]


def test_marks_pass_library_ops_that_checkpointing_runs_again():
    gm = trace(lambda x, y: ((x * 2) @ y.T + 1).argmax(-1), arguments(BF16))
    (product,) = gm.graph.find_nodes(op="call_function", target=torch.ops.aten.mm.default)
    product.meta["recompute"] = torch.utils.checkpoint.CheckpointPolicy.PREFER_RECOMPUTE
    assert round_what_decides(gm) == 4
