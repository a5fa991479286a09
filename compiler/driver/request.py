"""What the driver is asked to compile: one graph of AOTAutograd, the options, and where it will run."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from math import inf
from typing import Any

import torch

from ..base.dataclass import dataclass
from ..base.options import OptionError, Options
from ..base.remarks import Remarks
from ..base.timing import Timing
from ..cost.devices import hardware_named
from ..cost.hardware import Hardware
from ..fx.saved_strides import KeptStrides
from ..runtime.cuda_graphs.trees import static_placeholders
from ..runtime.deterministic import deterministic_algorithms
from ..runtime.gpu.device_model import check_device, hardware_name


@dataclass(frozen=True)
class Request:
    """One graph of AOTAutograd, and what is asked of the program that it becomes.

    gm: functional, with metadata in ``meta["val"]``; rewrites change it in place.  name: "inference",
    "forward" or "backward" ("graph" outside of AOTAutograd).  device: "cpu" or "cuda:0".  on_gpu: whether
    kernels are launched there; else the interpreter runs them.  static: numbers of the placeholders whose
    address never changes, for CUDA graphs.  kept: which results must have the strides of their metadata.
    timing and remarks: get what happens from now on; remarks has what was done to the graph before.
    """

    gm: torch.fx.GraphModule
    example_inputs: Sequence[Any]
    options: Options
    name: str
    device: str
    on_gpu: bool
    static: frozenset[int]
    kept: KeptStrides
    timing: Timing
    remarks: Remarks

    @staticmethod
    def of(
        gm: torch.fx.GraphModule,
        example_inputs: Sequence[Any],
        options: Options,
        name: str,
        kept: KeptStrides,
        timing: Timing,
        remarks: Remarks,
    ) -> "Request":
        """Finds out where the graph runs, and what of it is static."""
        device, on_gpu = where_it_runs(gm, options)
        static = static_placeholders(gm, name) if options.cudagraphs else frozenset[int]()
        return Request(gm, example_inputs, options, name, device, on_gpu, static, kept, timing, remarks)

    @property
    def seconds_left(self) -> float:
        """Of ``compile_budget``; infinity where there is no such limit."""
        budget = self.options.compile_budget
        return inf if budget is None else budget.left()

    @cached_property
    def hardware(self) -> Hardware:
        """The hardware model that the graph is compiled for.  Raises ``OptionError``."""
        return hardware_named(hardware_model_on(self.device, self.on_gpu, self.options))

    @property
    def placeholders(self) -> int:
        """How many arguments the graph has."""
        return len(self.gm.graph.find_nodes(op="placeholder"))


def algorithms_of(options: Options) -> AbstractContextManager[None]:
    """What rewrites and the importer find when they ask torch whether algorithms must be deterministic."""
    return deterministic_algorithms() if options.deterministic else nullcontext()


def where_it_runs(gm: torch.fx.GraphModule, options: Options) -> tuple[str, bool]:
    """The device of a graph, captured by Dynamo or made by AOTAutograd, and whether it is launched there.

    Raises ``UnsupportedDevice`` where it would be, and no kernel can be made for the device.
    """
    device = graph_device(gm)
    on_gpu = runs_on_gpu(device, options)
    if on_gpu:
        check_device(torch.device(device).index)
    return device, on_gpu


def hardware_model_on(device: str, on_gpu: bool, options: Options) -> str:
    """The name of the hardware model for a device.  On a GPU the limits of a model that the option names are
    still those of the device, or its kernels might not be launched.

    Raises ``OptionError`` where the option names none.
    """
    given = options.hardware
    index = torch.device(device).index if on_gpu else None
    if given == "auto":
        return hardware_name(index) if on_gpu else "generic"
    try:
        model = hardware_named(given).name
    except ValueError as error:
        raise OptionError(f"option 'hardware': {error}") from None
    return hardware_name(index, model) if on_gpu and ":" not in model else model


def runs_on_gpu(device: str, options: Options) -> bool:
    """Whether a graph on ``device`` is launched; else the interpreter runs it."""
    return device.startswith("cuda") and options.execute == "auto"


def graph_device(gm: torch.fx.GraphModule) -> str:
    """The device of the first CUDA tensor in a graph, "cuda:0" for example, else "cpu"."""
    for node in gm.graph.nodes:
        value = node.meta.get("val", node.meta.get("example_value"))
        for tensor in value if isinstance(value, list | tuple) else (value,):
            if isinstance(tensor, torch.Tensor) and tensor.device.type == "cuda":
                return f"cuda:{tensor.device.index or 0}"
    return "cpu"


__all__ = ["Request", "algorithms_of", "hardware_model_on", "where_it_runs"]
