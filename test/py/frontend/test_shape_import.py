"""Ops that put elements elsewhere: imported, verified, run by the interpreter, compared with eager."""

import pytest
import torch
from import_one import check_way
from lowering import check, check_training, kernels, lower, trace

from fuse_mlir.compiler.frontend.autograd.decompositions import decomposition_table
from fuse_mlir.compiler.frontend.ops.shape.shape import WIDEST_CAT

aten = torch.ops.aten
F = torch.nn.functional
TABLE = decomposition_table()
X = torch.arange(2 * 3 * 4, dtype=torch.float32).reshape(2, 3, 4)
STRIDED = X.permute(2, 0, 1).contiguous().permute(1, 2, 0)


@pytest.mark.parametrize("dynamic", (False, True))
def test_cat(dynamic):
    for dim, sizes in ((0, (2, 1, 3)), (1, (3, 3, 1)), (-1, (4, 2, 5))):
        parts = []
        for number, size in enumerate(sizes):
            shape = list(X.shape)
            shape[dim] = size
            parts.append(torch.arange(1.0, 1 + torch.Size(shape).numel()).reshape(shape) * 10**number)
        check(lambda *xs, d=dim: torch.cat(xs, d), *parts, dynamic=dynamic)
    check(lambda x: torch.cat([x, x]), X, dynamic=dynamic)
    check(lambda x, y: torch.cat([x, y.t()], 1), X[0], X[0, :, :3].contiguous(), dynamic=dynamic)
    check(lambda x: torch.cat([x], 1), X, dynamic=dynamic)


def test_cat_of_dtypes_and_empties():
    check(lambda x, y: torch.cat([x, y]), torch.tensor([1, 2]), torch.tensor([0.5]))
    check(lambda x, y: torch.cat([x, y]), torch.tensor([1.0, 2], dtype=torch.bfloat16), torch.tensor([0.1]))
    check(lambda x, y: torch.cat([x, y]), torch.tensor([True]), torch.tensor([3], dtype=torch.int8))
    check(lambda x, e: torch.cat([e, x, e], 1), X[0], torch.empty(0))
    check(lambda x, e: torch.cat([x, e, x], 1), X[0], torch.empty(3, 0))
    check(lambda x, e: torch.cat([x, e], 1), torch.empty(3, 0), torch.empty(3, 0))
    check(lambda x: torch.cat([x, x]), torch.empty(0))


def test_cat_is_one_kernel_until_it_is_wide():
    """Each input loaded once, under its guard; then a kernel for every so many inputs."""
    parts = [torch.full((1, 2), float(i)) for i in range(2 * WIDEST_CAT + 3)]
    imported = lower(trace(lambda *xs: torch.cat(xs), parts[:3]))
    assert len(kernels(imported)) == 1 and str(imported.module).count('"fuse.load"') == 3
    imported = lower(trace(lambda *xs: torch.cat(xs), parts))
    assert len(kernels(imported)) == 3 and str(imported.module).count('"fuse.empty"') == 1
    check(lambda *xs: torch.cat(xs), *parts)
    check(lambda *xs: torch.cat(xs, 1), *parts, dynamic=True)


PADS = ((1, 2), (0, 1, 2, 0), (-1, 1), (2, -3, 0, -1), (1, 0, 0, 2, 3, 1), (0, 0), (-1, -1, 1, 1))


@pytest.mark.parametrize("dynamic", (False, True))
@pytest.mark.parametrize("pad", PADS)
def test_constant_pad(pad, dynamic):
    check(lambda x: F.pad(x, pad, value=7.5), X, dynamic=dynamic)
    check(lambda x: F.pad(x, pad), STRIDED, dynamic=dynamic)


def test_constant_pad_values():
    """The value takes the tensor's dtype; a tensor without elements is all padding."""
    check(lambda x: F.pad(x, (1, 1), value=2.7), torch.tensor([1, 2]))
    check(lambda x: F.pad(x, (1, 1), value=True), torch.tensor([False, True]))
    check(lambda x: F.pad(x, (1, 1), value=float("-inf")), torch.tensor([1.0], dtype=torch.float16))
    check(lambda x: F.pad(x, (1, 2), value=3.0), torch.empty(2, 0))
    check(lambda x: F.pad(x, (0, 1), value=3.0), torch.ones(1, 1))


def test_padding_guards_only_where_it_pads():
    """Nothing is compared where nothing is added."""
    imported = lower(trace(lambda x: F.pad(x, (0, 1)), [X]))
    assert str(imported.module).count("arith.cmpi") == 1
    imported = lower(trace(lambda x: F.pad(x, (-1, -1)), [X]))
    assert "arith.cmpi" not in str(imported.module)


MOVES = {
    "flip": lambda x: x.flip(0),
    "flip several": lambda x: x.flip(-1, 1),
    "flip none": lambda x: x.flip([]),
    "roll": lambda x: x.roll(1, 1),
    "roll back": lambda x: x.roll(-1, -1),
    "roll twice round": lambda x: x.roll(7, 1),
    "roll several": lambda x: x.roll((1, 2), (0, 2)),
    "roll one dim twice": lambda x: x.roll((1, 2), (2, 2)),
    "roll flat": lambda x: x.roll(5),
    "repeat": lambda x: x.repeat(1, 2, 3),
    "repeat with more dims": lambda x: x.repeat(2, 1, 1, 2),
    "repeat never": lambda x: x.repeat(1, 0, 1),
    "tril": lambda x: x.tril(),
    "triu": lambda x: x.triu(1),
}


@pytest.mark.parametrize("dynamic", (False, True))
@pytest.mark.parametrize("name", MOVES)
def test_moves(name, dynamic):
    check(MOVES[name], X, dynamic=dynamic)
    check(MOVES[name], STRIDED, dynamic=dynamic)
    check(MOVES[name], X[:, :1], dynamic=dynamic)


def test_moves_of_little():
    check(lambda x: x.flip([]), torch.tensor(2.0))
    check(lambda x: x.roll(3), torch.tensor(2.0))
    check(lambda x: x.repeat(3), torch.tensor(2.0))
    check(lambda x: x.repeat(2, 2), torch.empty(3, 0))
    check(lambda x: x.roll(3, 0), torch.empty(0))


DECOMPOSED = {
    "stack": lambda x: torch.stack([x, x * 2], 1),
    "rot90": lambda x: torch.rot90(x, 1, (1, 2)),
    "split": lambda x: [p + 1 for p in x.split((1, 3), 2)],
    "split_with_sizes_copy": lambda x: aten.split_with_sizes_copy.default(x, [1, 3], 2),
    "pixel_shuffle": lambda x: F.pixel_shuffle(x.reshape(1, 4, 3, 2), 2),
    "pixel_unshuffle": lambda x: F.pixel_unshuffle(x.reshape(1, 1, 4, 6), 2),
    "reflection_pad": lambda x: F.pad(x, (2, 1), mode="reflect"),
    "replication_pad": lambda x: F.pad(x, (2, 1), mode="replicate"),
    "circular pad": lambda x: F.pad(x, (2, 1), mode="circular"),
    "repeat_interleave": lambda x: x.repeat_interleave(3, 1),
    "tile": lambda x: x.tile((2, 1, 2)),
    "channel_shuffle": lambda x: F.channel_shuffle(x.reshape(1, 4, 3, 2), 2),
    "unfold": lambda x: x.unfold(2, 2, 1) * 1,
    "meshgrid": lambda x: torch.meshgrid(x[0, 0], x[0, :, 0], indexing="ij")[0] * 2,
    "hstack": lambda x: torch.hstack([x, x]),
    "block_diag": lambda x: torch.block_diag(x[0], x[1]),
}


@pytest.mark.parametrize("name", DECOMPOSED)
def test_decomposed(name):
    """Forward and gradient; that of replication_pad has no decomposition in torch."""
    check_training(DECOMPOSED[name], X, table=TABLE, gradients=name != "replication_pad")


@pytest.mark.parametrize(("start", "step", "wide"), [(0.0, 1, False), (3.0, 2.0, False), (0, 0.5, True)])
def test_places_that_are_whole_numbers_are_counted_in_integers(start, step, wide):
    """Converted once to float32, and not by way of float64."""
    graph = trace(lambda x: x + torch.arange(start, start + 24 * step, step), [torch.zeros(24)])
    assert ("f64" in str(lower(graph).module)) == wide


def test_gradients():
    check_training(lambda x: torch.cat([x, x * 2], 1), X, table=TABLE, dynamic=True)
    check_training(lambda x: F.pad(x, (1, 2)), X, table=TABLE, dynamic=True)
    check_training(lambda x: x.flip(0).roll(1, 1).repeat(2, 1, 1), X, table=TABLE, dynamic=True)


#: Ops of this kind: lowered, decomposed, or why not.
CORE = {
    "aten.cat.default": "lowered",
    "aten.constant_pad_nd.default": "lowered",
    "aten.flip.default": "lowered",
    "aten.roll.default": "lowered",
    "aten.repeat.default": "lowered",
    "aten.tril.default": "lowered",
    "aten.triu.default": "lowered",
    "aten.stack.default": "decomposed",
    "aten.reflection_pad1d.default": "decomposed",
    "aten.reflection_pad2d.default": "decomposed",
    "aten.reflection_pad3d.default": "decomposed",
    "aten.replication_pad2d.default": "decomposed",
    "aten.replication_pad3d.default": "decomposed",
    "aten.pixel_shuffle.default": "decomposed",
    "aten.split_with_sizes_copy.default": "decomposed",
    "aten.repeat_interleave.Tensor": "the size of the result is data",
    "aten.masked_select.default": "the size of the result is data",
}


@pytest.mark.parametrize("overload", CORE)
def test_every_op_is_accounted_for(overload):
    check_way(overload, CORE[overload])
