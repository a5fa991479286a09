"""One compiled graph as bytes, and what runs them in another process.

Neither is told of archives: ``fuse_mlir.package`` keeps the bytes in one, torch's ``aot_compile`` in a file
of its own (``output_code.py``).
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ...base.dataclass import dataclass
from ...base.json_data import from_json, to_json
from ...base.options import Options
from ...runtime.gpu.load import PlanKernel, load_plan
from ...runtime.kernels.cubin import CompiledCubin
from ...runtime.plans.plan import moved
from ..calling_convention import boxed
from ..program import Account, CompiledGraph, Interface
from ..program_entry import StoredKernel, program_bytes, read_program

#: Raise it when the stored form changes.
SCHEMA = 1
#: What AOTAutograd calls: takes and empties the list of arguments, gives the list of results.
Call = Callable[[list[Any]], list[Any]]


@dataclass(frozen=True)
class InterpretedProgramData:
    """A program that the interpreter runs: its module as text."""

    interface: Interface
    account: Account
    module: str


def to_bytes(value: Any) -> bytes:
    """A dataclass as JSON.  Raises ValueError for what JSON cannot say."""
    return json.dumps({"schema": SCHEMA, "data": to_json(value)}, separators=(",", ":")).encode()


def from_bytes(kind: type[Any], data: bytes) -> Any:
    """What ``to_bytes`` wrote.  Raises ValueError for any other bytes."""
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it holds no JSON: {error}") from None
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise ValueError(f"it is not of schema {SCHEMA}")
    return from_json(kind, content.get("data"))


def graph_bytes(graph: CompiledGraph) -> bytes:
    """A graph without the code of its kernels.  Raises ValueError for what only this process has, such as an
    object of a custom op.
    """
    from ...runtime.module_text import module_text  # imports MLIR, which who loads a program may lack

    account = Account(graph.remarks, tuple(graph.fallbacks), graph.launches_before, graph.launches)
    module = module_text(graph.module)
    if graph.plan is None:
        return to_bytes(InterpretedProgramData(graph.interface, account, module))
    kernels = {} if graph.load_kernels is None else graph.load_kernels()
    stored = {name: StoredKernel(k.key, k.signature) for name, k in kernels.items()}
    data = program_bytes(graph.interface, account, graph.plan, stored, module)
    read_program(data)
    return data


def interpreted_graph(
    stored: InterpretedProgramData, placeholders: int, constants: Sequence[torch.Tensor] = ()
) -> Call:
    """What the interpreter runs of a graph with so many placeholders.  constants: tensors that it holds."""
    from ...runtime.interpreter.program import InterpretedProgram
    from ...runtime.module_text import read_module

    run = InterpretedProgram(read_module(stored.module), checked=False)
    return boxed(run, stored.interface, placeholders, constants)


def interpreted_data(data: bytes) -> InterpretedProgramData:
    """Raises ValueError for what ``graph_bytes`` does not write for a CPU."""
    read: InterpretedProgramData = from_bytes(InterpretedProgramData, data)
    return read


def launched_graph(
    data: bytes,
    cubin: Callable[[str], CompiledCubin],
    device: torch.device,
    options: Options,
    placeholders: int,
    *,
    kind: str = "inference",
    constants: Sequence[torch.Tensor] = (),
) -> tuple[Account, Call]:
    """What is launched of a graph on a CUDA device.  cubin: of a kernel, by its name.  Raises ValueError for
    what ``graph_bytes`` does not write for a GPU, and CudaError where the driver does not take a kernel.
    """
    stored, _ = read_program(data)
    kernels = {n: PlanKernel(k.key, k.signature, cubin(n)) for n, k in stored.kernels.items()}
    plan = moved(stored.plan, str(device))
    run = load_plan(plan, kernels, {}, options, kind, stored.account.launches)
    return stored.account, boxed(run, stored.interface, placeholders, constants)
