"""Elementwise arithmetic: dtypes, broadcasting, layouts, sizes, constants."""

import torch
from torch.nn import functional as F

from .graph import bools, floats, graph, integers

half, brain, double = torch.float16, torch.bfloat16, torch.float64


@graph(floats(4, 5), floats(5))
@graph(floats(4, 5, dtype=brain), floats(4, 1, dtype=brain))
@graph(floats(4, 5), floats(4, 5, layout="transposed"))
@graph(floats(0, 5), floats(5))
@graph(floats(), floats())
@graph(floats(6, 7), floats(7), dynamic=True)
@graph(floats(4, 5), floats(5), gradient=True)
def scale_shift(x, w):
    return x * w + 1


@graph(floats(3, 8), floats(8), floats(8), floats(3, 8, seed=1))
@graph(floats(3, 8, dtype=brain), floats(8, dtype=brain), floats(8, dtype=brain), floats(3, 8, dtype=brain))
@graph(floats(3, 8), floats(8), floats(8), floats(3, 8, seed=1), gradient=True)
def gelu_gate(x, w, b, y):
    return F.gelu(x * w + b) * torch.sigmoid(y)


@graph(floats(4, 16))
@graph(floats(4, 16, dtype=half), gradient=True)
@graph(floats(5, 16), dynamic=True)
def swiglu(x):
    gate, value = x.chunk(2, -1)
    return F.silu(gate) * value


@graph(floats(4, 6))
@graph(floats(4, 6, layout="strided"))
@graph(floats(4, 6, layout="expanded"))
@graph(floats(4, 6, layout="overlapping"))
@graph(floats(2, 3, 4, 5, layout="channels_last"))
def several_results(x):
    y = x.sin()
    return y, y * y, y.to(torch.float64), (y > 0)


@graph(floats(7, 9, dtype=half), floats(7, 9, dtype=brain))
def promoted(x, y):
    return x + y, x * 2, y.float() + x.float()


@graph(integers(5, 5), integers(5, 5, seed=1))
@graph(integers(5, 5, dtype=torch.int32), integers(5, 5, dtype=torch.int32, seed=1))
@graph(integers(5, 5, dtype=torch.uint8), integers(5, 5, dtype=torch.uint8, seed=1))
def integer_arithmetic(x, y):
    divisor = y | 1
    return x + y, x // divisor, x % divisor, x & y, x ^ y, ~x, x << 1, x.minimum(y)


@graph(bools(6, 3), bools(6, 3, seed=1))
def logic(x, y):
    return x & y, x | ~y, torch.logical_xor(x, y), x.to(torch.int64) + y


@graph(floats(5, 6), bools(5, 6), floats(6))
@graph(floats(5, 6), bools(5, 6), floats(6), gradient=True)
def chosen(x, c, y):
    return torch.where(c, x, y).clamp(-1, 2)


@graph(floats(33))
@graph(floats(33, dtype=double))
def transcendental(x):
    y = x.abs() + 0.5
    return y.log(), y.rsqrt(), x.exp2(), torch.atan2(x, y), x.erf(), y.lgamma(), x.tanh(), y.pow(1.5)


@graph(floats(3, 5))
def constants(x):
    return x + torch.arange(5), x * torch.full((3, 1), 2.0), torch.ones(3), torch.eye(3)[:, :2]


@graph(floats(2, 3, 4), floats(4, 3, 2))
def transposed_add(x, y):
    return x + y.permute(2, 1, 0)


@graph(floats(16, 16), floats(16, 16, seed=1))
def a_chain_of_twenty(x, y):
    for n in range(20):
        x = (x * 0.5 + y).sin() if n % 2 else x - y * 0.25
    return x


@graph(*(floats(5, 3, seed=n) for n in range(8)))
def independent(*xs):
    return [x.cos() + n for n, x in enumerate(xs)]


@graph(floats(1, 1), floats(1))
@graph(floats(8, 1), floats(8))
def ones_are_broadcast(x, y):
    return x + y, x.expand(8, 3) * y[:1]


@graph(floats(4, 4))
def shared_by_many(x):
    y = x.exp()
    return y + 1, y * 2, y.sum(0), y.t().contiguous()


@graph(floats(12, dtype=brain), floats(12, dtype=brain, seed=1))
def rounded_between(x, y):
    return ((x * y).to(brain) + y).float() - (x + y).to(torch.float32)


@graph(floats(9), 3, 0.5)
def numbers(x, n, a):
    return x * a + n
