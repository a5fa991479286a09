"""Experts that a program routes by index ops: what is compiled agrees with float64, and Dynamo, which decides
where a graph ends, makes as many graphs as for any other backend.
"""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

import fuse_mlir
from fuse_mlir.bench.cases_experts import in_slots

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")

EXPERTS, TOP, TOKENS, WIDTH, HIDDEN = 4, 2, 32, 24, 40


def route(x: Tensor, gate: Tensor) -> tuple[Tensor, Tensor]:
    share, experts = torch.topk(torch.softmax(x @ gate, -1), TOP, -1)
    return share / share.sum(-1, keepdim=True), experts


def loop(x: Tensor, gate: Tensor, w1: Tensor, w3: Tensor, w2: Tensor) -> Tensor:
    """One expert after the other takes its tokens, as transformers' Mixtral does."""
    share, experts = route(x, gate)
    made, mask = torch.zeros_like(x), F.one_hot(experts, EXPERTS).permute(2, 1, 0)
    for e in range(EXPERTS):
        place, token = torch.where(mask[e])
        rows = x[None, token].reshape(-1, WIDTH)
        h = (F.silu(rows @ w1[e]) * (rows @ w3[e])) @ w2[e]
        made.index_add_(0, token, h * share[token, place, None])
    return made


def dense(x: Tensor, gate: Tensor, w1: Tensor, w3: Tensor, w2: Tensor) -> Tensor:
    """Every expert multiplies all tokens."""
    share, experts = route(x, gate)
    weight = x.new_zeros(TOKENS, EXPERTS).scatter(1, experts, share)
    h = F.silu(torch.einsum("td,edh->teh", x, w1)) * torch.einsum("td,edh->teh", x, w3)
    return torch.einsum("teh,ehd,te->td", h, w2, weight)


def slots(x: Tensor, gate: Tensor, w1: Tensor, w3: Tensor, w2: Tensor) -> Tensor:
    """A fixed number of slots for each expert, as in Switch: enough, as tokens that share one race."""
    share, experts = route(x, gate)
    return in_slots(TOKENS, x, w1, w3, w2, experts, share)


def combined(x: Tensor, gate: Tensor, w1: Tensor, w3: Tensor, w2: Tensor) -> Tensor:
    """Slots as one-hot tensors, as in GShard."""
    share, experts = route(x, gate)
    count, each = TOKENS * TOP // EXPERTS, F.one_hot(experts, EXPERTS).to(x.dtype)
    place = (each.view(-1, EXPERTS).cumsum(0) - 1).view(TOKENS, TOP, EXPERTS) * each
    taken = (place < count).to(x.dtype) * each
    slot = F.one_hot(place.long().clamp(0, count - 1), count).to(x.dtype) * taken[..., None]
    combine = torch.einsum("tk,tkec->tec", share, slot)
    rows = torch.einsum("tec,td->ecd", (combine > 0).to(x.dtype), x)
    made = torch.bmm(F.silu(torch.bmm(rows, w1)) * torch.bmm(rows, w3), w2)
    return torch.einsum("tec,ecd->td", combine, made)


def by_rows(x: Tensor, gate: Tensor, w1: Tensor, w3: Tensor, w2: Tensor) -> Tensor:
    """Rows sorted by expert, each of which looks its own matrices up."""
    share, experts = route(x, gate)
    order = experts.reshape(-1).argsort(stable=True)
    rows, mine = x[order // TOP][:, None], experts.reshape(-1)[order]
    h = F.silu(torch.bmm(rows, w1[mine])) * torch.bmm(rows, w3[mine])
    made = torch.bmm(h, w2[mine])[:, 0] * share.reshape(-1)[order, None]
    return torch.zeros_like(x).index_add(0, order // TOP, made)


def given(seed: int) -> list[Tensor]:
    draw = torch.Generator().manual_seed(seed)
    shapes = (TOKENS, WIDTH), (WIDTH, EXPERTS), *[(EXPERTS, WIDTH, HIDDEN)] * 2, (EXPERTS, HIDDEN, WIDTH)
    return [torch.randn(shape, generator=draw) * shape[-2] ** -0.5 for shape in shapes]


@pytest.mark.parametrize("products", ["auto", "generated"])
@pytest.mark.parametrize("form", [loop, dense, slots, combined, by_rows], ids=lambda f: f.__name__)
def test_routes_by_index_ops(form: Callable[..., Tensor], products: str) -> None:
    args, plain, graphs = given(1), [0], []

    def counting(module: torch.fx.GraphModule, _: list[Tensor]) -> Callable[..., object]:
        plain[0] += 1
        return module.forward

    torch.compile(form, backend=counting, dynamic=False)(*args)
    torch._dynamo.reset()
    how = {"products": products, "interpret_level": "planned", "on_compiled": graphs.append}
    compiled = torch.compile(form, backend=fuse_mlir.backend, dynamic=False, options=how)
    for seed in (1, 2):
        args = given(seed)
        want = form(*(a.double() for a in args))
        torch.testing.assert_close(compiled(*args).double(), want, rtol=1e-4, atol=1e-5)
    assert len(graphs) == plain[0]
    assert not any(graph.fallbacks for graph in graphs)
