"""Batches of products with rows that do not start at vectors: as on a GPU, compiled on a CPU and not run."""

import contextlib
from unittest import mock

import pytest
import torch
from compiling import Compiled
from torch import Tensor

from fuse_mlir.compiler.driver.program import CompiledGraph
from fuse_mlir.passes.products import choose_libraries, library_products, product_kernel

pytestmark = pytest.mark.usefixtures("fresh_dynamo")

AS_ON_A_GPU = {"hardware": "h200", "interpret_level": "planned", "cache": False}


class Stop(BaseException):
    """Ends a call once its graph is compiled, before it runs."""


def passed_on(decays: Tensor, states: Tensor) -> Tensor:
    """States of chunks, with one of zeros in front, weighed by the decays between chunks."""
    return decays @ torch.cat((torch.zeros_like(states[:, :1]), states), 1)


def compiled(chunks: int) -> CompiledGraph:
    graphs: list[CompiledGraph] = []

    def stop(graph: CompiledGraph) -> None:
        graphs.append(graph)
        raise Stop

    decays = torch.empty(96, chunks, chunks, dtype=torch.bfloat16)
    states = torch.empty(96, chunks - 1, 8192, dtype=torch.bfloat16)
    with contextlib.ExitStack() as patches:
        for asking in (choose_libraries, library_products, product_kernel):
            patches.enter_context(mock.patch.object(asking, "device_of", lambda module: "cuda:0"))
        with pytest.raises(Stop):
            Compiled(passed_on, {**AS_ON_A_GPU, "on_compiled": stop})(decays, states)
    return graphs[0]


@pytest.mark.products("auto")
def test_a_small_factor_of_odd_rows_is_read_by_a_kernel_with_what_is_in_front() -> None:
    """The call loads each element by itself, and what is concatenated would be copied first."""
    graph = compiled(33)
    assert (graph.launches_after, graph.externs) == (1, 0)
    [choice] = [c for launch in graph.launches for c in launch.choices]
    assert choice.rule == "kernel" and choice.kernel_us < choice.call_us / 2


@pytest.mark.products("auto")
def test_even_rows_are_the_library_s_where_pieces_are_concatenated() -> None:
    graph = compiled(32)
    assert graph.externs == 1
