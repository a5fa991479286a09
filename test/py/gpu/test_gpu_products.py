"""Products that programs go through block by block, and chains of products, on a CUDA device: the interpreter
does not show what tensor cores and descriptors do.
"""

from collections.abc import Callable

import pytest
import torch
from compiling import check
from torch import Tensor
from torch.nn import functional as F

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("fresh_dynamo")]


def drawn(*sizes: int) -> Tensor:
    draw = torch.Generator("cuda").manual_seed(0)
    return (torch.randn(*sizes, generator=draw, device="cuda") * sizes[-1] ** -0.25).to(torch.bfloat16)


def scaled(x: Tensor, w: Tensor, s: Tensor) -> Tensor:
    return F.linear(x, w) * s


def scaled_rows(x: Tensor, w: Tensor, s: Tensor) -> Tensor:
    return (x.t() @ w) * s


def softmax_chain(x: Tensor, w: Tensor, v: Tensor) -> Tensor:
    return torch.softmax(x @ w, -1) @ v


def layers(x: Tensor, *weights: Tensor) -> Tensor:
    for w in weights:
        x = torch.relu(x @ w)
    return x


#: Rows and columns are no multiples of blocks: descriptors leave out what lies outside.
BLOCKS = {
    "rows by columns": (scaled, ((5000, 520), (4088, 520), (5000, 1))),
    "columns by rows": (scaled_rows, ((520, 5000), (520, 4088), (5000, 1))),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_programs_go_through_blocks(name: str) -> None:
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("descriptors are generated for Hopper")
    function, sizes = BLOCKS[name]
    compiled = check(function, *(drawn(*s) for s in sizes), products="generated")
    assert "tt.descriptor_store" in str(compiled.graphs[0].module)


CHAINS: dict[str, tuple[Callable[..., Tensor], tuple[tuple[int, int], ...]]] = {
    "softmax between": (softmax_chain, ((8191, 64), (64, 64), (64, 64))),
    "four layers": (layers, ((8191, 64), (64, 64), (64, 128), (128, 64), (64, 64))),
}


@pytest.mark.parametrize("name", CHAINS)
def test_chains_stay_in_registers(name: str) -> None:
    function, sizes = CHAINS[name]
    compiled = check(function, *(drawn(*s) for s in sizes), products="generated")
    assert [(graph.launches_after, graph.externs) for graph in compiled.graphs] == [(1, 0)]
