"""The kernels that FX nodes launch: a table of this process, from a kernel's name to its TTIR and to what
launches it.

torch's table of the same kind holds the ``JITFunction`` of a user's Triton kernel; ours have none.
"""

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol

import torch
from torch import Tensor

from ...base.dataclass import dataclass
from ..errors import RunError
from ..plans.bound_plan import aligned

#: Launches a kernel: takes three extents of the grid and the arguments, tensors on the kernel's device.
Launcher = Callable[[Sequence[int], Sequence[Any]], None]


class KernelText(Protocol):
    """A kernel as Triton gets it (``compiler/codegen/launches.py``)."""

    @property
    def name(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def num_warps(self) -> int: ...
    @property
    def num_stages(self) -> int: ...


@dataclass(frozen=True)
class FxKernel:
    """A kernel that FX nodes launch.

    name: in the node; kernels of one name have equal fields, in every process.  parameters: ``ptr``, or the
    type of a number, for each parameter in order.  written: positions of the parameters that it writes to.
    device: where it runs ("cpu": its tile code is interpreted).
    """

    name: str
    ttir: str = field(repr=False)
    parameters: tuple[str, ...]
    written: tuple[int, ...]
    num_warps: int
    num_stages: int
    device: str
    load: Callable[[], Launcher] = field(repr=False, compare=False)

    @property
    def pointers(self) -> tuple[int, ...]:
        """The positions of the parameters that are tensors."""
        return tuple(i for i, kind in enumerate(self.parameters) if kind == "ptr")

    def divided(self, arguments: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """Arguments in the order of the parameters as a node has them: tensors that are only read, tensors
        that are written to, numbers.
        """
        pointers = set(self.pointers)
        return (
            [a for i, a in enumerate(arguments) if i in pointers and i not in self.written],
            [a for i, a in enumerate(arguments) if i in pointers and i in self.written],
            [a for i, a in enumerate(arguments) if i not in pointers],
        )

    def launch(
        self, grid: Sequence[int], read: Sequence[Tensor], written: Sequence[Tensor], numbers: Sequence[Any]
    ) -> None:
        """Runs it.  Raises RunError where the arguments are not as many as the parameters."""
        pointers = self.pointers
        expected = (
            3,
            len(pointers) - len(self.written),
            len(self.written),
            len(self.parameters) - len(pointers),
        )
        found = (len(grid), len(read), len(written), len(numbers))
        if found != expected:
            what = "{} extents of the grid, {} tensors that it reads, {} that it writes and {} numbers"
            raise RunError(f"{self.name} takes {what.format(*expected)}, got {found}")
        near = _Near(torch.device(self.device))
        parts = iter(read), iter(written), iter(numbers)
        arguments = []
        for position, kind in enumerate(self.parameters):
            part = 2 if kind != "ptr" else int(position in self.written)
            value = next(parts[part])
            arguments.append(near.tensor(value, part == 1) if kind == "ptr" else value)
        self.load()(grid, arguments)
        near.copy_back()


def by_address(launcher: Callable[..., None], device: torch.device) -> Launcher:
    """What launches a kernel of a plan, by what the plan calls: ``launcher`` takes the stream, the grid, and
    the arguments, tensors as addresses.
    """

    def run(grid: Sequence[int], arguments: Sequence[Any]) -> None:
        given = [a.data_ptr() if isinstance(a, Tensor) else a for a in arguments]
        if device.type != "cuda":
            launcher(0, *grid, *given)
            return
        with torch.cuda.device(device):
            launcher(torch._C._cuda_getCurrentRawStream(device.index or 0), *grid, *given)

    return run


class _Near:
    """Tensors of one launch as its kernel needs them: on its device, at 16-byte boundaries.  In place of
    others it gets copies, and what it writes there is copied back.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.copies: dict[tuple[Any, ...], tuple[Tensor, Tensor]] = {}
        self.changed: set[tuple[Any, ...]] = set()

    def tensor(self, tensor: Tensor, written: bool) -> Tensor:
        pointer = tensor.data_ptr()
        if tensor.device.type == self.device.type and not pointer & 15:
            return tensor
        key = (pointer, tensor.dtype, tensor.shape, tensor.stride())
        if key not in self.copies:
            self.copies[key] = tensor, aligned(tensor, self.device)
        if written:
            self.changed.add(key)
        return self.copies[key][1]

    def copy_back(self) -> None:
        for key in self.changed:
            tensor, copy = self.copies[key]
            tensor.copy_(copy)


_kernels: dict[str, FxKernel] = {}
_lock = threading.Lock()


def kernel_named(name: str) -> FxKernel:
    """The kernel that a node's first argument names.  Raises RunError for one that is not in this process."""
    found = _kernels.get(name)
    if found is None:
        raise RunError(f"no kernel {name!r} was compiled in this process: compile the program again")
    return found


def add_kernel(
    source: KernelText,
    parameters: tuple[str, ...],
    written: tuple[int, ...],
    device: str,
    load: Callable[[], Launcher],
) -> FxKernel:
    """Enters a kernel into the table, which keeps the first of one name."""
    options = (parameters, written, source.num_warps, source.num_stages, device)
    digest = hashlib.sha256(repr((source.text, options)).encode()).hexdigest()
    kernel = FxKernel(f"{source.name.removesuffix('_tt')}_{digest[:12]}", source.text, *options, load)
    with _lock:
        return _kernels.setdefault(kernel.name, kernel)


def kernel_of(node: torch.fx.Node) -> FxKernel | None:
    """The kernel that a node launches; None for a node of another kind."""
    if node.op != "call_function" or node.target is not torch.ops.fuse_mlir.launch.default:
        return None
    return kernel_named(str(node.args[0]))


def once(load: Callable[[], Mapping[str, Launcher]]) -> Callable[[str], Launcher]:
    """What gives launchers by name; ``load`` is called when the first is asked for, and again where it
    raised.
    """
    loaded: dict[str, Launcher] = {}
    lock = threading.Lock()

    def launcher(name: str) -> Launcher:
        with lock:
            if not loaded:
                loaded.update(load())
        return loaded[name]

    return launcher
