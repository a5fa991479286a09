"""Compiles several forms of a part of a program, says what spills, and times them against each other on the
GPU, on memory of their own (``samples.py``).
"""

import logging
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Any

import torch

from ...base.dataclass import dataclass
from ...base.options import Options
from ..kernels.triton_compile import TritonCompileError
from ..torch_types import TORCH_DTYPES
from .load import PlanKernel, load_plan, start_kernels
from .program_form import ProgramForm, TensorArgument
from .samples import FLUSH_BYTES, ColdSamples, fastest

log = logging.getLogger(__name__)

#: Compiled kernels, by their names.
Kernels = Mapping[str, PlanKernel]


@dataclass(frozen=True)
class FormTimes:
    """``winner``: the number of the fastest form; 0, the first one, unless another is faster beyond what is
    noise.  ``microseconds``: the median of each.
    """

    winner: int
    microseconds: tuple[float, ...]


@dataclass
class ProgramTimer:
    """Measures on CUDA device number ``device``; see ``driver/searches/fusion_search.Stopwatch``."""

    device: int
    options: Options
    _samples: ColdSamples = field(init=False)

    def __post_init__(self) -> None:
        self._samples = ColdSamples(self.device)
        self.options = replace(  # what is measured runs as by default
            self.options, cudagraphs=False, check_values="any", check_memory=False, synchronous=False
        )

    def start(self, form: ProgramForm) -> Callable[[], Kernels | None]:
        """Starts compiling in other threads; what it returns waits, and gives None where Triton refuses."""
        wait = start_kernels(form.plan, form.sources, self.options)

        def compiled() -> Kernels | None:
            try:
                return wait()
            except TritonCompileError as error:
                log.info("autotune: a form does not compile: %s", error)
                return None

        return compiled

    def compare(self, forms: Sequence[tuple[ProgramForm, Kernels]], deadline: float) -> FormTimes | None:
        """Times the forms, which take the same arguments.  None where the time was too short (``deadline`` is
        on ``time.monotonic``), where memory is too small, or where the device refuses a form.
        """
        with torch.cuda.device(self.device), torch.no_grad():
            arguments = self._arguments(forms[0][0].arguments)
            if arguments is None:
                return None
            try:
                runs = [
                    partial(_run, load_plan(f.plan, kernels, {}, self.options, "inference", ()), arguments)
                    for f, kernels in forms
                ]
                for run in runs:
                    run()
                torch.cuda.synchronize()
            except Exception as error:  # it may need too much shared memory, for example
                log.info("autotune: a form cannot be loaded: %s", error)
                return None
            times: dict[int, list[float]] = {number: [] for number in range(len(runs))}

            def sample(run: Callable[[], None]) -> float:
                taken = self._samples(run)
                times[runs.index(run)].append(taken)  # type: ignore[arg-type]
                return taken

            winner = fastest(runs, sample, deadline)
            torch.cuda.synchronize()
            if winner is None:
                return None
            return FormTimes(winner, tuple(statistics.median(times[n]) for n in times))

    def _arguments(self, arguments: Sequence[TensorArgument | int]) -> list[torch.Tensor | int] | None:
        """Normal numbers for floats, and zeros for integers, which are valid indices."""
        place = self._samples.place
        tensors = [a for a in arguments if isinstance(a, TensorArgument)]
        taken = sum(a.elements * TORCH_DTYPES[a.element].itemsize for a in tensors)
        free, _ = torch.cuda.mem_get_info(self.device)
        if 3 * taken + FLUSH_BYTES > free:
            return None
        generator = torch.Generator(place).manual_seed(0)  # torch's own generator must not advance
        made: list[torch.Tensor | int] = []
        for argument in arguments:
            if isinstance(argument, int):
                made.append(argument)
                continue
            dtype = TORCH_DTYPES[argument.element]
            values = torch.zeros(argument.elements, dtype=dtype, device=place)
            if dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
                values.normal_(generator=generator)
            made.append(values.as_strided(argument.sizes, argument.strides, argument.offset))
        return made


def _run(run: Callable[[list[Any]], list[Any]], arguments: Sequence[torch.Tensor | int]) -> None:
    run(list(arguments))  # a plan empties its list
