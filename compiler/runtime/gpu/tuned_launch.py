"""A user's kernel with several configurations at run time: the first launch with new values of the
autotuner's key measures the configurations, on the arguments of that launch, and later ones run the fastest.

What is measured is what runs otherwise: the kernels after fusion.  Before each sample, and before the launch
itself, what the kernel writes gets its old contents back, so that a kernel which reads what it writes sees
what it would have seen without measuring.  A choice is stored by the kernels, the device and the key.
"""

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import field
from functools import partial
from typing import Any, Protocol

import torch

from ...base.dataclass import dataclass
from ..cache.cache_folder import CacheFolder
from ..plans.plan import Plan
from ..plans.steps import LaunchTuned
from .launcher import LaunchError
from .samples import Sample, fastest

log = logging.getLogger(__name__)

#: A form of a kernel, bound to its grid, its arguments and a stream.
Run = Callable[[], None]


class Chooser(Protocol):
    """What finds the fastest of several forms that write to the tensors ``written``: its number, or None
    where nothing could be measured.
    """

    def __call__(self, runs: Sequence[Run], written: Sequence[torch.Tensor]) -> int | None: ...


@dataclass
class TunedKernel:
    """Launches one of the forms of a kernel.

    launchers: by form; None for one that the device does not take.  identity: what a choice depends on beside
    the key, as text.
    """

    name: str
    launchers: Sequence[Callable[..., None] | None]
    identity: str
    folder: CacheFolder
    choose: Chooser
    chosen: dict[tuple[int, ...], int] = field(default_factory=dict)
    _lock: Any = field(default_factory=threading.Lock)

    def __call__(
        self, stream: int, key: tuple[int, ...], written: Sequence[torch.Tensor], *forms: tuple[Any, ...]
    ) -> None:
        """``forms``: for each, the grid and the arguments."""
        form = self.chosen.get(key)
        if form is None:
            form = self._form(stream, key, written, forms)
        self.launchers[form](stream, *forms[form])  # type: ignore[misc]

    @property
    def usable(self) -> list[int]:
        """The forms that the device takes."""
        return [number for number, launch in enumerate(self.launchers) if launch is not None]

    def _form(
        self,
        stream: int,
        key: tuple[int, ...],
        written: Sequence[torch.Tensor],
        forms: Sequence[tuple[Any, ...]],
    ) -> int:
        usable = self.usable
        if len(usable) == 1:
            return self.chosen.setdefault(key, usable[0])
        entry = hashlib.sha256("\0".join(("tuned", self.identity, str(key))).encode()).hexdigest()
        with self._lock:
            if key in self.chosen:
                return self.chosen[key]
            stored = self.folder.read(entry, partial(_stored, usable=usable))
            if stored is not None:
                return self.chosen.setdefault(key, stored)
            if torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():
                return usable[0]  # nothing can be measured now
            runs = [partial(r, stream, *forms[n]) for n, r in enumerate(self.launchers) if r is not None]
            found = self.choose(runs, written)
            if found is None:
                log.info("%s: nothing could be measured; the first configuration runs", self.name)
                return self.chosen.setdefault(key, usable[0])
            log.info("%s: configuration %d is the fastest for %s", self.name, usable[found], key)
            self.folder.write(entry, str(usable[found]).encode())
            return self.chosen.setdefault(key, usable[found])


def _stored(data: bytes, usable: Sequence[int]) -> int:
    """The number of a form.  Raises ValueError for one that cannot be launched."""
    number = int(data.decode())
    if number not in usable:
        raise ValueError(f"it names the configuration {number}, which the kernel has not")
    return number


@dataclass
class FormTimer:
    """Measures on the GPU.  samples: makes what gives the time of a launch, for each choice, so that its
    memory goes back.  seconds: how long a choice may take.

    Another thread measures, on this thread's stream.  While CUDA graphs warm up, what this thread allocates
    belongs to their memory, which must hold nothing but what the program allocates.
    """

    samples: Callable[[], Sample]
    seconds: float

    def __call__(self, runs: Sequence[Run], written: Sequence[torch.Tensor]) -> int | None:
        on_gpu = torch.cuda.is_initialized()
        stream = torch.cuda.stream(torch.cuda.current_stream()) if on_gpu else nullcontext()

        def measured() -> int | None:
            with stream:
                found = self._fastest(runs, written)
                if on_gpu:
                    torch.cuda.synchronize()  # before memory goes back that this stream still uses
                return found

        with ThreadPoolExecutor(1) as thread:
            return thread.submit(measured).result()

    def _fastest(self, runs: Sequence[Run], written: Sequence[torch.Tensor]) -> int | None:
        with torch.no_grad():
            samples, restore = self.samples(), _Restore(written)
            try:
                launched = [n for n, run in enumerate(runs) if _launches(run)]
                if not launched:
                    return None

                def sample(run: Run) -> float:
                    restore()
                    return samples(run)

                deadline = time.monotonic() + self.seconds
                found = fastest([runs[n] for n in launched], sample, deadline)
                return None if found is None else launched[found]
            finally:
                restore()


def _launches(run: Run) -> bool:
    """Whether the device takes the form."""
    try:
        run()
    except LaunchError as error:
        log.info("a configuration cannot be launched: %s", error)
        return False
    return True


class _Restore:
    """Gives storage its contents of now back, at each call."""

    def __init__(self, tensors: Sequence[torch.Tensor]) -> None:
        found = {t.untyped_storage().data_ptr(): t for t in tensors if t.numel()}
        self._whole = [_bytes(t) for t in found.values()]
        self._kept = [t.clone() for t in self._whole]

    def __call__(self) -> None:
        for tensor, kept in zip(self._whole, self._kept, strict=True):
            tensor.copy_(kept)


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    """The whole storage of a tensor, as bytes."""
    storage = tensor.untyped_storage()
    return torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(storage)


def tuned_kernels(
    plan: Plan,
    launchers: Mapping[str, Callable[..., None]],
    keys: Mapping[str, str],
    folder: CacheFolder,
    choose: Chooser,
) -> dict[str, TunedKernel]:
    """What launches the tuned kernels of a plan, by their names.

    launchers: by the name of the form, as far as the device takes it.  keys: what identifies each kernel in
    the kernel cache.  folder: where choices are stored.
    """
    steps = {step.name: step for step in plan.steps() if isinstance(step, LaunchTuned)}
    found = {}
    for name, step in steps.items():
        names = [each.kernel for each in step.launches]
        identity = " ".join([plan.device.partition(":")[0], _device_name(plan), *(keys[n] for n in names)])
        found[name] = TunedKernel(name, [launchers.get(n) for n in names], identity, folder, choose)
    return found


def _device_name(plan: Plan) -> str:
    return torch.cuda.get_device_name(plan.device_index) if plan.device.startswith("cuda") else ""
