"""The range that Dynamo writes around a graph for profilers: left out, kept on request, and put back."""

import dis

import pytest
import torch
from torch._dynamo import config

import fuse_mlir

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
