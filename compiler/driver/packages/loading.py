"""``fuse_mlir.load``: runs a package in a process that needs neither MLIR nor Triton.

Every part is compared with its digest before it is used, and plans are validated as those of the program
cache are.  A program on a CPU is run by the interpreter, which needs MLIR.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree

from ...base.collector import collector_paused
from ...base.errors import PackageCall, PackageDamaged, PackageError, PackageMismatch
from ...base.launch import Launch
from ...base.options import Options
from ...base.remarks import Remarks
from ...runtime.gpu.cuda_driver import CudaError
from ...runtime.kernels.cubin import CompiledCubin
from ...runtime.overlapping_arguments import overlaps
from ..portable.stored_graph import (
    InterpretedProgramData,
    from_bytes,
    interpreted_graph,
    launched_graph,
)
from ..program import Account
from .archive import Archive, weights_beside
from .contents import (
    CPU,
    Manifest,
    PackagedProgram,
    StoredWeight,
)
from .signature import Checked, Weight, call_text

#: Of a weight's first byte, as torch's writer of archives and its own allocator of memory have it.
_ALIGNMENT = 64


class PackagedModel:
    """A packaged program, loaded.  Call it as the exported program: the same arguments, the same results.

    weights: its parameters, buffers and constants by name, which the program reads, and writes where the
    exported one does.  remarks, launches: what was decided when it was compiled, and what a call runs.
    """

    def __init__(
        self,
        program: PackagedProgram,
        account: Account,
        weights: Mapping[str, torch.Tensor],
        device: torch.device,
        run: Callable[[list[Any]], list[Any]],
    ) -> None:
        signature = program.signature
        self.weights, self.device = weights, device
        self.remarks: Remarks = account.remarks
        self.launches: tuple[Launch, ...] = account.launches
        self._signature, self._run = signature, run
        self._in_spec = _pytree.treespec_loads(signature.in_spec)
        self._out_spec = _pytree.treespec_loads(signature.out_spec)
        self._checked = Checked(signature, weights, device)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raises ``PackageCall`` for arguments that the program was not made for."""
        flat, spec = _pytree.tree_flatten((args, kwargs))
        if spec != self._in_spec:
            raise PackageCall(name="list", expected=call_text(self._in_spec), found=call_text(spec))
        with torch.no_grad():
            inputs = self._checked.inputs(flat)
            if self._signature.written:
                self._check_overlaps(inputs)
            results = self._run(inputs)
        return _pytree.tree_unflatten(results, self._out_spec)

    def _check_overlaps(self, inputs: list[torch.Tensor]) -> None:
        every = range(len(inputs))
        for one, other in overlaps(inputs, every, self._signature.written):
            names = [f"{self._signature.inputs[number].name}" for number in (one, other)]
            reason = f"memory of its own, since the program writes to {names[0]} or {names[1]}"
            raise PackageCall(name=names[0], expected=reason, found=f"an overlap with {names[1]}")


@collector_paused()
def load(
    path: str | Path,
    name: str | None = None,
    *,
    device: str | torch.device | None = None,
    weights: Mapping[str, torch.Tensor] | None = None,
) -> PackagedModel:
    """A program of a package that ``fuse_mlir.package`` wrote.

    name: which, where there are several.  device: a GPU of a packaged architecture ("cuda:1"), by default the
    current one; "cpu" for a program of a CPU.  weights: tensors to use instead of those in the package, by
    name; they are on the device and look as the packaged ones.

    Raises ``PackageDamaged`` for a part that is not what was written, ``PackageMismatch`` for another
    architecture, version of torch or driver, ``PackageError`` for anything else that does not fit.
    """
    path = Path(path)
    archive = Archive(path)
    manifest = _data(Manifest, archive.manifest, archive, "manifest.json")
    if _minor(manifest.torch) != _minor(torch.__version__):
        raise PackageMismatch(
            path=path, made_for=f"torch {manifest.torch}", found=f"torch {torch.__version__}"
        )
    program = _named(manifest, name, path)
    place, target = _place(program, device, path)
    found = dict(weights or {}) if weights is not None else _weights(archive, manifest, program, place)
    _check_weights(program, found, place, path)
    options = Options(cache=False, deterministic=manifest.deterministic)
    account, run = _runs(archive, program, target, place, options)
    return PackagedModel(program, account, found, place, run)


def _data(kind: type[Any], data: bytes, archive: Archive, part: str) -> Any:
    try:
        return from_bytes(kind, data)
    except ValueError as error:
        raise PackageError(path=archive.path, reason=f"{part} cannot be read: {error}") from None


def _minor(version: str) -> list[str]:
    """2.13 of 2.13.0+cpu: plans name torch's ops, which may change with it."""
    return version.split(".")[:2]


def _named(manifest: Manifest, name: str | None, path: Path) -> PackagedProgram:
    names = ", ".join(manifest.programs)
    if name is None and len(manifest.programs) != 1:
        raise PackageError(path=path, reason=f"it holds several programs: name one of {names}")
    found = next(iter(manifest.programs.values())) if name is None else manifest.programs.get(name)
    if found is None:
        raise PackageError(path=path, reason=f"it holds no program {name!r}, but {names}")
    return found


def _place(
    program: PackagedProgram, device: str | torch.device | None, path: Path
) -> tuple[torch.device, str]:
    """The device that runs the program, and the target that it needs."""
    on_cpu = CPU in program.targets
    given = torch.device(device if device is not None else CPU if on_cpu else "cuda")
    made_for = f"the targets {', '.join(program.targets)}"
    if given.type == "cuda" and not torch.cuda.is_available():
        raise PackageMismatch(path=path, made_for=made_for, found="a machine without CUDA")
    if given.type == "cuda":
        given = torch.device("cuda", torch.cuda.current_device() if given.index is None else given.index)
        major, minor = torch.cuda.get_device_capability(given)
        target, found = f"sm_{major}{minor}", f"sm_{major}{minor} ({torch.cuda.get_device_name(given)})"
    else:
        target = found = given.type
    if target not in program.targets:
        raise PackageMismatch(path=path, made_for=made_for, found=found)
    return given, target


def _weights(
    archive: Archive, manifest: Manifest, program: PackagedProgram, device: torch.device
) -> dict[str, torch.Tensor]:
    """The weights of a program on its device.  Those that shared memory where they were packaged still do.
    On a CPU they lie in the pages of the file; what is written gets pages of its own.
    """
    for name, stored in program.weights.items():
        if not 0 <= stored.storage < len(manifest.storages):
            reason = f"it holds no weights: pass load(.., weights=..) with {name} and the others"
            raise PackageError(path=archive.path, reason=reason)
    source = Archive(weights_beside(archive.path)) if manifest.beside and program.weights else archive
    numbers = sorted({stored.storage for stored in program.weights.values()})
    parts = [manifest.storages[number] for number in numbers]
    mapped = source.mapped((part.name, part.digest) for part in parts)
    storages, taken = {}, set[str]()
    for number, part, data in zip(numbers, parts, mapped, strict=True):
        # Storages of equal bytes are one part, but the program may write to each of them.
        storages[number] = _storage(data, device, own=part.name in taken)
        taken.add(part.name)
    found = {}
    for name, stored in program.weights.items():
        try:
            found[name] = _tensor(storages[stored.storage], stored, device)
        except (RuntimeError, AttributeError) as error:
            raise PackageError(path=archive.path, reason=f"its weight {name}: {error}") from None
    return found


def _storage(data: memoryview, device: torch.device, *, own: bool) -> torch.UntypedStorage:
    """Bytes of an archive on a device; on a CPU these themselves, unless they are to have memory of their
    own.
    """
    host = torch.frombuffer(data, dtype=torch.uint8) if data else torch.empty(0, dtype=torch.uint8)
    if own or host.data_ptr() % _ALIGNMENT:
        host = host.clone()
    return host.to(device).untyped_storage()


def _tensor(storage: torch.UntypedStorage, stored: StoredWeight, device: torch.device) -> torch.Tensor:
    dtype = getattr(torch, stored.dtype.removeprefix("torch."))
    if not isinstance(dtype, torch.dtype):
        raise AttributeError(f"{stored.dtype} is no dtype")
    empty = torch.empty(0, dtype=dtype, device=device)
    return empty.set_(storage, stored.offset, stored.sizes, stored.strides)


def _check_weights(
    program: PackagedProgram, weights: Mapping[str, torch.Tensor], device: torch.device, path: Path
) -> None:
    for each in program.signature.inputs:
        if not isinstance(each, Weight):
            continue
        tensor = weights.get(each.name)
        look = each.look
        if tensor is None:
            raise PackageError(path=path, reason=f"the weight {each.name} is missing")
        is_so = (str(tensor.dtype), tuple(map(str, tensor.shape)), tuple(map(str, tensor.stride())))
        if is_so != (look.dtype, look.sizes, look.strides) or tensor.device != device:
            reason = (
                f"the weight {each.name} is {tensor.dtype} {list(tensor.shape)} with strides "
                f"{tensor.stride()} on {tensor.device}: expected {look.dtype} [{', '.join(look.sizes)}] with "
                f"strides ({', '.join(look.strides)}) on {device}"
            )
            raise PackageError(path=path, reason=reason)


def _runs(
    archive: Archive, program: PackagedProgram, target: str, device: torch.device, options: Options
) -> tuple[Account, Callable[[list[Any]], list[Any]]]:
    """What runs the program, and what is told of it."""
    made = program.targets[target]
    data = archive.part(made.program.name, made.program.digest)
    inputs = len(program.signature.inputs)
    if target == CPU:
        interpreted = _data(InterpretedProgramData, data, archive, made.program.name)
        return interpreted.account, interpreted_graph(interpreted, inputs)

    def cubin(name: str) -> CompiledCubin:
        part = made.kernels.get(name)
        if part is None:
            raise PackageDamaged(path=archive.path, part=f"the kernel {name}")
        return CompiledCubin.from_bytes(archive.part(part.name, part.digest))

    try:
        return launched_graph(data, cubin, device, options, inputs)
    except ValueError as error:
        raise PackageError(path=archive.path, reason=f"{made.program.name} cannot be read: {error}") from None
    except CudaError as error:
        raise PackageMismatch(
            path=archive.path, made_for=f"{target} and its CUDA driver", found=f"one that says: {error}"
        ) from None
