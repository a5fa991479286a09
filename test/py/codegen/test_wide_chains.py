"""Chains of products of more than 128 columns in one kernel, which copies weights for each block of rows:
through tile code on the CPU, as near to float64 as eager is.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from import_one import outputs
from lowering import compare, lower, reference, trace
from torch import Tensor
from torch.nn import functional as F

from fuse_mlir.compiler.analysis.contraction import chains
from fuse_mlir.compiler.base.remarks import Remarks
from fuse_mlir.compiler.cost import devices
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.passes.manager import PassManager
from fuse_mlir.passes.pipeline import Settings, default_pipeline

pytestmark = pytest.mark.usefixtures("small_gpu")

#: More blocks of 128 rows than the GPU has multiprocessors, and no whole number of them.
ROWS = 401


@pytest.fixture
def small_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three multiprocessors, and a library that is slow."""
    h200 = devices.hardware_named("h200")
    slow = h200.rates.but({"chains.call_spills": 100.0})
    small = replace(h200, sm_count=3, l2_bytes=1, rates=slow)
    monkeypatch.setattr(devices, "_model", lambda name: small)
    monkeypatch.setattr(chains, "_FEWEST_ROWS", 64)


def layers(x: Tensor, *weights: Tensor) -> Tensor:
    for w in weights[:-1]:
        x = torch.relu(x @ w)
    return x @ weights[-1]


def biased(x: Tensor, *weights: Tensor) -> Tensor:
    for w, b in zip(weights[:-2:2], weights[1:-2:2], strict=True):
        x = F.gelu(F.linear(x, w, b), approximate="tanh")
    return F.linear(x, *weights[-2:])


def drawn(*sizes: tuple[int, ...]) -> list[Tensor]:
    draw = torch.Generator().manual_seed(0)
    return [(torch.randn(*s, generator=draw) * s[-1] ** -0.5).to(torch.bfloat16) for s in sizes]


CHAINS: dict[str, tuple[Callable[..., Tensor], tuple[tuple[int, ...], ...]]] = {
    "few columns at the end": (layers, ((ROWS, 64), (64, 256), (256, 256), (256, 4))),
    "no power of two": (layers, ((ROWS, 64), (64, 200), (200, 200), (200, 3))),
    "narrow layers, too": (layers, ((ROWS, 32), (32, 256), (256, 64), (64, 64), (64, 4))),
    "as many columns as before": (layers, ((ROWS, 256), *4 * ((256, 256),))),
    "biases": (biased, ((ROWS, 64), (256, 64), (256,), (256, 256), (256,), (4, 256), (4,))),
}


def checked(function: Callable[..., Tensor], sizes: tuple[tuple[int, ...], ...]) -> tuple[str, set[str]]:
    """The module for an H200 once its results were found right, and the rules of libraries and tiles."""
    inputs, remarks = drawn(*sizes), Remarks()
    imported = lower(trace(function, inputs))
    module = imported.module
    with module.context, ir.Location.unknown():
        module.operation.attributes["fuse.device"] = ir.StringAttr.get("cuda")
        PassManager(default_pipeline(settings=Settings("h200"))).run(module, remarks)
        module.operation.attributes["fuse.device"] = ir.StringAttr.get("cpu")
    compare(outputs(imported, inputs), function(*inputs), reference(function, inputs))
    rules = {r.rule for r in remarks.items if r.pass_name in ("choose-libraries", "choose-tiling")}
    return str(module), rules


@pytest.mark.parametrize("name", CHAINS)
def test_a_wide_chain_is_one_kernel_and_right(name: str) -> None:
    text, rules = checked(*CHAINS[name])
    assert rules == {"chain", "weights-in-turn"}
    assert text.count("tt.descriptor_load") >= 2 and text.count("fuse.launch") == 1
