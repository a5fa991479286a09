"""The properties of the PTX that make the main graphs fast, pinned without a GPU: each is lowered for an H200
and compiled for sm_90.

For the kernel that moves a graph's bytes: accesses of 16 bytes where rows allow them, as few as the tile
needs, nothing in local memory, and no division with a branch for each element where 16 bits are
written.  A number here may change: for a reason, which docs/performance/history.md gives.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from cubins import usage
from torch import Tensor
from torch._dynamo.backends.common import aot_autograd
from versions import TRITON

from fuse_mlir.bench.cases import GRAPHS
from fuse_mlir.bench.cases_further import FURTHER
from fuse_mlir.bench.graph import Source
from fuse_mlir.compiler.codegen.launches import kernel_sources
from fuse_mlir.compiler.frontend.autograd.decompositions import decomposition_table
from fuse_mlir.compiler.frontend.importer.importer import import_graph
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.rewrites.graph.gathers import sink_gathers
from fuse_mlir.compiler.rewrites.graph.repeats import repeat_elements
from fuse_mlir.passes.manager import PassManager
from fuse_mlir.passes.pipeline import Settings, default_pipeline

pytest.importorskip("triton")

from fuse_mlir.compiler.runtime.kernels.cubin import CompiledCubin, Target
from fuse_mlir.compiler.runtime.kernels.triton_compile import compile_ttir

_ACCESS = re.compile(r"(ld|st)\.global(?:\.\w+(?:::\w+)*)*?\.((?:v[248]\.)?b\d+)")


class Untouched(Source):
    """Arguments of the benchmark's sizes that nobody writes, so that they take no memory."""

    def __init__(self, dtype: torch.dtype) -> None:
        self.device, self.dtype = torch.device("cpu"), dtype

    def normal(self, *shape: int, dtype: torch.dtype | None = None) -> Tensor:
        return torch.empty(shape, dtype=dtype or self.dtype)

    def uniform(self, low: float, high: float, *shape: int) -> Tensor:
        return torch.empty(shape, dtype=self.dtype)

    def integers(self, high: int, *shape: int) -> Tensor:
        return torch.zeros(shape, dtype=torch.int64)


class _Captured(Exception):
    """Ends a call once the graph is known: nothing runs."""


def captured(function: Callable[..., Any], args: tuple[Any, ...]) -> torch.fx.GraphModule:
    """The graph that AOTAutograd hands to the compiler."""
    graphs: list[torch.fx.GraphModule] = []

    def keep(graph: torch.fx.GraphModule, inputs: Any) -> Callable[..., Any]:
        graphs.append(graph)

        def stop(*_: Any) -> Any:
            raise _Captured

        return stop

    backend = aot_autograd(fw_compiler=keep, decompositions=decomposition_table())
    torch._dynamo.reset()
    with torch.no_grad(), pytest.raises(_Captured):
        torch.compile(function, backend=backend, dynamic=False, fullgraph=True)(*args)
    return graphs[0]


@cache
def compiled(name: str, dtype: torch.dtype) -> list[CompiledCubin]:
    """All kernels of a benchmark graph, in order."""
    graph = {**GRAPHS, **FURTHER}[name]
    built = graph.build(Untouched(dtype), *graph.sizes)
    return kernels_of(built.fn, built.args)


def kernels_of(function: Callable[..., Any], args: tuple[Any, ...]) -> list[CompiledCubin]:
    """All kernels of a function, in order."""
    captured_graph = captured(function, args)
    repeat_elements(captured_graph)
    sink_gathers(captured_graph)
    imported = import_graph(captured_graph, (), context=make_context(), device="cpu", strict=True)
    PassManager(default_pipeline("planned", Settings("h200"))).run(imported.module, imported.remarks)
    return [
        compile_ttir(k.text, target=Target(90), num_warps=k.num_warps, num_stages=max(1, k.num_stages))
        for k in kernel_sources(imported.module).values()
    ]


@dataclass(frozen=True)
class Main:
    """What is pinned of a graph's first kernel.

    loads, stores: accesses in the PTX by width.  kernels: how many the graph has.  divisions: IEEE divisions,
    each of which has a branch: of numbers that belong to a row.  None where they are not pinned.
    """

    name: str
    loads: dict[str, int]
    stores: dict[str, int]
    kernels: int = 1
    dtype: torch.dtype = torch.bfloat16
    divisions: int | None = 0


WIDE = "v4.b32"
MAIN = (
    Main("gelu_gate_8192x4096", {WIDE: 6}, {WIDE: 2}),
    Main("gelu_gate_8192x4097", {WIDE: 4, "b16": 32}, {WIDE: 2}),
    Main("scale_add_8192x4096", {WIDE: 4}, {WIDE: 2}),
    Main("scale_add_8192x4096", {WIDE: 4}, {WIDE: 2}, dtype=torch.float32),
    Main("swiglu_8192x4096", {WIDE: 4}, {WIDE: 2}),
    Main("softmax_8192x4096", {WIDE: 4}, {WIDE: 4}),
    Main("softmax_8192x4096", {WIDE: 4}, {WIDE: 4}, dtype=torch.float32, divisions=1),
    Main("softmax_8192x4097", {WIDE: 4, "b16": 1}, {WIDE: 4, "b16": 1}),
    Main("softmax_65536x1024", {WIDE: 2}, {WIDE: 2}),
    Main("softmax_512x131072", {WIDE: 8}, {WIDE: 4}),
    Main("layer_norm_8192x4096", {WIDE: 12}, {WIDE: 4}),
    Main("layer_norm_8192x4097", {WIDE: 20, "b16": 3}, {WIDE: 4, "b16": 1}),
    Main("rms_norm_residual_8192x4096", {WIDE: 12}, {WIDE: 8}),
    Main("layer_norm_backward_16384x4096", {WIDE: 2, "b16": 2}, {WIDE: 10}, kernels=2),
    Main("cross_entropy_4096x50304", {"b64": 1, "b16": 1, WIDE: 2}, {"b8": 1, "b32": 1}, kernels=2),
    Main("cross_entropy_4096x50257", {"b64": 1, "b16": 1, WIDE: 3}, {"b8": 1, "b32": 1}, kernels=2),
    Main("argmax_4096x50257", {WIDE: 6}, {"b64": 1}),
    Main("mean_square_2p27", {WIDE: 1}, {"b32": 1}, kernels=2),
    Main("group_norm_silu_32x512x64x64", {WIDE: 8, "b16": 64}, {WIDE: 4}),
    Main("embedding_layer_norm_16384x1024", {"b64": 1, WIDE: 6}, {WIDE: 2}),
    Main("transpose_add_8192x8192", {WIDE: 8}, {WIDE: 4}),
    Main("transpose_add_8192x8192", {WIDE: 8}, {WIDE: 4}, dtype=torch.float32),
    Main("rotary_8x32x2048x128", {WIDE: 8}, {WIDE: 2}),
    Main("qk_norm_rotary_8x32x2048x128", {WIDE: 24}, {WIDE: 4}),
    Main("qk_norm_rotary_8x32x2048x128", {WIDE: 24}, {WIDE: 4}, dtype=torch.float32),
    Main("gelu_gate_8192x4096", {WIDE: 8}, {WIDE: 2}, dtype=torch.float32),
    Main("channel_norm_channels_last_64x256x56x56", {WIDE: 12}, {WIDE: 4}),
    Main("dropout_residual_8192x4096", {WIDE: 4}, {WIDE: 2}),
    Main("masked_softmax_4x16x1024x1024", {WIDE: 2, "v2.b32": 2}, {WIDE: 2}),
    Main("masked_softmax_4x16x1024x1024", {WIDE: 4, "b32": 4}, {WIDE: 4}, dtype=torch.float32, divisions=1),
    Main("var_mean_16384x8192", {WIDE: 4}, {"b16": 2}),
    Main("batch_norm_nchw_64x256x56x56", {WIDE: 1}, {"b32": 2}, kernels=3),
    Main("scale_relu_add_nchw_64x256x56x56", {WIDE: 4, "b16": 32}, {WIDE: 2}),
    Main("channel_norm_nchw_64x256x56x56", {WIDE: 16, "v2.b32": 2}, {WIDE: 16}),
    Main("batch_norm_nchw_256x512x14x14", {"v2.b32": 12, "b16": 2}, {"v2.b32": 4}),
    Main("layer_norm_4096x12288", {WIDE: 24}, {WIDE: 8}),
    Main("layer_norm_backward_32768x768", {WIDE: 4, "b16": 2}, {WIDE: 20}, kernels=3),
    Main("group_norm_silu_8x320x64x64", {WIDE: 4, "b16": 32}, {WIDE: 2}),
    Main("heads_first_16x2048x16x64", {WIDE: 4}, {WIDE: 2}),
    Main("rms_norm_fp8_token_16384x4096", {WIDE: 8}, {"b32": 5}, dtype=torch.float32),
    Main("rms_norm_fp8_group_16384x4096", {WIDE: 8}, {"b32": 1, "v2.b32": 4}),
    Main("layer_norm_int8_token_16384x4096", {WIDE: 8}, {"b32": 1, "v2.b32": 4}),
    Main("max_pool_nchw_64x64x112x112", {"v2.b32": 3, "b16": 6}, {"b32": 1}),
    Main("max_pool_channels_last_64x64x112x112", {WIDE: 9}, {WIDE: 1}),
    Main("distillation_4096x32000", {WIDE: 4}, {"b32": 1}, kernels=2, divisions=1),
    Main("softmax_4096x32000", {WIDE: 4}, {WIDE: 2}),
    Main("gelu_backward_16384x3072", {WIDE: 2}, {WIDE: 1, "b32": 1}, kernels=2),
)


def accesses(ptx: str, which: str) -> dict[str, int]:
    """How many accesses of each width."""
    found: dict[str, int] = {}
    for kind, width in _ACCESS.findall(ptx):
        if kind == which:
            found[width] = found.get(width, 0) + 1
    return found


@pytest.mark.parametrize("main", MAIN, ids=lambda main: f"{main.name}-{str(main.dtype)[6:]}")
def test_accesses_of_the_main_kernel(main: Main) -> None:
    kernels = compiled(main.name, main.dtype)
    assert len(kernels) == main.kernels
    ptx = kernels[0].ptx
    assert (accesses(ptx, "ld"), accesses(ptx, "st")) == (main.loads, main.stores)
    assert ".local" not in ptx
    assert main.divisions is None or ptx.count("div.rn") == main.divisions


@pytest.mark.parametrize(("layout", "results"), [("nchw", 2), ("channels_last", 8)])
def test_a_pool_takes_maxima_and_rounds_once(layout: str, results: int) -> None:
    """The largest of nine ReLUs of bfloat16: only what is stored is rounded, and nothing is compared."""
    [kernel] = compiled(f"max_pool_{layout}_64x64x112x112", torch.bfloat16)
    assert kernel.ptx.count("cvt.rn.bf16") == kernel.ptx.count("cvt.rn.bf16x2") == results // 2
    assert ".f32" not in "".join(re.findall(r"setp\.\S+", kernel.ptx))
    assert 0 < kernel.ptx.count("max.NaN.f32") <= 17 * results


def test_a_fold_over_part_of_longer_rows_stays_in_the_thread() -> None:
    """Vectors are read up to the end of 50257 of 50304 columns and folded where they are read: the loop has
    no shuffle, though the copy that it stores has odd rows.
    """

    def loss(padded: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        logits = padded[:, :50257].clone()
        return logits, torch.nn.functional.cross_entropy(logits.float(), target)

    args = torch.empty(4096, 50304, dtype=torch.bfloat16), torch.zeros(4096, dtype=torch.int64)
    ptx = kernels_of(loss, args)[0].ptx
    [(loop, _)] = re.findall(
        r"^((\$L__BB0_\d+):(?:(?!^\$L__BB).)*?bra\S*\s+\2;)", ptx, re.DOTALL | re.MULTILINE
    )
    assert accesses(loop, "ld") == {WIDE: 1}
    assert accesses(ptx, "ld") == {WIDE: 1, "b64": 1, "b16": 1}  # a label and its logit, once for each row
    functions = 16 if TRITON < (3, 8) else 9  # of 8 elements, with one correction for each, or for all
    assert loop.count("ex2.approx") == functions and "shfl" not in loop


def test_lanes_of_odd_rows_are_neighbours() -> None:
    """Rows of 4098 are read two elements at a time; the weight, aligned, does not spread the lanes."""
    source = GRAPHS["layer_norm_8192x4097"].build(Untouched(torch.bfloat16), 8192, 4098)
    [kernel] = kernels_of(source.fn, source.args)
    assert accesses(kernel.ptx, "st") == {"b32": 16}
    assert kernel.shared <= 64, "elements are shuffled through shared memory before they are stored"


def test_parts_of_odd_rows_stay_where_they_are_read() -> None:
    """Vectors of a weight are shifted in registers, and both parts of a row computed with where they lie."""
    [kernel] = compiled("layer_norm_8192x4097", torch.bfloat16)
    assert kernel.shared <= 64, "elements are shuffled through shared memory"


@pytest.mark.parametrize("shape", ["32x512x64x64", "8x320x64x64", "16x1280x16x16"])
def test_what_is_rounded_and_used_is_rounded_in_pairs(shape: str) -> None:
    """The normalised value, of which SiLU is taken in float32: no conversion of one element."""
    [kernel] = compiled(f"group_norm_silu_{shape}", torch.bfloat16)
    assert "cvt.rn.bf16.f32" not in kernel.ptx and "cvt.rn.bf16x2.f32" in kernel.ptx


def test_what_is_read_is_widened_in_pairs() -> None:
    """A shift or a mask for each bfloat16, where a conversion takes two instructions for every other one."""
    [kernel] = compiled("swiglu_8192x4096", torch.bfloat16)
    assert "cvt.f32.bf16" not in kernel.ptx and "0xffff0000" in kernel.ptx.replace("-65536", "0xffff0000")


def test_quantising_takes_no_conversion_or_comparison_for_each_element() -> None:
    """int8: no rounding and conversion, each a quarter as fast as a sum; fp8: no flags packed into bits."""
    [to_int8] = compiled("layer_norm_int8_token_16384x4096", torch.bfloat16)
    assert "cvt.rni" not in to_int8.ptx and "cvt.rzi" not in to_int8.ptx
    [to_fp8] = compiled("rms_norm_fp8_token_16384x4096", torch.bfloat16)
    assert "selp.b16" not in to_fp8.ptx


def test_a_sum_of_a_few_rows_stays_in_the_thread() -> None:
    """Eight rows of 16 bytes, and their weights at once; no warp waits for another."""
    [kernel] = compiled("weighted_sum_8192x8x2048", torch.bfloat16)
    assert (accesses(kernel.ptx, "ld"), accesses(kernel.ptx, "st")) == ({WIDE: 9}, {WIDE: 1})
    assert kernel.shared == 0 and "shfl" not in kernel.ptx and "bar.sync" not in kernel.ptx


def test_a_warp_that_walks_waits_for_no_other() -> None:
    """A row of 768, its sums and the sums of its columns are in one warp; two rows are loaded meanwhile."""
    walk = compiled("layer_norm_backward_32768x768", torch.bfloat16)[0]
    assert walk.num_warps == 1 and "cp.async.wait_group" in walk.ptx and walk.shared <= 12 * 1024


def test_upsampling_computes_no_indices_in_floating_point() -> None:
    """Vectors are stored, of elements read twice side by side; nothing is converted, compared or asserted."""
    [kernel] = compiled("upsample_32x128x64x64", torch.bfloat16)
    assert (accesses(kernel.ptx, "ld"), accesses(kernel.ptx, "st")) == ({"b16": 16}, {WIDE: 2})
    assert kernel.shared == 0 and "cvt.rn" not in kernel.ptx and "trap" not in kernel.ptx


def test_gelu_and_its_slope_share_an_exponential() -> None:
    """exp(-x * x / 2), once for an element: in the short erf, and the density of the normal distribution."""
    args = (torch.empty(1024, 1024, dtype=torch.bfloat16), torch.empty(1024, 1024, dtype=torch.bfloat16))
    [kernel] = kernels_of(torch.ops.aten.gelu_backward.default, args)
    assert kernel.ptx.count("ex2.approx") == kernel.ptx.count("rcp.approx") > 0


def test_gradients_of_sampled_points_stay_in_registers(tmp_path: Path) -> None:
    """Sixteen pixels of a point, or eight of a volume, are taken one by one."""
    ops, grid = torch.ops.aten, torch.empty(16, 128, 128, 2)
    x = torch.empty(16, 64, 128, 128)
    flat = kernels_of(lambda *a: ops.grid_sampler_2d_backward(*a, 2, 2, False, [True, True]), (x, x, grid))
    x, grid = torch.empty(2, 16, 32, 32, 32), torch.empty(2, 32, 32, 32, 3)
    deep = kernels_of(lambda *a: ops.grid_sampler_3d_backward(*a, 0, 1, True, [True, True]), (x, x, grid))
    for kernels in (flat, deep):
        assert sum("red.global" in k.ptx or "atom.global" in k.ptx for k in kernels) == 1
        assert [usage(k, tmp_path).spilled for k in kernels] == [0] * len(kernels)
