"""Views and copies against eager: values, shapes and strides, for contiguous, transposed and offset inputs,
static and symbolic.
"""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from import_one import capture, imported, outputs

T = torch.Tensor
aten = torch.ops.aten

VIEWS: dict[str, Callable[[T], T | list[T] | tuple[T, ...]]] = {
    "merge": lambda x: aten.view.default(x.contiguous(), [24, 5]),
    "split": lambda x: aten.view.default(x.contiguous(), [2, 2, 2, 3, 5]),
    "regroup": lambda x: aten.view.default(x.contiguous(), [6, 20]),
    "flat": lambda x: aten.view.default(x.contiguous(), [-1]),
    "ones": lambda x: aten.view.default(x.contiguous(), [1, 4, 1, 30]),
    "reshape": lambda x: aten.reshape.default(x, [8, 15]),
    "reshape of a transpose": lambda x: aten.reshape.default(x.transpose(0, 2), [20, 6]),
    "permute": lambda x: aten.permute.default(x, [2, 0, 1]),
    "permute from the end": lambda x: aten.permute.default(x, [-1, 0, -2]),
    "transpose": lambda x: aten.transpose.int(x, 0, -1),
    "t": lambda x: aten.t.default(x[0]),
    "expand": lambda x: aten.expand.default(x[:, :1], [3, 4, 6, 5]),
    "expand from a number": lambda x: aten.expand.default(x[0, 0, 0], [2, 3]),
    "slice": lambda x: aten.slice.Tensor(x, 1, 1, 5, 2),
    "slice from the end": lambda x: aten.slice.Tensor(x, 2, -3, 9223372036854775807),
    "slice of nothing": lambda x: aten.slice.Tensor(x, 2, 4, 2),
    "slice of a slice": lambda x: aten.slice.Tensor(x[:, 1:5:2], 1, 1),
    "select": lambda x: aten.select.int(x, 1, 2),
    "select from the end": lambda x: aten.select.int(x, -1, -2),
    "squeeze": lambda x: aten.squeeze.default(x[:1, :, 2:3]),
    "squeeze dims": lambda x: aten.squeeze.dims(x[:1, :, 2:3], [0, 1]),
    "unsqueeze": lambda x: aten.unsqueeze.default(x, -1),
    "split by size": lambda x: aten.split.Tensor(x, 4, 1),
    "split by sizes": lambda x: aten.split_with_sizes.default(x, [1, 3, 2], 1),
    "unbind": lambda x: aten.unbind.int(x, 2),
    "diagonal": lambda x: aten.diagonal.default(x, 1, 1, 2),
    "diagonal below": lambda x: aten.diagonal.default(x, -2, 2, 0),
    "unfold": lambda x: aten.unfold.default(x, 1, 3, 2),
    "as_strided": lambda x: aten.as_strided.default(x.contiguous(), [3, 4], [7, 2], 5),
    "alias": lambda x: aten.alias.default(x),
    "bits": lambda x: aten.view.dtype(x, torch.int32),
}

SOURCES: dict[str, Callable[[], T]] = {
    "contiguous": lambda: torch.randn(4, 6, 5),
    "transposed": lambda: torch.randn(5, 4, 6).permute(1, 2, 0),
    "offset": lambda: torch.randn(9, 6, 5)[3:7],
    "strided": lambda: torch.randn(8, 6, 10)[::2, :, ::2],
}


def check(function: Callable[..., object], *inputs: T, symbolic: bool = False, strict: bool = True) -> None:
    """Same values, shape and strides as eager."""
    ours = outputs(imported(capture(function, *inputs, symbolic=symbolic), strict=strict), list(inputs))
    theirs = function(*inputs)
    theirs = list(theirs) if isinstance(theirs, (list, tuple)) else [theirs]
    for a, b in zip(ours if isinstance(ours, (list, tuple)) else [ours], theirs, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        assert torch.equal(a, b)
        assert b.numel() == 0 or [s for s, n in zip(a.stride(), a.shape, strict=True) if n != 1] == [
            s for s, n in zip(b.stride(), b.shape, strict=True) if n != 1
        ]


@pytest.mark.parametrize("symbolic", [False, True], ids=["static", "symbolic"])
@pytest.mark.parametrize("view", VIEWS)
def test_view_alone_and_in_a_kernel(view: str, symbolic: bool) -> None:
    """Of each source, in one graph."""
    torch.manual_seed(0)
    given = [make() for make in SOURCES.values()]

    def parts(x: T) -> list[T]:
        found = VIEWS[view](x)
        return list(found) if isinstance(found, (list, tuple)) else [found]

    def function(*given: T) -> list[T]:
        alone = [part for x in given for part in parts(x)]
        return alone if view == "bits" else alone + [p.clone() + 1 for x in given for p in parts(x * 2)]

    # an address in a storage, where only the tensor knows at which element it begins
    check(function, *given, symbolic=symbolic, strict=view != "as_strided")


@settings(max_examples=40)
@given(st.data())
def test_view_of_any_factorisation(data: st.DataObject) -> None:
    """Two random shapes of the same number of elements."""
    factors = data.draw(st.lists(st.sampled_from([1, 2, 3, 5]), min_size=1, max_size=5))

    def shape() -> list[int]:
        order = data.draw(st.permutations(factors))
        sizes = [1]
        for factor in order:
            if data.draw(st.booleans()):
                sizes.append(factor)
            else:
                sizes[-1] *= factor
        return sizes

    a, b = shape(), shape()
    x = torch.arange(torch.Size(a).numel()).reshape(a)
    check(lambda x: aten.view.default(x + 1, b), x)


@pytest.mark.parametrize(
    "memory_format", [torch.contiguous_format, torch.channels_last, torch.preserve_format]
)
def test_clone_keeps_or_makes_a_layout(memory_format: torch.memory_format) -> None:
    x = torch.randn(2, 3, 4, 5).transpose(1, 3)
    check(lambda x: aten.clone.default(x, memory_format=memory_format), x)


def test_overlapping_as_strided_of_a_strided_tensor_falls_back() -> None:
    x = torch.randn(6, 8)[:, ::2]
    check(lambda x: aten.as_strided.default(x, [3, 2], [8, 2], 2).clone(), x, strict=False)


@pytest.mark.parametrize("offset", [None, 0, 2, 6, 9])
def test_as_strided_scatter_into_a_part_of_a_storage(offset) -> None:
    """An offset counts from where the storage begins."""
    part, view = torch.randn(30)[3:9], torch.randn(2, 2)

    def scatter(x: T, v: T) -> T:
        return aten.as_strided_scatter.default(x, v, (2, 2), (4, 1), offset) * 2

    check(scatter, part, view, strict=offset is None)


def test_splits_of_a_symbolic_size_add_up() -> None:
    x = torch.randn(7, 3)
    check(lambda x: [p + 1 for p in aten.split_with_sizes.default(x, [2, x.shape[0] - 2])], x, symbolic=True)
