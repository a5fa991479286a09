"""Recurrences that a loop spells out: one kernel, whose state stays in registers, planned once."""

import pytest
import torch
from compiling import check
from torch import Tensor

from fuse_mlir.compiler.analysis.fusion import rules

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")


def weighted_keys(k: Tensor, v: Tensor, w: Tensor, u: Tensor) -> tuple[Tensor, Tensor]:
    """RWKV's recurrence with a running maximum: 16 operations for each of the steps, along the dim 1."""
    w = -torch.exp(w)
    above = below = torch.zeros_like(k[:, 0])
    most = torch.full_like(above, -1e38)
    out = []
    for key, value in zip(k.unbind(1), v.unbind(1), strict=True):
        top = torch.maximum(most, u + key)
        old, new = torch.exp(most - top), torch.exp(u + key - top)
        out.append((old * above + new * value) / (old * below + new))
        top = torch.maximum(most + w, key)
        old, new = torch.exp(most + w - top), torch.exp(key - top)
        above, below, most = old * above + new * value, old * below + new, top
    return torch.stack(out, 1), above


def arguments(steps: int) -> list[Tensor]:
    make = torch.Generator().manual_seed(0)
    shapes = ((2, steps, 24), (2, steps, 24), (24,), (24,))
    return [torch.randn(shape, generator=make) for shape in shapes]


def test_a_recurrence_is_one_kernel_and_is_planned_few_times(monkeypatch):
    judged, judge_form = [], rules.judge_form
    monkeypatch.setattr(
        rules, "judge_form", lambda form: judged.append(len(form.members)) or judge_form(form)
    )
    k, v, w, u = arguments(9)
    compiled = check(weighted_keys, k, v, w, u)
    assert [graph.launches_after for graph in compiled.graphs] == [1]
    assert sum(judged) < 4 * max(judged)  # each merge of a search would plan the group again
    k[0, 3, :4], v[0, 5, 4:8], k[1, 7, 8:12] = torch.nan, torch.inf, -torch.inf
    torch.testing.assert_close(compiled(k, v, w, u), weighted_keys(k, v, w, u), equal_nan=True)


def test_two_states_that_wait_for_each_other_now_and_then():
    def function(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        a, b = x, y
        for step in range(60):
            a, b = torch.sigmoid(a * 1.01 + x), torch.tanh(b * 0.9 + y)
            if step == 45:
                a, b = a + b.roll(1, 0), b + a.sum(1, keepdim=True)
            if step == 55:
                a = a + b.amax(0)
        return a, b

    make = torch.Generator().manual_seed(0)
    check(function, *(torch.randn(6, 16, generator=make) for _ in range(2)))
