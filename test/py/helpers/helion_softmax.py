"""A softmax of Helion's: shared by tests, no test itself.  Needs helion."""

from collections.abc import Callable
from unittest import mock

import helion
import helion.language as hl
import torch
from helion import runtime
from helion._compat import supports_torch_compile_fusion

from fuse_mlir.integrations.helion import helion_op


@helion.kernel(config=helion.Config(block_sizes=[1]))
def softmax(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for row in hl.tile(x.size(0)):
        out[row, :] = torch.softmax(x[row, :], dim=1)
    return out


@helion.kernel(config=helion.Config(block_sizes=[1]))
def with_scratch(x: torch.Tensor) -> torch.Tensor:
    """It writes to a tensor that it does not return."""
    out, scratch = torch.empty_like(x), torch.empty_like(x)
    for row in hl.tile(x.size(0)):
        scratch[row, :] = x[row, :] * 2
        out[row, :] = x[row, :] + 1
    return out


@helion.kernel()
def without_configurations(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for row in hl.tile(x.size(0)):
        out[row, :] = torch.softmax(x[row, :], dim=1)
    return out


CONFIGS = [helion.Config(block_sizes=[rows], num_warps=warps) for rows, warps in ((1, 4), (2, 4), (4, 8))]
OPS = {
    "op": helion_op("template_tests::helion_softmax", softmax, torch.empty_like),
    "configurations": helion_op("template_tests::helion_softmax_tuned", softmax, torch.empty_like, CONFIGS),
    "default": helion_op("template_tests::helion_default", without_configurations, torch.empty_like),
}


SCRATCH = helion_op("template_tests::helion_scratch", with_scratch, torch.empty_like)


def way(name: str, x: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
    """The op of this name, or the kernel itself for ``direct``.  x: what it will be called with."""
    if name == "direct" and not supports_torch_compile_fusion():
        with mock.patch.object(runtime, "_triton_default_launcher"):
            softmax(x)  # Dynamo can trace the call of a kernel that was called; nothing is launched
    return OPS.get(name, softmax)
