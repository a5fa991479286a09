"""What eager refuses for a dtype is refused with eager's error, and what it takes gives its numbers."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

import fuse_mlir
from fuse_mlir.compiler.base.errors import CallRefused
from fuse_mlir.compiler.fx.eager_dtypes import require_kernels

pytestmark = pytest.mark.usefixtures("fresh_dynamo")

MASK, AT = torch.tensor([True, False, True]), torch.tensor([0, 2])
GIVEN = {
    "uint8": torch.tensor([1, 2, 200], dtype=torch.uint8),
    "int8": torch.tensor([1, -2, 100], dtype=torch.int8),
    "int32": torch.tensor([1, 2, 3], dtype=torch.int32),
    "half": torch.tensor([1.0, 2.0, 3.0], dtype=torch.float16),
    "bool": torch.tensor([True, False, True]),
}
#: Ops that convert a number to the dtype of their result.
NUMBERS = {
    "clamp": lambda x, n: x.clamp(max=n),
    "clamp_": lambda x, n: x.clone().clamp_(min=n),
    "hardtanh": lambda x, n: F.hardtanh(x, min(n, 0), max(n, 1)),
    "full": lambda x, n: torch.full((2,), n, dtype=x.dtype),
    "full_like": torch.full_like,
    "new_full": lambda x, n: x.new_full((2,), n),
    "fill_": lambda x, n: x.clone().fill_(n),
    "masked_fill": lambda x, n: x.masked_fill(MASK, n),
    "where": lambda x, n: torch.where(MASK, x, n),
    "pad": lambda x, n: F.pad(x, (1, 1), value=n),
    "scatter": lambda x, n: x.scatter(0, AT, n),
    "index_fill": lambda x, n: x.index_fill(0, AT, n),
    "threshold": lambda x, n: F.threshold(x, 1, n),
    "power": lambda x, n: x**n,
    "alpha": lambda x, n: torch.add(x, x, alpha=n),
    "alpha of a difference": lambda x, n: torch.sub(x, x, alpha=n),
    "addcmul": lambda x, n: torch.addcmul(x, x, x, value=n),
    "addr": lambda x, n: torch.addr(x.repeat(3, 1), x, x, alpha=n),
    "scalar_tensor": lambda x, n: x + torch.scalar_tensor(n, dtype=x.dtype),
    "sum": lambda x, n: x + n,
    "comparison": lambda x, n: x > n,
}
#: Ops without a kernel for some integers, and a few that have one for all.
OPS = {
    "softmax": lambda x: x.softmax(0),
    "log_softmax": lambda x: x.log_softmax(0),
    "argmax": lambda x: x.argmax(),
    "argmin": lambda x: x.argmin(0),
    "cross_entropy": lambda x: F.cross_entropy(x[None], torch.tensor([0])),
    "leaky_relu": lambda x: F.leaky_relu(x),
    "gelu": F.gelu,
    "elu": F.elu,
    "celu": F.celu,
    "softplus": F.softplus,
    "lerp": lambda x: torch.lerp(x, x, 0.5),
    "layer_norm": lambda x: F.layer_norm(x, (3,)),
    "negative": lambda x: -x,
    "difference": lambda x: x - x,
    "cumsum": lambda x: x.cumsum(0),
    "prod": lambda x: x.prod(),
    "mean": lambda x: x.mean(),
    "amax": lambda x: x.amax(),
    "exp": lambda x: x.exp(),
    "abs": lambda x: x.abs(),
    "remainder": lambda x: x % 2,
    "floor": lambda x: x.floor(),
    "hardshrink": F.hardshrink,
    "glu": lambda x: F.glu(x[:2]),
    "max_pool": lambda x: F.max_pool1d(x[None], 2),
    "log_sigmoid": F.logsigmoid,
    "tanhshrink": F.tanhshrink,
    "interpolate": lambda x: F.interpolate(x[None, None], scale_factor=2),
    "reflect": lambda x: F.pad(x[None], (1, 1), mode="reflect"),
    "soft_margin_loss": lambda x: F.soft_margin_loss(x, x),
    "dropout": F.dropout,
}


def outcome(function, *given) -> Tensor | str:
    try:
        return function(*given)
    except (RuntimeError, NotImplementedError, TypeError) as error:
        return str(error)


def check(function, x):
    expected = outcome(function, x.clone())
    found = outcome(torch.compile(function, backend=fuse_mlir.backend), x.clone())
    if isinstance(expected, str):
        assert isinstance(found, str), f"eager says: {expected}"
    else:
        assert not isinstance(found, str), found
        torch.testing.assert_close(found, expected, equal_nan=True)


#: For each dtype the number of a quick run: one that it cannot hold, where there is one.
QUICK = {"uint8": 300, "half": -1e9, "int32": -1e9, "bool": 300}
PAIRS = [
    pytest.param(dtype, number, marks=() if QUICK.get(dtype) == number else pytest.mark.slow)
    for dtype in GIVEN
    for number in (300, -1e9, -1, 2**40, 0.5, float("inf"))
]


@pytest.mark.parametrize(("dtype", "number"), PAIRS)
@pytest.mark.parametrize("op", NUMBERS)
def test_numbers_that_a_dtype_cannot_hold(op, number, dtype):
    check(lambda x: NUMBERS[op](x, number), GIVEN[dtype])


def assigned(x, places, values):
    x[places] = values
    return x


#: Numbers of tensors that the program says, and unsigned integers, for which eager has few kernels.
KNOWN = {
    "masked_fill": (lambda x: x.masked_fill(MASK, torch.tensor(-1e9)), GIVEN["uint8"]),
    "in place": (lambda x: x.mul(2).masked_fill_(MASK, torch.tensor(float("inf"))), GIVEN["int32"]),
    "a tensor that it holds": (lambda x: x.masked_fill(MASK, torch.tensor(7)), GIVEN["uint8"]),
    "full of uint16": (lambda x: torch.full((2,), 1e9, dtype=torch.uint16), GIVEN["int32"]),
    "slices beside a mask": (lambda x: assigned(x[None] * 2, (slice(None), MASK), x[:2] + 1), GIVEN["int32"]),
    "pad of uint16": (lambda x: F.pad(x.to(torch.uint16), (1, 1), value=-1), GIVEN["int32"]),
}


@pytest.mark.parametrize("name", KNOWN)
def test_numbers_of_tensors_and_of_wide_unsigned_integers(name):
    check(*KNOWN[name])


def test_ops_of_integers():
    def refused(function):
        with pytest.raises(Exception, match="eager refuses"):
            torch.compile(function, backend=fuse_mlir.backend, options={"strict": True})(torch.ones(3))

    for function in (torch.bitwise_not, lambda x: x & 3, lambda x: x | x, lambda x: torch.gcd(x, x)):
        torch._dynamo.reset()
        refused(function)
    torch._dynamo.reset()
    with pytest.raises(RuntimeError, match="reduce"):
        torch.compile(lambda x: x.index_reduce(0, AT, x[:2], "sum"), backend=fuse_mlir.backend)(torch.ones(3))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "bool"])
@pytest.mark.parametrize("op", OPS)
def test_ops_without_a_kernel_for_a_dtype(op, dtype):
    check(OPS[op], GIVEN[dtype])


def test_calls_that_are_tried():
    """With few elements and nothing left behind: of many sizes, of no tensors, in branches, in training."""

    def large(x):
        mask = torch.full((1 << 15, 1 << 15), -1e9, dtype=x.dtype)
        return x + mask[:3, 0]

    def branch(x):
        return torch.cond(x.sum() > 0, lambda x: x.softmax(0), lambda x: x.clone(), (x,))

    with pytest.raises(Exception, match="eager refuses mask: value cannot be converted"):
        torch.compile(large, backend=fuse_mlir.backend, options={"strict": True})(GIVEN["half"])
    with pytest.raises(Exception, match=r"eager refuses .*softmax.* not implemented"):
        torch.compile(branch, backend=fuse_mlir.backend, options={"strict": True})(GIVEN["int32"])
    graph, on_cpu = captured_graph(lambda x: torch.rand_like(x) + torch.randperm(4), torch.ones(4).half())
    state = torch.get_rng_state()
    require_kernels(graph, on_cpu)
    assert torch.equal(torch.get_rng_state(), state)


def test_calls_that_are_not_tried():
    """A GPU has other kernels for narrow floats than a CPU; so may what autocast converts."""
    graph, _ = captured_graph(torch.special.bessel_j0, GIVEN["half"])
    with pytest.raises(CallRefused, match="bessel_j0"):
        require_kernels(graph, on_cpu=True)
    require_kernels(graph, on_cpu=False)

    def converted(x, w):
        with torch.autocast("cpu", torch.bfloat16):
            return x @ w

    x, w = torch.ones(3, 3), torch.ones(3, 3, dtype=torch.bfloat16)
    found = torch.compile(converted, backend=fuse_mlir.backend, options={"strict": True})(x, w)
    torch.testing.assert_close(found, converted(x, w))


def captured_graph(function, *given):
    """The graph that Dynamo captures, and True: it is on a CPU."""
    graphs = []

    def keep(gm, inputs):
        graphs.append(gm)
        return lambda *args: gm.graph.output_node().args[0]

    torch._dynamo.reset()
    torch.compile(lambda *args: function(*args) is None, backend=keep)(*given)
    return graphs[0], True


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize(
    "function",
    [
        lambda x, n: x % n,
        lambda x, n: torch.fmod(x, n),
        lambda x, n: torch.remainder(n, x),
        lambda x, n: x.abs() ** n,
        lambda x, n: abs(n) ** x.clamp(-3, 3),
    ],
    ids=["remainder", "fmod", "remainder of a number", "power", "power of a number"],
)
def test_numbers_are_rounded_to_16_bits_first(function, dtype):
    x = (torch.randn(512, generator=torch.Generator().manual_seed(0)) * 20).to(dtype)

    def by_each_number(x):
        return [function(x, number) for number in (0.3, 2.7, 1 / 3, -1.1)]

    compiled = torch.compile(by_each_number, backend=fuse_mlir.backend)
    torch.testing.assert_close(compiled(x), by_each_number(x), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_exponents_beyond_those_of_the_dtype(dtype):
    x = torch.tensor([1e30, 1e-30, 0.0, 1e30, 1.0, -3.5, float("inf"), float("nan"), 1e-38]).to(dtype)
    numbers = (-1000, -260, -160, -140, -149, -126, -1, 0, 5, 100, 127, 128, 130, 200, 250, 1000)
    exponents = torch.tensor(numbers)[:, None]
    found = torch.compile(torch.ldexp, backend=fuse_mlir.backend)(x, exponents)
    torch.testing.assert_close(found, torch.ldexp(x, exponents), equal_nan=True, rtol=0, atol=0)
