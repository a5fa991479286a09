"""Every option of the backend, in one place: what it is called, what it takes, what it does."""

import dataclasses
import difflib
import os
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

#: Values of the option ``rounding``.
Rounding = Literal["eager", "float32"]
#: The one that holds where nothing is said.
DEFAULT_ROUNDING: Rounding = "float32"

#: Values of ``torch.compile(mode=...)`` and the options each one sets.
MODES: dict[str, dict[str, Any]] = {
    "default": {},
    "reduce-overhead": {"cudagraphs": True},
    "max-autotune": {"autotune": True, "cudagraphs": True},
    "max-autotune-no-cudagraphs": {"autotune": True},
}


class OptionError(ValueError):
    """An option that does not exist or a value of the wrong type; the message names the nearest option."""


def _verify_by_default() -> Any:
    """Tests verify after every pass; it takes a third of the time of a compilation."""
    asked = os.environ.get("FUSE_MLIR_VERIFY", "levels")
    if asked not in ("levels", "on", "off", "numeric"):
        raise OptionError(f"FUSE_MLIR_VERIFY is {asked!r}: expected levels, on, off or numeric")
    return asked


def _cache_by_default() -> bool:
    asked = os.environ.get("FUSE_MLIR_CACHE", "on")
    if asked not in ("on", "off"):
        raise OptionError(f"FUSE_MLIR_CACHE is {asked!r}: expected on or off")
    return asked == "on"


@dataclass(frozen=True)
class Options:
    """Options of ``torch.compile(model, backend="fuse", options={...})``.

    strict: raise ``UnsupportedOp`` instead of running an op that the compiler cannot generate as itself
        (eager), and ``ImportGraphError`` instead of letting torch run a graph that no module can hold.  Where
        the compiler itself fails, in the builder of an op, a pass or the verifier, that is raised as well;
        otherwise the op, or the graph, runs as itself with a warning that asks for a report.
    attention: replace attention that a model spells out (product, scale, mask, softmax, product) by
        ``scaled_dot_product_attention``, whose kernel torch chooses, and lay queries out so that heads merge
        without a copy.  A mask that is causal for all arguments is replaced by ``is_causal=True``, one that
        hides nothing is dropped, and any other is laid out so that a fused kernel can read it.  Active
        dropout stays spelled out.
    layouts: ``free`` gives values inside a graph the strides that matrix products and convolutions run best
        with, ``eager`` those of eager mode, ``auto`` is ``free`` on a GPU.  Results have eager's, but for:
    output_strides: ``padded`` leaves the gap behind each row of a result that comes from a padded product (a
        vocabulary of 50257: rows of 50304), as a copy may cost more than the product saves; all views that
        keep the rows work.  ``eager`` makes the copy.  New values of arguments are never padded, nor results
        that torch makes others from.
    epilogues: ``library`` lets the library's matrix products compute the tanh-GELU or ReLU behind them, and
        add to residual sums in place; ``generated`` leaves both to generated kernels, ``auto`` is ``library``
        on a GPU.
    rounding: what happens, inside a kernel, to the 16-bit result of an op that the next op reads: ``float32``
        reads it as it was before it was rounded (pass ``keep-float32``), which is nearer to a computation in
        float32; ``eager`` reads it rounded, so that the kernel computes what eager mode does.  Inductor says
        the same with ``emulate_precision_casts``, False and True.  With both, what memory holds has its
        dtype, casts that the program asks for round, and so does what decides an integer or a bool.
    fx_pass: a function ``f(graph: torch.fx.Graph) -> None`` that may change each graph after AOTAutograd,
        before import.
    on_compiled: a function that gets each ``CompiledGraph`` (IR, remarks, launches, seconds).
    pipeline: the pass pipeline as text (``builtin.module(...)``) instead of the default one; it must end at
        the level that runs: ``scheduled`` on the interpreter, ``planned`` on a GPU.
    verify: ``levels`` runs the dialect's verifier where a level of the IR is reached, ``on`` after every
        pass (the environment's ``FUSE_MLIR_VERIFY`` may say so for all), ``numeric`` also executes the
        module before and after each pass and names the first that changed the answer (slow; sizes that are
        symbols have two values), ``off`` trusts the passes.  ``on`` and ``numeric`` raise what fails in the
        compiler, as ``strict`` does.
    dump: a folder that gets one folder for each graph (``forward-0``, ``inference-rank3-1``), with the IR
        after every pass, the generated program and each kernel's TTIR, and a page ``index.html`` that lists
        them; what is there already stays as it is.
    remarks: ``text`` or ``yaml`` writes why things were (not) fused to the log at level INFO; they are on
        ``CompiledGraph.remarks`` always.
    execute: ``auto`` runs kernels on the GPU for CUDA graphs and on the interpreter for CPU graphs;
        ``interpreter`` forces the latter.
    interpret_level: the level that the interpreter executes: ``graph``, ``scheduled``, ``tiled`` or
        ``planned``.
    hardware: name of the hardware model that tiling reads (``auto`` asks the driver; ``generic`` where there
        is none).
    cache: keep compiled kernels, programs and measured tiles in a folder, and look there first (the
        environment's ``FUSE_MLIR_CACHE=off`` says otherwise for all).
    cache_dir: that folder (by default the environment's ``FUSE_MLIR_CACHE_DIR``); None is the user's cache
        folder, ``$XDG_CACHE_HOME/fuse_mlir`` or ``~/.cache/fuse_mlir``.  It holds nothing else, belongs to
        the user, and no one else may write it: what is stored there is run.
    shared_cache_dir: a second folder, which is read where the first has no entry and is never written.  It
        may belong to anybody: who names it says that all who can write it may run code here.
    program_cache: run a graph that was compiled for this GPU before from the cache, without compiling it.
    threads: threads that compile kernels; 0 is one per core.
    cudagraphs: replay the launches of a call as CUDA graphs; what cannot be recorded runs between them.
        ``CompiledGraph.partitions`` says what was recorded and ``unrecorded`` why the rest was not.
    check_values: raise ``BadValue`` at the first launch that writes a NaN (``nan``), or an infinity too
        (``finite``), with the FX nodes and lines that it computes (slow).
    check_memory: raise ``MemoryPlanError`` on a GPU where storage is not taken and given back as the memory
        plan says, or more is allocated than planned (slow).
    synchronous: wait for the GPU after every launch; ``LaunchFailed`` names the first that failed (slow).
    autotune: measure tiles beside the one that the rules choose on the GPU and keep the fastest; winners are
        stored in ``cache_dir``.  Without a GPU it does nothing.
    autotune_seconds: what measuring may take for each graph; kernels that it does not reach keep their tile.
    deterministic: equal bits in every run and after every restart: nothing is measured, no atomics, torch
        ops run their deterministic algorithm or raise as under ``torch.use_deterministic_algorithms``.
    """

    strict: bool = False
    attention: bool = True
    layouts: Literal["auto", "free", "eager"] = "auto"
    output_strides: Literal["padded", "eager"] = "padded"
    epilogues: Literal["auto", "library", "generated"] = "auto"
    rounding: Rounding = DEFAULT_ROUNDING
    fx_pass: Callable[..., Any] | None = None
    on_compiled: Callable[..., Any] | None = None
    pipeline: str | None = None
    verify: Literal["levels", "on", "off", "numeric"] = field(default_factory=_verify_by_default)
    dump: str | Path | None = None
    remarks: Literal["none", "text", "yaml"] = "none"
    execute: Literal["auto", "interpreter"] = "auto"
    interpret_level: Literal["graph", "scheduled", "tiled", "planned"] = "scheduled"
    hardware: str = "auto"
    cache: bool = field(default_factory=_cache_by_default)
    cache_dir: str | Path | None = field(
        default_factory=lambda: os.environ.get("FUSE_MLIR_CACHE_DIR") or None
    )
    shared_cache_dir: str | Path | None = None
    program_cache: bool = True
    threads: int = 0
    cudagraphs: bool = False
    autotune: bool = False
    autotune_seconds: float = 60.0
    deterministic: bool = False
    check_values: Literal["any", "nan", "finite"] = "any"
    check_memory: bool = False
    synchronous: bool = False

    @staticmethod
    def of(options: Mapping[str, Any] | None = None, mode: str | None = None) -> "Options":
        """Options from what the user wrote.  Raises ``OptionError`` on an unknown name, mode or a value of
        the wrong type.
        """
        if mode is not None and mode not in MODES:
            raise OptionError(
                f"unknown mode '{mode}'{_nearest(mode, MODES)}; the fuse backend has {', '.join(MODES)}"
            )
        hints = typing.get_type_hints(Options)
        given: dict[str, Any] = dict(MODES[mode] if mode else {})
        for name, value in (options or {}).items():
            if name not in hints:
                known = _nearest(name, hints) or f"; it has {', '.join(hints)}"
                raise OptionError(f"unknown option '{name}' of the fuse backend{known}")
            if not _fits(value, hints[name]):
                raise OptionError(f"option '{name}' takes {_describe(hints[name])}, got {value!r}")
            if hints[name] in (int, float) and not value >= 0:  # a count or seconds, and no NaN
                raise OptionError(f"option '{name}' is at least 0, got {value!r}")
            given[name] = value
        chosen = Options(**given)
        if chosen.deterministic and chosen.autotune:
            raise OptionError("deterministic excludes autotune: what is measured differs between runs")
        if chosen.cudagraphs and chosen.watched:
            raise OptionError("check_values and synchronous look at single launches, cudagraphs has none")
        if chosen.cudagraphs and chosen.check_memory:
            raise OptionError("check_memory follows each allocation, a replayed CUDA graph has none")
        return chosen

    def library_epilogues(self, on_gpu: bool) -> bool:
        """Whether products compute what follows them."""
        return on_gpu if self.epilogues == "auto" else self.epilogues == "library"

    def free_layouts(self, on_gpu: bool) -> bool:
        """Whether values inside a graph may get other strides than eager mode gives them."""
        return on_gpu if self.layouts == "auto" else self.layouts == "free"

    @property
    def recovers(self) -> bool:
        """Whether torch runs what the compiler fails on; a user's own pipeline is no part of it."""
        return not self.strict and self.verify in ("levels", "off") and self.pipeline is None

    @property
    def watched(self) -> bool:
        """Whether something looks at each launch."""
        return self.check_values != "any" or self.synchronous

    def text(self) -> str:
        """All options that change what is compiled, for cache keys and reproducers; byte-identical between
        processes.
        """
        skipped = (
            "fx_pass",
            "on_compiled",
            "dump",
            "remarks",
            "cache",
            "cache_dir",
            "shared_cache_dir",
            "program_cache",
            "threads",
            "autotune_seconds",
        )
        return " ".join(
            f"{f.name}={getattr(self, f.name)}" for f in dataclasses.fields(self) if f.name not in skipped
        )


def _nearest(name: str, known: Mapping[str, Any]) -> str:
    close = difflib.get_close_matches(name, known, 1)
    return f"; did you mean '{close[0]}'?" if close else ""


def _fits(value: Any, hint: Any) -> bool:
    origin = typing.get_origin(hint)
    if origin is Literal:
        return value in typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, part) for part in typing.get_args(hint))
    if origin is not None:  # Callable[...]
        return callable(value)
    if hint in (int, float):
        return isinstance(value, (int, hint)) and not isinstance(value, bool)
    return isinstance(value, hint)


def _describe(hint: Any) -> str:
    origin = typing.get_origin(hint)
    if origin is Literal:
        return " or ".join(map(repr, typing.get_args(hint)))
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_describe(part) for part in typing.get_args(hint))
    if origin is not None:
        return "a function"
    if hint is type(None):
        return "None"
    return f"{'an' if hint is int else 'a'} {hint.__name__}"
