"""The passes of one compilation: which run, at which level they end, who watches them, what they took.

What only some options need, such as the interpreter and the searches of ``autotune``, is imported where it is
needed.
"""

from collections.abc import Container, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import torch

from ...passes.manager import Observer, PassManager
from ...passes.observers import DumpIR
from ...passes.pass_base import Pass
from ...passes.pipeline import NO_SPILLS, Settings, Spills, default_pipeline, levels_reached
from ...passes.pipeline_text import parse_pipeline
from ..base.collector import collector_paused
from ..base.dataclass import dataclass
from ..base.options import OptionError
from ..base.timing import PassTime, Timing
from ..frontend.importer.importer import ImportedGraph
from ..mlir import ir
from ..report.torch_trace import TraceIR, tracing
from ..runtime.cache.places import cache_folder
from ..verifier.verifier import VerificationError, verify_level
from .program_cache import toolchain
from .request import Request

if TYPE_CHECKING:
    from .searches.fusion_search import FusionSearch
    from .searches.tiling_search import TilingSearch

#: Names of tables of measurements.
_FUSIONS, _TILES = "fusions.json", "tiles.json"


@dataclass(frozen=True)
class Lowered:
    """What lowering a module took.  levels: the IR of each, as ``LevelTexts`` has it, where option ``report``
    is given.  tuned: False where the time of ``autotune`` did not suffice, so that another compilation may do
    better.
    """

    passes: tuple[PassTime, ...]
    levels: Mapping[str, Mapping[str, str]]
    tuned: bool


def lower(
    request: Request,
    imported: ImportedGraph,
    dump: Path | None,
    spills: Spills = NO_SPILLS,
) -> Lowered:
    """Runs the passes on the imported module, in place, up to the level that is run.  ``dump``: the folder
    that gets the IR after each.  ``spills``: as in ``Settings``.
    """
    module = imported.module
    observers: list[Observer] = [] if dump is None else [DumpIR(dump)]
    if request.options.verify == "numeric":
        from ..runtime.checks.numeric_check import NumericVerifier

        observers.append(
            NumericVerifier(constants=list(imported.constants.values()), objects=imported.objects)
        )
    with _tables(request, dump) as place:
        settings = _settings(request, place, spills)
        passes, ends = _passes(request, settings)
        searches = [] if place is None else _searches(request, place, settings)
        observers += searches
        if dump is not None and not passes:
            DumpIR(dump).before_any(module)
        if tracing():
            observers.append(TraceIR(request.name, ends))
        levels = dict[str, dict[str, str]]()
        if request.options.report is not None:
            from ..report.page.levels import LevelTexts

            observers.append(LevelTexts("graph", ends, levels))
        manager = _manager(request, passes, observers, ends)
        with _measured(request):
            manager.run(module, request.remarks)
    with _measured(request):
        _verify(module, request)
    _account(manager.times, request.timing.part("passes"))
    complete = all(search.complete for search in searches)
    if not complete and not request.seconds_left:
        request.remarks.add(
            "compile-budget",
            "missed",
            "seconds",
            "what is not measured is as the rules choose: no time is left",
        )
    return Lowered(tuple(manager.times), levels, complete)


def _settings(request: Request, place: Path | None, spills: Spills) -> Settings:
    options = request.options
    return Settings(
        request.hardware.name,
        fusions=_table(place, _FUSIONS),
        tiles=_table(place, _TILES),
        rounding=options.rounding,
        products=options.products,
        activations="everywhere" if options.library_epilogues(request.on_gpu) else "nowhere",
        sums="everywhere" if options.sums_in_place(request.name, request.on_gpu) else "nowhere",
        user_kernels=options.user_kernels,
        collectives=options.collectives,
        spills=spills,
    )


def _passes(request: Request, settings: Settings) -> tuple[list[Pass], dict[int, str]]:
    """The passes, and by their numbers the levels that they reach; of a user's own passes, the last reaches
    the one that is run.
    """
    own, level = request.options.pipeline, _level(request)
    if own is None:
        return default_pipeline(level, settings), levels_reached(level, settings)
    passes = parse_pipeline(own)
    return passes, {len(passes) - 1: level}


def _manager(
    request: Request, passes: list[Pass], observers: list[Observer], ends: Container[int]
) -> PassManager:
    """Verifies after each pass, at the end of each level, or not at all, as the options say."""
    verify = request.options.verify
    return PassManager(
        passes, verify in ("on", "numeric"), observers, checkpoints=ends if verify == "levels" else ()
    )


def _account(times: list[PassTime], timing: Timing) -> None:
    """Adds the time of each pass, and of the verifier after it, to the branch of the passes."""
    for time in times:
        part = timing.add(time.name, time.run + time.verify)
        if time.verify:
            part.add("verify", time.verify)


@contextmanager
def _measured(request: Request) -> Iterator[None]:
    """Counts what runs inside as time of the passes.  Where the verifier refuses the end of a level, the
    error says how to learn which pass broke the module.
    """
    with request.timing.measured("passes"), collector_paused():
        try:
            yield
        except VerificationError as error:
            if request.options.verify == "levels":
                error.add_note('options={"verify": "on"} names the pass after which the module is wrong')
            raise


def _tables(request: Request, dump: Path | None) -> AbstractContextManager[Path | None]:
    """The folder of tables of measurements, which lasts as long as the passes, or is the dump of the graph;
    None where nothing is measured: the options do not ask for it, there is no GPU, or the passes are the
    user's.

    Raises OptionError where torch's flag asks for deterministic algorithms.
    """
    options = request.options
    if not (request.on_gpu and options.autotune) or options.pipeline is not None:
        return nullcontext()
    if torch.are_deterministic_algorithms_enabled():
        raise OptionError(
            "torch.use_deterministic_algorithms excludes autotune: measured times differ between runs"
        )
    return _temporary() if dump is None else nullcontext(dump)


@contextmanager
def _temporary() -> Iterator[Path]:
    with TemporaryDirectory() as name:
        yield Path(name)


def _searches(request: Request, place: Path, settings: Settings) -> "list[FusionSearch | TilingSearch]":
    """What measures pairs of kernels, and tiles: each has half of the time."""
    from ..runtime.gpu.kernel_timer import KernelTimer
    from ..runtime.gpu.program_timer import ProgramTimer
    from .searches.fusion_search import FusionSearch
    from .searches.tiling_search import TilingSearch

    options, index = request.options, torch.device(request.device).index or 0
    identity = f"{torch.cuda.get_device_name(index)} {toolchain()}"
    seconds = min(options.autotune_seconds, request.seconds_left) / 2
    fusions, tiles = (cache_folder(options, suffix) for suffix in (".fusion", ".tile"))
    return [
        FusionSearch(ProgramTimer(index, options), place / _FUSIONS, settings, fusions, identity, seconds),
        TilingSearch(KernelTimer(index, options), place / _TILES, tiles, identity, seconds),
    ]


def _table(place: Path | None, name: str) -> str:
    """The file with a table of measurements, "" where nothing is measured."""
    return "" if place is None else str(place / name)


def _verify(module: ir.Module, request: Request) -> None:
    """Checks the level that the passes have reached.  Raises VerificationError, and ``OptionError`` where the
    user's pipeline does not reach what a GPU runs."""
    if request.options.verify == "off":
        return
    try:
        if request.options.pipeline is None or _level(request) == "planned":
            verify_level(module, _level(request))
    except VerificationError as error:
        if request.options.pipeline is None:
            raise
        told = f"option 'pipeline' does not reach the level planned, which {request.device} runs: {error}"
        raise OptionError(told) from None


def _level(request: Request) -> str:
    """The level that is run."""
    options = request.options
    return "planned" if request.on_gpu or options.output == "fx" else options.interpret_level


__all__ = ["Lowered", "lower"]
