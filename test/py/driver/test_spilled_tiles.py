"""A product whose tile spills is tiled again, once Triton has compiled it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest
import torch
from compiling import Compiled
from made_up_gpu import made_up_gpu

from fuse_mlir.compiler.driver.program import CompiledGraph
from fuse_mlir.compiler.driver.spilled_tiles import MOST_TILES, SpilledTiles
from fuse_mlir.compiler.runtime.cache.cache_folder import CacheFolder
from fuse_mlir.compiler.runtime.gpu import load
from fuse_mlir.compiler.runtime.kernels import cubin
from fuse_mlir.compiler.runtime.kernels.cubin import CompiledCubin, CompileRequest
from fuse_mlir.compiler.runtime.kernels.kernel_cache import KernelCache
from fuse_mlir.compiler.runtime.kernels.triton_compile import TritonCompileError, kernel_name

pytestmark = pytest.mark.usefixtures("fresh_dynamo")

Stack = Callable[[CompileRequest], int]
PAIR = ("k", "k")


@pytest.mark.parametrize(
    ("stacks", "names"),
    [
        ([0], ()),
        ([96, 0], ("k",)),
        ([96, 32, 0], PAIR),
        ([96, 32, 16, 8, 0], (*PAIR, "k")),  # no more tiles are tried
        ([32, 32, 0], ()),  # the array of a function: the first tile is as good
        ([96, 32, 32], ("k",)),
        ([96, 128, 128], ()),
        ([96, 128, 0], PAIR),  # a tile that spills more than the one before is not the last
    ],
)
def test_a_kernel_keeps_the_first_tile_that_takes_least_memory(
    stacks: list[int], names: tuple[str, ...]
) -> None:
    spilled, tried = SpilledTiles(100), 1
    while spilled.learn([("k", kernel(stacks[len(spilled.names)])), ("other", kernel(0))]):
        tried += 1
    assert spilled.names == names and tried <= MOST_TILES + 1


def kernel(stack: int, shared: int = 100) -> SimpleNamespace:
    return SimpleNamespace(stack=stack, shared=shared)


def test_shared_memory_beyond_what_there_is_is_too_much() -> None:
    spilled = SpilledTiles(100)
    combined = [("k", kernel(0, 101)), ("k", kernel(0, 64)), ("other", kernel(0, 100))]
    assert spilled.learn(combined) and spilled.names == ("k",)
    assert not spilled.learn([("k", kernel(0, 64)), ("other", kernel(0, 100))]) and spilled.names == ("k",)


@pytest.fixture
def compile_with(tmp_path: Path) -> Iterator[Callable[..., tuple[CompiledGraph, list[str]]]]:
    """Compiles a function as for a GPU, where ``stack`` says what spills; gives what Triton was asked for."""

    def run(
        function: Callable[..., object], stack: Stack, **options: object
    ) -> tuple[CompiledGraph, list[str]]:
        asked: list[str] = []

        def fake(request: CompileRequest) -> CompiledCubin:
            asked.append(request.text)
            return CompiledCubin(kernel_name(request.text), 90, b"x" * stack(request), "", (), 0, 4)

        cache = KernelCache(CacheFolder(tmp_path, ".kernel"), fake, "none")
        x, w = (torch.randn(512, 512, dtype=torch.bfloat16) for _ in range(2))
        with (
            made_up_gpu(),
            torch.no_grad(),
            mock.patch.object(load, "kernel_cache", lambda options: cache),
            mock.patch.object(cubin, "stack_bytes", len),
        ):
            compiled = Compiled(function, {"products": "generated", "program_cache": False, **options})
            compiled(x, w)
        return compiled.graphs[0], asked

    return run


def both(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return (x @ w).sigmoid(), x.float().softmax(-1)


def tiles(graph: CompiledGraph) -> list[str]:
    """The tiles of kernels with products."""
    found = (r for r in graph.remarks.items if r.pass_name == "choose-tiling")
    return [r.message.partition(": ")[2] for r in found if r.rule == "blocks-of-products"]


def wide(request: CompileRequest) -> int:
    """Bytes of local memory: tiles of 64 rows and 32 columns spill."""
    return 64 if "tensor<64x32xf32>" in request.text else 0


def test_the_next_tile_is_taken_where_one_spills(compile_with) -> None:
    graph, asked = compile_with(both, wide)
    assert tiles(graph) == ["d0 grid 32, d1 grid 32, d2 looped 128"]
    assert len(asked) == 3, "Triton compiles two tiles of the product, and the softmax once"
    assert sum(r.pass_name == "choose-libraries" for r in graph.remarks.items) == 1
    assert graph.launches_after == 2


def test_the_next_tile_is_taken_where_a_combined_launch_spills(compile_with) -> None:
    graph, asked = compile_with(lambda x, w: (x @ w, w @ x), wide)
    assert graph.launches_after == 1 and len(asked) == 2
    assert tiles(graph) == ["d0 grid 32, d1 grid 32, d2 looped 128"]


def test_a_pipeline_of_the_user_is_run_once(compile_with) -> None:
    text = "choose-libraries{products=generated},fold-views,expand-dots,choose-tiling{hardware=h200},"
    text += "apply-tiling,plan-memory,lower-to-tt"
    graph, asked = compile_with(lambda x, w: x @ w, wide, pipeline=text)
    assert tiles(graph) == ["d0 grid 64, d1 grid 32, d2 looped 128"] and len(asked) == 1


def test_what_triton_rejects_is_raised_by_the_first_call(compile_with) -> None:
    def rejects(request: CompileRequest) -> int:
        raise TritonCompileError("k", "ttgir", "rejected")

    with pytest.raises(TritonCompileError, match="rejected"):
        compile_with(both, rejects)
