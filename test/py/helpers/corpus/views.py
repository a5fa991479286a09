"""Views, copies, concatenation: where memory is read and written."""

import torch

from .graph import floats, graph, integers


@graph(floats(4, 6))
@graph(floats(4, 6), gradient=True)
def transposes(x):
    return x.t().contiguous(), x.t() + 1, x.t()


@graph(floats(2, 3, 4))
@graph(floats(2, 3, 4, layout="transposed"))
def reshapes(x):
    return x.reshape(6, 4) * 2, x.reshape(-1).sin(), x.permute(2, 0, 1).reshape(4, 6) + 1


@graph(floats(8, 6))
@graph(floats(9, 6), dynamic=True)
@graph(floats(8, 6), gradient=True)
def slices(x):
    return x[1:5] + x[2:6], x[::2].cos(), x[:, -3:] * 2


@graph(floats(3, 4), floats(2, 4, seed=1))
@graph(floats(3, 4), floats(2, 4, seed=1), gradient=True)
@graph(floats(3, 4, layout="transposed"), floats(0, 4))
@graph(floats(3, 4), floats(2, 4, seed=1), dynamic=True)
def concatenated(x, y):
    return torch.cat([x, y]), torch.cat([x.sin(), y * 2, x + 1])


@graph(floats(4, 3), floats(4, 5))
def concatenated_and_used(x, y):
    z = torch.cat([x.exp(), y.tanh()], 1)
    return z.sum(1), z * 2, z[:, 2:6]


@graph(floats(3, 4), floats(3, 4, seed=1))
def stacked(x, y):
    return torch.stack([x, y]), torch.stack([x + y, x - y], -1)


@graph(floats(6, 8))
@graph(floats(6, 8), gradient=True)
def split_in_parts(x):
    a, b, c = x.split([2, 3, 3], 1)
    return a.sum(1), b * 2, c + b


@graph(floats(3, 5))
def padded(x):
    return (
        torch.nn.functional.pad(x, (1, 2)),
        torch.nn.functional.pad(x * 2, (0, 0, 3, 0), value=7.0),
        torch.constant_pad_nd(x, (-1, 1)),
    )


@graph(floats(2, 3, 4, 4))
@graph(floats(2, 3, 4, 4, layout="channels_last"))
def memory_formats(x):
    return x.contiguous(memory_format=torch.channels_last) * 2, x.contiguous() + 1


@graph(floats(5, 7))
def rolled_and_flipped(x):
    return x.roll(2, 1) + x, x.flip(0) * x, x.rot90()


@graph(floats(4, 4))
def diagonals(x):
    return x.diagonal() * 2, x.tril(), x.triu(1), torch.diag_embed(x[0])


@graph(floats(3, 1), floats(1, 4))
def expanded(x, y):
    return x.expand(3, 4) + y.expand(3, 4), x.expand(3, 4).contiguous(), y.repeat(2, 2)


@graph(floats(20))
def unfolded(x):
    return x.unfold(0, 4, 2).sum(1), x.as_strided((4, 4), (3, 1), 2) * 2


@graph(floats(4, 6))
def aliases_of_the_input(x):
    return x.view(6, 4), x[1], x.t(), x + 1


@graph(integers(5, 6), floats(5, 6))
def reinterpreted(x, y):
    return y.view(torch.int32) + 1, x.to(torch.float32) + y


@graph(floats(2, 4, 6), floats(4, 3, seed=1))
def einsum(x, w):
    return torch.einsum("bij,ik->bkj", x, w), torch.einsum("bij->bj", x)


@graph(floats(2, 1, 8))
def interpolated(x):
    nearest = torch.nn.functional.interpolate(x, scale_factor=2.0, mode="nearest")
    return nearest, torch.nn.functional.avg_pool1d(x, 2)
