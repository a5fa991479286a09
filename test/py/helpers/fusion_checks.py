"""Fusion keeps the numbers: a module before and after passes, on the interpreter, in float64 and with
poisoned memory.
"""

import torch
from fusion_modules import Graph, Tensor
from shared_context import shared_context

from fuse_mlir.compiler.base.remarks import Remarks
from fuse_mlir.compiler.ir.kernel import is_kernel
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.runtime.interpreter.program import run_module
from fuse_mlir.compiler.verifier.verifier import verify
from fuse_mlir.passes.fusion.fuse_horizontal import FuseHorizontal
from fuse_mlir.passes.fusion.fuse_vertical import FuseVertical
from fuse_mlir.passes.fusion.materialize_fusion import MaterializeFusion
from fuse_mlir.passes.graph.deduplicate_calls import DeduplicateCalls
from fuse_mlir.passes.graph.deduplicate_kernels import DeduplicateKernels
from fuse_mlir.passes.graph.duplicate_cheap import DuplicateCheap
from fuse_mlir.passes.graph.eliminate_dead import EliminateDead
from fuse_mlir.passes.graph.fold_views import FoldViews
from fuse_mlir.passes.kernels.simplify_dims import SimplifyDims
from fuse_mlir.passes.pass_base import Pass

VERTICAL: tuple[Pass, ...] = (
    FoldViews(),
    EliminateDead(),
    FuseVertical(),
    MaterializeFusion(),
    EliminateDead(),
)
SCHEDULED: tuple[Pass, ...] = (
    EliminateDead(),
    DeduplicateCalls(),
    FoldViews(),
    DuplicateCheap(),
    FuseVertical(),
    FuseHorizontal(),
    MaterializeFusion(),
    EliminateDead(),
    SimplifyDims(),
    DeduplicateKernels(),
)
SYMBOLS = {"s0": 6, "s1": 3}


def arguments(graph: Graph) -> list:
    generator = torch.Generator().manual_seed(7)
    found: list = []
    for tensor in graph.inputs:
        shape = [s.evaluate(SYMBOLS) for s in tensor.sizes]
        found.append(torch.rand(shape, generator=generator, dtype=torch.float32) + 0.25)
    return [*found, *(SYMBOLS[s] for s in graph.symbols)]


def run_passes(text: str, passes: tuple[Pass, ...] = VERTICAL) -> tuple[str, Remarks]:
    """The module after the passes, verified after each, and the remarks."""
    remarks = Remarks()
    with shared_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        for p in passes:
            p.run(module, remarks)
            verify(module)
        return module.operation.get_asm(enable_debug_info=True), remarks


def kernel_names(text: str) -> list[str]:
    with shared_context():
        module = ir.Module.parse(text)
        return [op.name.value for op in module.body.operations if is_kernel(op)]


def run(text: str, inputs: list, shadow: bool) -> list:
    """Results, then the inputs as the module left them."""
    copies = [x.clone() if isinstance(x, torch.Tensor) else x for x in inputs]
    with shared_context():
        results = run_module(ir.Module.parse(text), copies, shadow=shadow)
    return [*results, *(x for x in copies if isinstance(x, torch.Tensor))]


def same_numbers(before: str, after: str, inputs: list) -> None:
    for shadow, tolerance in ((True, 1e-12), (False, 1e-5)):
        expected, actual = run(before, inputs, shadow), run(after, inputs, shadow)
        assert len(expected) == len(actual)
        for a, b in zip(expected, actual, strict=True):
            assert not torch.isnan(a.double()).any(), "the test reads memory that nobody wrote"
            torch.testing.assert_close(b.double(), a.double(), rtol=tolerance, atol=tolerance)


def check(
    graph: Graph,
    *outputs: Tensor,
    kernels: int | None = None,
    passes: tuple[Pass, ...] = VERTICAL,
    mutates: dict[int, int] | None = None,
) -> tuple[str, Remarks]:
    """Runs the passes, compares numbers, counts kernels, and sees that equal input gives equal output."""
    text = graph.text(*outputs, mutates=mutates)
    after, remarks = run_passes(text, passes)
    same_numbers(text, after, arguments(graph))
    if kernels is not None:
        assert len(kernel_names(after)) == kernels, f"{kernel_names(after)}\n{after}\n{remarks.items}"
    assert run_passes(text, passes)[0] == after
    return after, remarks


def rules(remarks: Remarks) -> set[str]:
    return {r.rule for r in remarks.items if r.kind == "missed"}


def softmax(g: Graph, x: Tensor, dim: int) -> Tensor:
    m = g.reduce("max", x, (dim,))
    e = g.pointwise("exp", g.pointwise("sub", x, m))
    return g.pointwise("div", e, g.reduce("sum", e, (dim,)))
