"""Every option of the backend, in one place: what it is called, what it takes, what it does."""

import dataclasses
import difflib
import os
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Literal

from .budget import CompileBudget, budget_of
from .dataclass import dataclass

#: Values of the option ``rounding``.
Rounding = Literal["eager", "float32"]
#: Values of the option ``random``.
Random = Literal["generated", "torch"]
#: Values of the option ``products``.
Products = Literal["auto", "library", "generated"]
#: Values of the option ``user_kernels``.
UserKernels = Literal["fused", "apart"]
#: Values of the option ``collectives``.
Collectives = Literal["keep", "overlap", "bucket"]
#: The rounding that holds where nothing is said.
DEFAULT_ROUNDING: Rounding = "float32"

#: Values of ``torch.compile(mode=...)`` and the options each one sets.
MODES: dict[str, dict[str, Any]] = {
    "default": {},
    "reduce-overhead": {"cudagraphs": True},
    "max-autotune": {"autotune": True, "cudagraphs": True},
    "max-autotune-no-cudagraphs": {"autotune": True},
}
#: Options that do not change what is compiled, or that keys name besides.
IN_NO_KEY = (
    "fx_pass",
    "on_compiled",
    "output",
    "dump",
    "report",
    "remarks",
    "progress",
    "cache",
    "cache_dir",
    "shared_cache_dir",
    "program_cache",
    "threads",
    "autotune_seconds",
    "compile_budget",
    "check_schedules",
    "profiler_range",
)


class OptionError(ValueError):
    """An option that does not exist or a value of the wrong type; the message names the nearest option."""


def _verify_by_default() -> Any:
    """The default of ``verify``.  Tests set the environment so that every pass is verified, which makes the
    passes take a third longer.
    """
    asked = os.environ.get("FUSE_MLIR_VERIFY", "levels")
    if asked not in ("levels", "on", "off", "numeric"):
        raise OptionError(f"FUSE_MLIR_VERIFY is {asked!r}: expected levels, on, off or numeric")
    return asked


def _cache_by_default() -> bool:
    asked = os.environ.get("FUSE_MLIR_CACHE", "on")
    if asked not in ("on", "off"):
        raise OptionError(f"FUSE_MLIR_CACHE is {asked!r}: expected on or off")
    return asked == "on"


def _products_by_default() -> Any:
    """The default of ``products``.  Tests set the environment to have kernels of all products."""
    asked = os.environ.get("FUSE_MLIR_PRODUCTS", "auto")
    if asked not in typing.get_args(Products):
        raise OptionError(f"FUSE_MLIR_PRODUCTS is {asked!r}: expected auto, library or generated")
    return asked


@dataclass(frozen=True)
class Options:
    """Options of ``torch.compile(model, backend="fuse", options={...})``.

    strict: raise ``UnsupportedOp`` for an op that the compiler cannot generate, ``ImportGraphError`` for a
        graph that no module can hold, and errors of the compiler itself (in the builder of an op, a pass or
        the verifier).  By default torch runs the op or the graph instead; where the compiler failed, a
        warning asks for a report.
    attention: replace attention that a model spells out (product, scale, mask, softmax, product) by
        ``scaled_dot_product_attention``, whose kernel torch chooses, and lay queries out so that heads merge
        without a copy.  A mask that is causal for all arguments is replaced by ``is_causal=True``, one that
        hides nothing is dropped, and any other is laid out so that a fused kernel can read it.  Active
        dropout stays spelled out.
    layouts: ``free`` gives values inside a graph the strides that matrix products and convolutions run best
        with; ``eager`` gives them eager mode's; ``auto`` is ``free`` on a GPU and ``eager`` elsewhere.
        Results have eager's strides, except as ``output_strides`` says.
    output_strides: ``padded`` returns the result of a padded product with the gap behind each row (a
        vocabulary of 50257 has rows of 50304), because a copy may cost more than the padding saves.  All
        views that keep the rows work.  ``eager`` makes the copy.  New values of arguments, and results that
        torch makes other results from, are never padded.
    epilogues: ``library`` lets the library's matrix products compute the tanh-GELU or ReLU behind them, and
        add to residual sums in place; ``generated`` leaves both to generated kernels, ``auto`` is ``library``
        on a GPU, unless ``products`` is ``generated``.
    products: ``auto`` makes a kernel of a matrix product where the cost model says that the kernel is faster
        with what fuses into it (pass ``choose-libraries``); on a CPU it makes none.  ``library`` leaves all
        products to torch's libraries.  ``generated`` makes a kernel of each product that can be one, on a CPU
        too: batched products, 1x1 convolutions and those of ``base/product_forms.py``, with any sizes and
        strides; two products with a softmax between become one (pass ``derive-cascades``).  The environment's
        ``FUSE_MLIR_PRODUCTS`` changes the default.
    user_kernels: ``fused`` computes what reads the result of a user's Triton kernel where that stores it
        (pass ``fuse-user-epilogues``), and what they load in place of the load (``fuse-user-prologues``), if
        the rules of these allow it.  ``apart`` leaves users' kernels as they are written.
    collectives: ``overlap`` starts collectives earlier and waits for them later, so that other calls run
        beside them; they keep their order (pass ``overlap-collectives``).  ``bucket`` also starts several
        small ones of a kind as one call (pass ``bucket-collectives``), which may change their order: all
        processes of a group have to compile the same graphs.  ``keep`` changes nothing.
    flex_attention: ``inductor`` lets Inductor compile ``torch.nn.attention.flex_attention`` and its gradient;
        where Inductor fails, torch runs them as in eager mode.  ``eager`` always does that.  ``generated``
        spells them out where their functions allow it, so that they are products and a softmax between, and
        else is ``inductor``.  ``auto`` spells out what takes less time as one kernel.  What is left is
        ``inductor`` on a GPU, and ``eager`` elsewhere and with ``deterministic``.
    rounding: what the next op inside a kernel reads of a 16-bit result.  ``float32``: the number before it
        was rounded (pass ``keep-float32``), which is nearer to a computation in float32.  ``eager``: the
        rounded number, as in eager mode.  Inductor's ``emulate_precision_casts`` is False and True for these.
        With both, values in memory have their dtype.  Casts of the program round, and so does what decides an
        integer or a bool.
    random: ``generated`` draws random numbers in kernels; seeds repeat them, but they are not eager mode's.
        ``torch`` draws those of eager mode, by torch's ops.  Inductor's ``fallback_random`` is False and True
        for these.
    fp_fusion: a product and a sum of a kernel become one instruction with one rounding (Triton's
        ``enable_fp_fusion``, which is off by default from Triton 3.10 on).  False rounds twice, as eager does
        where these are two ops.
    fx_pass: a function ``f(graph: torch.fx.Graph) -> None`` that may change each graph after AOTAutograd,
        before import.
    on_compiled: a function that is called with each ``CompiledGraph`` (IR, remarks, launches, seconds).
    pipeline: a pass pipeline as text (``builtin.module(...)``) instead of the default one.  It must end at
        the level that is run: ``scheduled`` on the interpreter, ``planned`` on a GPU.  Errors of the compiler
        are raised, as with ``strict``.
    verify: ``levels`` runs the verifier where a level of the IR is reached, ``on`` after every pass, ``off``
        never.  ``numeric`` is ``on`` and also executes the module before and after each pass, and names the
        first pass that changed the answer (slow; symbolic sizes are tried with two numbers).  ``on`` and
        ``numeric`` raise errors of the compiler, as ``strict`` does.  The environment's ``FUSE_MLIR_VERIFY``
        changes the default.
    dump: a folder.  Each graph gets a folder of its own in it (``forward-0``, ``inference-rank3-1``), with
        the IR after every pass, the launch plan and the TTIR of each kernel.  The page ``index.html`` lists
        them. Nothing that is there already is changed.
    report: a file, which becomes one page for a browser: launches by estimated time with your lines and their
        IR, missed fusions by cost, memory with its owners, and where compile time went.  All graphs that a
        process compiles are added to it.  An older report is replaced; any other file is left and refused.
        In a job of several processes the rank is added to its name.
    remarks: ``text`` or ``yaml`` writes the remarks, which say what was decided and why, to the log at level
        INFO.  They are always on ``CompiledGraph.remarks``.
    progress: on a terminal, say in one line what a compilation of more than two seconds is at, and at its end
        what took the time.  Nothing is written where stderr is no terminal, in pytest, and by processes of a
        job other than the first.
    execute: ``auto`` runs graphs on a CUDA device on the GPU, and others on the interpreter; ``interpreter``
        runs all on the interpreter.
    interpret_level: the level that the interpreter executes: ``graph``, ``scheduled``, ``tiled`` or
        ``planned``.
    hardware: the hardware model with which tiling chooses tiles and fusion estimates what a merge saves; the
        limits of the rules of fusion are the same for all.  ``auto`` finds figures by the name of the device,
        or derives them from its clocks; off the GPU it is ``generic``.  On a GPU the limits of a model
        (multiprocessors, registers, shared memory, L2 cache) are those that the device says, whatever model
        is named, unless the text has settings: ``h100:sm_count=66``.
    cache: keep compiled kernels, programs and measured tiles in a folder, and look there first.  The
        environment's ``FUSE_MLIR_CACHE=off`` changes the default.
    cache_dir: that folder.  The default is the environment's ``FUSE_MLIR_CACHE_DIR``; None is the user's
        cache folder, ``$XDG_CACHE_HOME/fuse_mlir`` or ``~/.cache/fuse_mlir``.  The folder holds nothing else,
        it belongs to the user, and no one else may write it, because what is stored there is run.
    shared_cache_dir: a second folder, which is read where the first has no entry and is never written.  It
        may belong to anybody.  All who can write it may run code in this process.
    program_cache: take the program of a graph that was compiled before for this GPU from the cache.
    threads: the number of threads that compile kernels; 0 is one for each core.
    cudagraphs: replay the launches of a call as CUDA graphs; calls that cannot be recorded run between them.
        ``CompiledGraph.partitions`` says what was recorded, ``CompiledGraph.unrecorded`` why the rest was
        not.
    profiler_range: show profilers a range around each launch and each torch op of ``@main``, named by it and
        the lines that it computes, and keep Dynamo's range "Pregraph bytecode" in front of each graph.  The
        latter takes about a tenth of a call of one kernel, also where nothing is profiled.
    check_values: raise ``BadValue`` at the first launch that writes a NaN (``nan``), or a NaN or an infinity
        (``finite``), with the FX nodes and lines that it computes (slow).  ``any`` checks nothing.
    check_memory: on a GPU, raise ``MemoryPlanError`` where storage is not taken and given back as the memory
        plan says, or where more is allocated than planned (slow).
    check_schedules: the seconds in which the processes of a job compare what collectives their graphs start,
        when a graph is called first; 0 compares nothing.  ``SchedulesDiffer`` names the first difference, or
        the process that has not come to the graph in time.  All processes of the default group take part.
    synchronous: wait for the GPU after every launch; ``LaunchFailed`` names the first that failed (slow).
    autotune: measure on the GPU.  Groups of kernels of which the estimate says that fusing saves little are
        measured as one kernel and as two, and stay apart where two are faster.  Then tiles are measured
        beside the one that the rules choose, and the fastest is used.  The cache keeps the results.  Without
        a GPU it does nothing.
    autotune_seconds: how long measuring may take for each graph; groups have half of it, tiles the other.
        What it does not reach is as the rules choose.
    compile_budget: what compiling may take: ``{"seconds": 60, "graphs": 8, "peak_bytes": 2**30}``, each of
        which may be left out.  All graphs that get the same dictionary share it.  torch runs a graph that is
        one too many, or that comes when the seconds are spent, and what is measured has the seconds that are
        left.  A warning says which decision was one too many, took most of the time, or needs the memory that
        a memory plan may not have (on a GPU); with ``strict`` it is the error ``BudgetExceeded``.
    memory_limit: the bytes of device memory that a graph may allocate at a time, beside its arguments.  Where
        it would take more, a loss behind a product with many columns is computed some rows or columns at a
        time: the product is never whole in memory, nor its gradient, and the backward pass multiplies again.
        A warning says by how much the memory plan is over the limit all the same, and what it has at its peak
        (on a GPU); with ``strict`` it is the error ``BudgetExceeded``.
    output: what runs a graph: ``plan`` its launch plan (on a CPU the interpreter), ``fx`` the same as a
        ``torch.fx.GraphModule``, node by node: launches of our kernels as ops, allocations, views, torch's
        ops (slower).  ``CompiledGraph.fx()`` gives that module with either.
    deterministic: equal bits in every run and after every restart.  Nothing is measured, no atomics are used,
        a user's kernel with atomics whose order decides the result is an error, and torch ops run their
        deterministic algorithm or raise as under ``torch.use_deterministic_algorithms``.
    """

    strict: bool = False
    attention: bool = True
    layouts: Literal["auto", "free", "eager"] = "auto"
    output_strides: Literal["padded", "eager"] = "padded"
    epilogues: Literal["auto", "library", "generated"] = "auto"
    products: Products = field(default_factory=_products_by_default)
    user_kernels: UserKernels = "fused"
    collectives: Collectives = "overlap"
    flex_attention: Literal["auto", "generated", "inductor", "eager"] = "auto"
    rounding: Rounding = DEFAULT_ROUNDING
    random: Random = "generated"
    fp_fusion: bool = True
    fx_pass: Callable[..., Any] | None = None
    on_compiled: Callable[..., Any] | None = None
    pipeline: str | None = None
    verify: Literal["levels", "on", "off", "numeric"] = field(default_factory=_verify_by_default)
    dump: str | Path | None = None
    report: str | Path | None = None
    remarks: Literal["none", "text", "yaml"] = "none"
    progress: bool = True
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
    compile_budget: CompileBudget | None = None
    memory_limit: int | None = None
    output: Literal["plan", "fx"] = "plan"
    deterministic: bool = False
    profiler_range: bool = False
    check_values: Literal["any", "nan", "finite"] = "any"
    check_memory: bool = False
    check_schedules: float = 0.0
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
            if name == "compile_budget" and isinstance(value, Mapping):
                value = _budget(value, (options or {}).get("strict") is True)
            if not _fits(value, hints[name]):
                raise OptionError(f"option '{name}' takes {describe(hints[name])}, got {value!r}")
            counts = hints[name] in (int, float, int | None) and value is not None
            if counts and not value >= 0:  # a count or seconds, and no NaN
                raise OptionError(f"option '{name}' is at least 0, got {value!r}")
            given[name] = value
        chosen = Options(**given)
        if chosen.deterministic and chosen.autotune:
            raise OptionError(
                "deterministic excludes autotune: measured times differ between runs, so tiles may"
            )
        if chosen.deterministic and chosen.flex_attention == "inductor":
            raise OptionError(
                "deterministic excludes flex_attention='inductor': Inductor may measure what it makes"
            )
        if chosen.cudagraphs and chosen.watched:
            raise OptionError(
                "check_values and synchronous look at single launches, but cudagraphs replays many at once"
            )
        if chosen.cudagraphs and chosen.check_memory:
            raise OptionError("check_memory follows each allocation, but a replayed CUDA graph makes none")
        if chosen.output == "fx" and (chosen.cudagraphs or chosen.watched or chosen.check_memory):
            asked = "cudagraphs, check_values, synchronous and check_memory"
            raise OptionError(f"output='fx' runs no launch plan, and {asked} are about one")
        return chosen

    def library_epilogues(self, on_gpu: bool) -> bool:
        """Whether products compute what follows them."""
        auto = on_gpu and self.products != "generated"
        return auto if self.epilogues == "auto" else self.epilogues == "library"

    def sums_in_place(self, kind: str, on_gpu: bool) -> bool:
        """Whether products add to residual sums in place, in a graph of a ``kind`` ("inference", "forward" or
        "backward").  A forward graph saves its sums for the backward graph.
        """
        return self.library_epilogues(on_gpu) and kind != "forward"

    def free_layouts(self, on_gpu: bool) -> bool:
        """Whether values inside a graph may get other strides than eager mode gives them."""
        return on_gpu if self.layouts == "auto" else self.layouts == "free"

    def inductor_flex_attention(self, on_gpu: bool) -> bool:
        """Whether Inductor compiles ``flex_attention``."""
        on = on_gpu and not self.deterministic
        return on if self.flex_attention in ("auto", "generated") else self.flex_attention == "inductor"

    def own_flex_attention(self, on_gpu: bool) -> bool:
        """Whether ``flex_attention`` may be spelled out, to be a kernel of this compiler's."""
        if self.flex_attention != "auto":
            return self.flex_attention == "generated"
        return on_gpu and self.products != "library" and self.rounding == "float32"

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
        return " ".join(
            f"{f.name}={getattr(self, f.name)}" for f in dataclasses.fields(self) if f.name not in IN_NO_KEY
        )


def _budget(limits: Mapping[str, Any], strict: bool) -> CompileBudget:
    try:
        return budget_of(limits, strict)
    except ValueError as error:
        raise OptionError(f"option 'compile_budget' {error}") from None


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


def describe(hint: Any) -> str:
    """The values that an option with this type takes, in words."""
    origin = typing.get_origin(hint)
    if origin is Literal:
        return " or ".join(map(repr, typing.get_args(hint)))
    if origin in (typing.Union, types.UnionType):
        return " or ".join(describe(part) for part in typing.get_args(hint))
    if origin is not None:
        return "a function"
    if hint is type(None):
        return "None"
    return getattr(hint, "described", None) or f"{'an' if hint is int else 'a'} {hint.__name__}"
