"""Numbers of the host beside dynamic sizes: what Python computes of ints, floats and bools, wherever an op
takes it, against eager (``frontend/importer/host_sizes.py``).
"""

import math

import pytest
import torch
from compiling import Compiled
from torch.utils import _pytree as pytree

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")

X = torch.arange(20.0).reshape(4, 5) - 7
#: Ints of both signs, in one graph: torch guards on 0 and 1 alone.
INTS = (6, -5, -1, 9)


def check(function, *runs, dynamic=True, level="planned", whole=True):
    """Compiles once and compares each run.  whole: torch runs no graph as a whole."""
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        compiled = Compiled(function, {"interpret_level": level}, dynamic)
        for args in runs:
            found, expected = (pytree.tree_leaves(f(*args)) for f in (compiled, function))
            assert len(found) == len(expected)
            for a, b in zip(found, expected, strict=True):
                assert type(a) is type(b), (a, b)
                if isinstance(b, torch.Tensor):
                    assert (a.dtype, a.shape) == (b.dtype, b.shape)
                    torch.testing.assert_close(a, b, equal_nan=True, rtol=2e-6, atol=1e-6)
                else:
                    assert a == pytest.approx(b, rel=1e-12)
    fallbacks = [f for graph in compiled.graphs for f in graph.fallbacks]
    assert not [f for f in fallbacks if f.target == "the whole graph"] or not whole, fallbacks
    return compiled


# ---- two numbers and no tensor --------------------------------------------------------------------------


@pytest.mark.parametrize("dynamic", [False, True])
def test_numbers_are_all_operands(dynamic):
    aten = torch.ops.aten

    def function(a, b):
        sums = [f(*pair) for f in (aten.add, aten.sub, aten.mul, aten.div) for pair in ((a, b), (b, a))]
        return sums + [aten.div(a, b, rounding_mode=m) for m in ("floor", "trunc", None)]

    check(function, (4, 3.25), dynamic=dynamic)
    check(function, (1024, 100), dynamic=dynamic)


# ---- ints that may be negative --------------------------------------------------------------------------

NEGATIVE = {
    "quotient": lambda x, n: x * (n // 2),
    "remainder": lambda x, n: x * (n % 3),
    "computed": lambda x, n: x * ((n * 3 + 1) // 4) + torch.arange(5) * n,
    "minimum": lambda x, n: x * (min(n, 3) // 2) + torch.arange(5) * (min(n, 3) % 4),
    "difference": lambda x, n: x * ((n - 20) // 7),
    "of elements": lambda x, n: (torch.arange(7) + n) // 2,
    "filled": lambda x, n: torch.full((3,), n // 3),
    "divisor": lambda x, n: x * (100 // n) + 7 % n,
    "diagonal": lambda x, n: x.tril(n) + x.triu(-n),
    "returned": lambda x, n: (n // 2, n % 3, x),
    "column": lambda x, n: x[:, abs(n) % 5] * (n // 2),
    "viewed": lambda x, n: x.reshape(-1)[(n // 2) % 4 :].sin() * 2,
}


def test_an_int_may_be_negative():
    """A size is at least 0, which an argument and what is computed of it need not be."""
    compiled = check(
        lambda x, n: [f(x, n) for f in NEGATIVE.values()], *((X, n) for n in INTS), level="planned"
    )
    assert len(compiled.graphs) < len(INTS)  # some sizes are guarded on


def every_nth(x, n):
    return x.view(-1)[::n], x[n:]


def as_long_as_rows(x, n):
    return (x.view(-1)[::n] + n, x.new_zeros(n)) if n == 2 * x.shape[0] else x + n


@pytest.mark.parametrize(
    ("function", "runs"),
    [(every_nth, [(X, 3), (X, 1)]), (as_long_as_rows, [(X[:2], 4), (X[:3], 6), (X, 8), (X, 5)])],
)
def test_an_int_that_a_guard_makes_known(function, runs):
    """The layout of a view of steps of the int, and its map, spell the int alike."""
    check(function, *runs)


def test_bounds_are_said():
    compiled = check(lambda x, n: x * (max(n, -7) // 2), (X, -5))
    text = str(compiled.graphs[0].module)
    assert 'fuse.min = -9223372036854775808 : i64, fuse.sym = "' in text  # the argument
    assert "fuse.min = -7 : i64" in text  # the maximum


# ---- what becomes of sizes ------------------------------------------------------------------------------

SIZES = {
    "ramp down": (lambda x, n: torch.arange(60, -60, n), ((X, -7), (X, -2))),
    "ramp up": (lambda x, n: torch.arange(n, n + x.shape[0] * 3, 2), ((X, 4), (X, -9))),
    "rounded": (lambda x, n: x.new_zeros(round(x.shape[0] * 1.5)) + round(n * 1.5), ((X, 4), (X[:3], 5))),
    "computed twice": (
        lambda x, n: torch.split(x, (abs(abs(x.shape[1] + n) >> 1) % 6) + 2, 1)[-1],
        ((X, 6), (X, -8)),
    ),
    "offset": (lambda x, n: x[abs(n) % 4 :, abs(n - 7) % 5], ((X, 6), (X, -9))),
    "chosen": (
        lambda x, n: torch.full((torch.sym_ite(n > 2, x.shape[0], x.shape[1]),), n),
        ((X, 6), (X, -4)),
    ),
    "bits": (lambda x, n: x.new_ones((n & 7) + (abs(n) ^ 5), 2) * (n | 1), ((X, 6), (X, -4))),
    "powers": (lambda x, n: x.new_ones((abs(n) % 5) ** 2 + 1) * (n**2), ((X, 6), (X, -3))),
    "to zero": (lambda x, n: x.new_ones(math.trunc(abs(n) / 3) + 1) * math.trunc(n / 4), ((X, 6), (X, -3))),
}


@pytest.mark.parametrize("name", SIZES)
def test_a_computed_size(name):
    function, runs = SIZES[name]
    check(function, *runs)


class Column(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n = n

    def forward(self, x, v):
        x = x + 0
        x[:, self.n] = v
        return x, x[self.n]


@pytest.mark.parametrize("n", [3, -2])
@pytest.mark.parametrize("value", [torch.arange(4.0), 2.5])
def test_an_int_of_a_module_is_an_index(n, value):
    with torch._dynamo.config.patch(allow_unspec_int_on_nn_module=True):
        check(Column(n), (X, value))


@pytest.mark.parametrize("step", [-1.0, -1.5])
def test_a_ramp_of_integers_between_floats(step):
    """Eager rounds both ends and the step to zero first."""

    def function(x, a):
        return torch.arange(2.1, -2.9, step, dtype=torch.int64), torch.arange(
            a, a - 8, step, dtype=torch.int32
        )

    check(function, (X, 2.9), (X, -1.7))


# ---- functions of floats --------------------------------------------------------------------------------

UNARY = ("sqrt", "cos", "cosh", "sin", "sinh", "tan", "tanh", "asin", "acos", "atan", "exp", "log", "log2")


@pytest.mark.parametrize("integer", [False, True])
def test_functions_of_a_number(integer):
    """Each as a factor, as a result and in a size."""

    def function(x, a):
        unit = a * x.shape[0] / 40
        values = [getattr(math, name)(unit) for name in UNARY]
        values += [round(unit, 1), abs(unit - 1), max(unit, 0.5), min(unit, 0.5)]
        whole = [round(unit * 9), math.floor(unit * 9), math.ceil(unit * 9), math.trunc(-unit * 9)]
        sizes = [x.new_ones(abs(round(v * 3)) + 2) for v in values[:4]]
        return [x * v for v in values], values[:3], whole, [x + w for w in whole], sizes

    runs = ((X, 6), (X, 3)) if integer else ((X, 2.5), (X[:3], 7.5))
    check(function, *runs)


def test_an_element_of_a_tensor():
    def function(x, t, u):
        a, n = t.item(), u.item()
        masked = torch.where(x > a, n, a * 2)
        return x * a, x * (n // 3), torch.full((2,), a), masked, torch.arange(abs(n) % 4 + 2), n % 3, a / 2

    def args(a, n):
        return X, torch.tensor(a), torch.tensor(n)

    check(function, args(1.5, 7), args(-2.5, -4))


def test_bools():
    def function(x, n, a):
        larger = n > x.shape[0]
        both = larger & (a > 1.0)
        return (
            x * larger,
            torch.full((3,), both),
            torch.sym_not(both),
            x + int(larger),
            torch.where(x > 0, 1.0, a),
        )

    check(function, (X, 6, 2.5), (X, -6, 0.5))


# ---- a size of an argument that only the host can compute ----------------------------------------------


def test_a_saved_tensor_has_a_size_that_only_its_type_names():
    """The backward graph takes a tensor of ``ceil(n / 32) * 32`` rows and never asks for that number."""

    @torch.library.custom_op("fuse_test::padded", mutates_args=())
    def padded(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x * 2, torch.zeros(math.ceil(x.shape[0] / 32) * 32, 3)

    @torch.library.custom_op("fuse_test::padded_backward", mutates_args=())
    def padded_backward(g: torch.Tensor, saved: torch.Tensor) -> torch.Tensor:
        return g * 2

    padded.register_fake(lambda x: (torch.empty_like(x), x.new_empty(math.ceil(x.shape[0] / 32) * 32, 3)))
    padded_backward.register_fake(lambda g, saved: torch.empty_like(g))
    padded.register_autograd(
        lambda ctx, g, _: torch.ops.fuse_test.padded_backward(g, *ctx.saved_tensors),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output[1]),
    )

    def gradient(x):
        return torch.autograd.grad(padded(x.sin())[0].cos().sum(), x)[0]

    x = torch.randn(40, 5, requires_grad=True)
    compiled = Compiled(lambda x: padded(x.sin())[0].cos(), {}, True)
    compiled(x).sum().backward()
    torch.testing.assert_close(x.grad, gradient(x))
    assert not [f for g in compiled.graphs for f in g.fallbacks if f.target == "the whole graph"]
