"""A compiled graph that torch can pickle: what AOTAutograd wants of a graph where it keeps its own results,
for ``torch.compile(f).aot_compile(..)`` and under ``TORCH_CACHING_PRECOMPILE``.

Inductor's ``OutputCode`` is the interface.  What is pickled is data, as in a package: JSON, kernels, tensors
that the graph holds.  ``post_compile`` makes it run again in another process.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch._functorch.aot_autograd import SerializableAOTDispatchCompiler
from torch._inductor.output_code import OutputCode

from ...base.errors import PackageError, PackageMismatch
from ...base.options import Options
from ...fx.graph_text import held
from ...fx.torch_state import capability_of
from ...runtime.kernels.cubin import CompiledCubin
from ..program import WHOLE_GRAPH, CompiledGraph
from .stored_graph import graph_bytes, interpreted_data, interpreted_graph, launched_graph


class FuseOutputCode(OutputCode):
    """What AOTAutograd calls for one of its graphs, with the list of arguments."""

    def __init__(
        self, gm: torch.fx.GraphModule, graph: CompiledGraph, placeholders: int, options: Options
    ) -> None:
        self._graph, self._call, self._placeholders = graph, graph.call, placeholders
        self._options, self._boxed_call = options, True
        self._constants = tuple(held(gm, name) for name in graph.interface.constants)

    def __call__(self, inputs: list[Any]) -> list[Any]:
        return self._call(inputs)

    def _data(self) -> Mapping[str, Any]:
        """The graph as data.  Raises ``PackageError`` for a graph that is none."""
        if hasattr(self, "_stored"):
            return self._stored
        graph, name = self._graph, f"the {self._graph.name} graph"
        if whole := [f.reason for f in graph.fallbacks if f.target == WHOLE_GRAPH]:
            raise PackageError(path="aot_compile", reason=f"torch runs {name} as a whole: {whole[0]}")
        if graph.rebinds:
            raise PackageError(path="aot_compile", reason=f"{name} gives arguments other memory")
        if "object:" in str(graph.module):
            raise PackageError(path="aot_compile", reason=f"{name} calls what only this process has")
        try:
            data = graph_bytes(graph)
        except ValueError as error:
            raise PackageError(path="aot_compile", reason=f"{name} cannot be stored: {error}") from None
        kernels = {} if graph.load_kernels is None else graph.load_kernels()
        on_gpu = graph.plan is not None
        return {
            "kind": graph.name,
            "data": data,
            "cubins": {name: kernel.cubin.to_bytes() for name, kernel in kernels.items()},
            "capability": capability_of("cuda") if on_gpu else None,
            "device": f"cuda:{graph.plan.device_index}" if graph.plan is not None else "cpu",
            "placeholders": self._placeholders,
            "constants": self._constants,
            "deterministic": self._options.deterministic,
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return _stored_code, (self._data(),)

    def prepare_for_serialization(self) -> None:
        """Nothing is left to do: it is pickled as data."""

    def post_compile(self, example_inputs: Sequence[Any], constants: Any, graph_kwargs: Any) -> None:
        """Makes what was pickled run.  Raises ``PackageMismatch`` on a GPU of another architecture."""
        if not hasattr(self, "_stored"):
            return
        stored = self._stored
        if stored["capability"] is None:
            data = interpreted_data(stored["data"])
            self._call = interpreted_graph(data, stored["placeholders"], stored["constants"])
            return
        device, made_for = torch.device(stored["device"]), stored["capability"]
        if (here := capability_of(device)) != made_for:
            raise PackageMismatch(path="aot_compile", made_for=f"sm_{made_for}", found=f"sm_{here}")
        _, self._call = launched_graph(
            stored["data"],
            lambda name: CompiledCubin.from_bytes(stored["cubins"][name]),
            device,
            Options(deterministic=stored["deterministic"]),
            stored["placeholders"],
            kind=stored["kind"],
            constants=stored["constants"],
        )

    def set_triton_bundle(self, triton_bundle: Any) -> None:
        """Kernels are stored here, not in Inductor's bundle."""


def serializable(compile_: Callable[..., Any]) -> Callable[..., Any]:
    """Tells AOTAutograd that what ``compile_`` makes can be pickled.  Its own cache then looks for a graph
    first, and knows nothing of our options: who sets ``TORCH_CACHING_PRECOMPILE`` asks for that.
    """
    return SerializableAOTDispatchCompiler(FuseOutputCode, compile_)


def _stored_code(state: Mapping[str, Any]) -> FuseOutputCode:
    made = FuseOutputCode.__new__(FuseOutputCode)
    made._stored, made._boxed_call = state, True
    return made
