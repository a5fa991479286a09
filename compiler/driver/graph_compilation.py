"""One graph of AOTAutograd: what the program cache has of it, or else its compilation."""

import logging
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily

from ..base.errors import CompilerFailed, ImportGraphError
from ..base.options import Options
from ..base.remarks import Remarks
from ..base.timing import Timing, stage
from ..frontend.autograd.decompositions import decomposition_table
from ..frontend.importer.interface import Fallback
from ..fx.saved_strides import ALL_KEPT, KeptStrides, result_strides
from ..rewrites.chunks.chunking import Limited
from ..rewrites.graph.flex_spelled import FlexGraph
from ..rewrites.stages import CHUNKED, GRAPH, KEYED, SPELLED, Switch, switched_on
from ..runtime.as_torch import run_as_torch
from .cache_hit import hit_of_graph
from .compiled_graph import GraphFacts, compiled_graph, report
from .fx_pass import run_fx_pass
from .program import WHOLE_GRAPH, Account, CompiledGraph, FinalModule, Interface
from .program_cache import ProgramCache
from .rebound_arguments import rebinding, take_out_rebound
from .request import Request

log = logging.getLogger(__name__)

__all__ = ["compile_graph"]


@unset_fake_temporarily()  # AOTAutograd compiles under fake tensors; the constants of a program are real ones
def compile_graph(
    gm: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    options: Options,
    *,
    name: str = "graph",
    kept: KeptStrides = ALL_KEPT,
    remarks: Remarks | None = None,
) -> CompiledGraph:
    """Compiles one graph of AOTAutograd (functional, decomposed by ``decomposition_table``, metadata in
    ``meta["val"]``), or loads its program from the cache.

    name: "inference", "forward" or "backward".  kept: which results must have the strides of their metadata;
    ``strides`` of what is returned says those of all.  remarks: what was done to the graph before; a graph
    from the cache tells what it was stored with.  Raises ``UnsupportedOp`` with ``strict``, and what a
    builder, a pass or the verifier says of an internal error where ``Options.recovers`` is false.
    """
    timing, told = Timing(name), Remarks() if remarks is None else remarks
    rebound = take_out_rebound(gm)
    kept = kept.after(len(rebound))
    KEYED.run(gm, (Switch.ALWAYS,), told)
    if options.fx_pass is not None:
        run_fx_pass(gm, options.fx_pass, name)
    request = Request.of(gm, example_inputs, options, name, kept, timing, told)
    with stage("graph", name):
        key, compiled = hit_of_graph(request)
        if compiled is None:
            compiled = _compile(request, key)
    if rebound:
        compiled.call = rebinding(compiled.call, rebound)
        compiled.strides = compiled.strides[len(rebound) :]
        compiled.rebinds = True
    report(compiled, options)
    return compiled


def _flex_graph(request: Request) -> FlexGraph:
    """What the rewrites of ``flex_attention`` ask of a graph."""
    forced = request.options.flex_attention == "generated"
    return FlexGraph(
        request.gm,
        forced,
        forced and request.options.products == "generated",
        lambda: request.hardware,
        partial(decomposition_table, False),
    )


def _compile(request: Request, key: str | None) -> CompiledGraph:
    """Compiles a graph, and stores its program under ``key`` when its kernels are loaded."""
    with request.timing.measured("load the compiler"):
        from .compilation import compile_program
    gm, options = request.gm, request.options
    guards = _guards(gm)
    on = switched_on(options, kind=request.name, on_gpu=request.on_gpu)
    SPELLED.run(gm, on, request.remarks, _flex_graph(request))
    GRAPH.run(gm, on, request.remarks)
    if options.memory_limit is not None and request.name == "inference":
        CHUNKED.run(gm, on, request.remarks, Limited(gm, options.memory_limit))
    try:
        done = compile_program(request)
    except ImportGraphError as reason:
        if options.strict:
            raise
        return _as_torch(request, str(reason))
    except CompilerFailed as failure:
        assert failure.__cause__ is not None
        if not options.recovers:
            raise failure.__cause__ from None
        return _as_torch(request, str(failure), failure.__cause__)
    if key is not None and not done.objects and done.tuned and _guards(gm) == guards:
        done.executable.when_loaded.append(
            lambda kernels: ProgramCache(options).write(key, done.program(kernels))
        )
    facts = GraphFacts(request.name, key, request.placeholders, request.timing, gm)
    call, plan = facts.boxed(done.executable.run, done.interface), done.executable.plan
    fx = facts.fx_parts(
        done.interface,
        options,
        lambda: FinalModule(done.module, plan, done.executable.launchers),
        done.objects,
    )
    return compiled_graph(
        facts,
        done.account,
        done.interface,
        plan,
        call,
        lambda: done.module,
        fx,
        kernels=done.executable.kernels,
        passes=done.passes,
        levels=done.levels,
    )


def _as_torch(request: Request, reason: str, error: BaseException | None = None) -> CompiledGraph:
    """A graph that torch runs as a whole: no module can hold it, because it has quantised or sparse tensors
    for instance, or the compiler fails on it with ``error``.
    """
    from .compilation import empty_module

    name, gm = request.name, request.gm
    log.warning("%s: torch runs the whole graph: %s", name, reason, exc_info=error)
    account = Account(Remarks(), (Fallback(WHOLE_GRAPH, reason, name),), 0, ())
    strides = result_strides(gm)
    facts = GraphFacts(name, None, request.placeholders, request.timing)
    interface = Interface((), (), (), 0, strides)
    return compiled_graph(facts, account, interface, None, run_as_torch(gm, strides), empty_module, gm)


def _guards(gm: torch.fx.GraphModule) -> int:
    """How many guards the sizes of a graph have: one that a compilation adds would be missing after a hit."""
    for node in gm.graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, torch.SymInt) and value.node.shape_env is not None:
            return len(value.node.shape_env.guards)
    return 0
