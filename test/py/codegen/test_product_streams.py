"""Products whose tiles descriptors copy, through tile code on the CPU: as near to float64 as eager is."""

from dataclasses import replace

import pytest
import torch
from compiling import check
from torch.nn import functional as F

from fuse_mlir.compiler.analysis.contraction import tiles
from fuse_mlir.compiler.cost import devices

M, N, K = 104, 136, 136
#: Functions of x, w and s, and the sizes of x and w.
ORDERS = {
    "rows by columns": (lambda x, w, s: F.linear(x, w) * s, (M, K), (N, K)),
    "columns by rows": (lambda x, w, s: (x.t() @ w) * s, (K, M), (K, N)),
}


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three multiprocessors that have descriptors, and blocks which the interpreter computes soon."""
    few = replace(devices.hardware_named("generic"), descriptors=True, sm_count=3)
    monkeypatch.setattr(devices, "_model", lambda name: few)
    monkeypatch.setattr(tiles, "_IN_TURN", (32, 64, 32, 4, 2, 2))
    monkeypatch.setattr(tiles, "microseconds_in_turn", lambda *given: 0.0)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("name", ORDERS)
def test_factors_in_any_order_of_memory(name: str) -> None:
    function, *sizes = ORDERS[name]
    draw = torch.Generator().manual_seed(0)
    x, w = ((torch.randn(*s, generator=draw) / 3).to(torch.bfloat16) for s in sizes)
    scales = torch.rand(M, 1, generator=draw).to(torch.bfloat16)
    made = check(function, x, w, scales, products="generated", interpret_level="tiled", cache=False)
    text = str(made.graphs[0].module)
    assert text.count("tt.descriptor_load") == 2 and text.count("tt.descriptor_store") == 1
    assert "programs = 3" in text
