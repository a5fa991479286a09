"""Ranges for profilers: the one that Dynamo writes around a graph, left out, kept on request, and put back,
and those around our launches.
"""

import dis
import subprocess
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
from cubins import tool
from made_up_gpu import made_up_gpu
from torch._dynamo import config

import fuse_mlir
from fuse_mlir.compiler.runtime.profiler_ranges import close_range, open_range

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def names_of_generated_code(backend: object, options: dict[str, object] | None = None) -> set[str]:
    """The names in the code that Dynamo writes for a function."""

    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    found: list[set[str]] = []

    def collect(_: object, code: object) -> None:
        found.append({str(i.argval) for i in dis.get_instructions(code)})

    handle = torch._dynamo.convert_frame.register_bytecode_hook(collect)
    try:
        torch.compile(double, backend=backend, options=options)(torch.ones(4))
    finally:
        handle.remove()
    return set.union(*found)


def test_the_range_is_left_out_for_this_backend_alone() -> None:
    def plain(gm: torch.fx.GraphModule, inputs: object) -> object:
        return gm.forward

    assert config.record_runtime_overhead
    assert "record_pregraph_bytecode_enter" not in names_of_generated_code(fuse_mlir.backend)
    assert config.record_runtime_overhead
    torch._dynamo.reset()
    assert "record_pregraph_bytecode_enter" in names_of_generated_code(plain)
    torch._dynamo.reset()  # which forgets callbacks
    assert "record_pregraph_bytecode_enter" not in names_of_generated_code(fuse_mlir.backend)
    assert config.record_runtime_overhead


def test_the_range_is_kept_on_request() -> None:
    names = names_of_generated_code(fuse_mlir.backend, {"profiler_range": True})
    assert "record_pregraph_bytecode_enter" in names


def test_the_configuration_is_put_back_after_an_error() -> None:
    with pytest.raises(Exception, match="no_such_option"):
        torch.compile(lambda x: x + 1, backend=fuse_mlir.backend, options={"no_such_option": 1})(
            torch.ones(2)
        )
    with pytest.raises(Exception, match="strict"):
        names_of_generated_code(fuse_mlir.backend, {"pipeline": "strict"})
    assert config.record_runtime_overhead


def test_a_call_outside_of_a_compilation_changes_nothing() -> None:
    graph = torch.fx.symbolic_trace(lambda x: (x + 1,))
    fuse_mlir.backend(graph, [torch.ones(2)])
    assert config.record_runtime_overhead


def two_ops(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return (x @ w).exp().sum(1)


LINE = f"{__file__}:{two_ops.__code__.co_firstlineno + 1}"


def ranges(options: dict[str, object], function: Any = two_ops, *given: torch.Tensor) -> list[str]:
    """The names of ours that a profile of one call has, in order."""
    compiled = torch.compile(function, backend=fuse_mlir.backend, options=options)
    given = given or (torch.randn(4, 8), torch.randn(8, 8))
    compiled(*given)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        compiled(*given)
    found = [event for event in profile.events() if f" at {__file__}:" in event.name]
    return [event.name for event in sorted(found, key=lambda event: event.time_range.start)]


@pytest.mark.parametrize("gpu", [False, True])
def test_launches_are_ranges_with_their_names_and_lines(gpu: bool, tmp_path: Path) -> None:
    with made_up_gpu() if gpu else nullcontext():
        options = {"profiler_range": True, "cache_dir": tmp_path}
        product, kernel = ranges(options)
        torch._dynamo.reset()
        if gpu:
            assert ranges(options) == [product, kernel], "a program from the cache"
    assert product == f"aten.mm.default at {LINE}"
    assert kernel.startswith("fused_exp_sum") and kernel.endswith(f" at {LINE}")


def branches(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.cond(w.sum() > 0, lambda x: (x + 1).cos(), lambda x: x.sin(), (x,)) * 2


@pytest.mark.parametrize("gpu", [False, True])
def test_launches_of_a_sub_graph_are_ranges(gpu: bool) -> None:
    line = f"{__file__}:{branches.__code__.co_firstlineno + 1}"
    with made_up_gpu() if gpu else nullcontext():
        options = {"profiler_range": True, "cache": False}
        names = ranges(options, branches, torch.randn(8), torch.ones(8))
    inside = [name for name in names if "graph_0." in name]
    assert len(inside) == 1 and inside[0].endswith(f" at {line}"), names


def test_machine_code_has_the_lines_of_the_program(tmp_path: Path) -> None:
    """ncu shows a kernel beside its source by these."""
    disassembler, graphs = tool("nvdisasm"), []
    if disassembler is None:
        pytest.skip("nvdisasm is not installed")
    with made_up_gpu():
        options = {"on_compiled": graphs.append, "cache": False}
        torch.compile(two_ops, backend=fuse_mlir.backend, options=options)(torch.ones(4, 8), torch.ones(8, 8))
        [kernel] = graphs[0].load_kernels().values()
    (tmp_path / "k.cubin").write_bytes(kernel.cubin.cubin)
    command = [disassembler, "-g", "-c", str(tmp_path / "k.cubin")]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    file, _, line = LINE.rpartition(":")
    assert f'File "{file}", line {line}' in told


@pytest.mark.parametrize("gpu", [False, True])
def test_without_the_option_there_is_no_range(gpu: bool) -> None:
    with made_up_gpu() if gpu else nullcontext():
        assert ranges({"cache": False}) == []


def test_a_range_ends_where_its_launch_raises() -> None:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:

        def failing() -> None:
            opened = open_range("outer")
            assert opened
            raise RuntimeError

        with pytest.raises(RuntimeError):
            failing()
        close_range(open_range("later"))
    (outer,) = (event for event in profile.events() if event.name == "outer")
    (later,) = (event for event in profile.events() if event.name == "later")
    assert outer.time_range.end <= later.time_range.start
