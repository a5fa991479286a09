"""Test helper: a function of tensors, traced, imported, verified and run by the interpreter, against eager
and against float64.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from functorch.compile import aot_function, make_boxed_func, min_cut_rematerialization_partition
from import_one import outputs
from shared_context import shared_context
from torch import fx
from torch._functorch import config as functorch_config
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree

from fuse_mlir.compiler.frontend.importer.importer import ImportedGraph, import_graph
from fuse_mlir.compiler.verifier.verifier import verify

#: Relative and absolute tolerance against float64, by the result's dtype: a few roundings of the dtype.
TOLERANCE = {
    torch.float64: (1e-11, 1e-11),
    torch.float32: (2e-5, 2e-5),
    torch.float16: (4e-3, 4e-3),
    torch.bfloat16: (3e-2, 3e-2),
}


def trace(
    function: Callable[..., Any],
    inputs: Sequence[Any],
    *,
    dynamic: bool = False,
    table: Mapping[Any, Any] | None = None,
) -> fx.GraphModule:
    """The ATen graph of ``function``; with ``dynamic`` every size that is neither 0 nor 1 is a symbol."""

    def traced(*args: Any) -> Any:  # make_fx takes the defaults of the function itself for inputs
        return function(*args)

    return make_fx(
        traced, tracing_mode="symbolic" if dynamic else "fake", decomposition_table=dict(table or {})
    )(*inputs)


def lower(gm: fx.GraphModule, *, strict: bool = True) -> ImportedGraph:
    """Imports for the CPU and verifies; ``strict``: nothing may fall back."""
    imported = import_graph(gm, (), context=shared_context(), device="cpu", strict=strict)
    verify(imported.module)
    return imported


def externs(imported: ImportedGraph) -> list[str]:
    """Names of the ops that run as themselves, arithmetic on sizes aside."""
    ops = [o.operation for o in imported.module.body.operations]
    names = [o.attributes["fuse.extern"].value for o in ops if "fuse.extern" in o.attributes]
    return [n for n in names if not n.startswith("torch.sym_")]


def kernels(imported: ImportedGraph) -> list[str]:
    """Names of the kernels, in order."""
    ops = [o.operation for o in imported.module.body.operations]
    return [o.attributes["sym_name"].value for o in ops if "fuse.kernel" in o.attributes]


def run(
    function: Callable[..., Any],
    *inputs: Any,
    dynamic: bool = False,
    table: Mapping[Any, Any] | None = None,
    extern: Sequence[str] = (),
) -> Any:
    """``function(*inputs)`` through the importer and the interpreter; exactly the ops ``extern`` may run as
    themselves.
    """
    imported = lower(trace(function, inputs, dynamic=dynamic, table=table), strict=not extern)
    assert externs(imported) == list(extern), f"ops that run as themselves: {externs(imported)}"
    return outputs(imported, inputs)


def check(
    function: Callable[..., Any],
    *inputs: Any,
    dynamic: bool = False,
    table: Mapping[Any, Any] | None = None,
    extern: Sequence[str] = (),
) -> Any:
    """Compares ``run`` with eager: shapes, dtypes and strides; integers exactly; floats with ``function`` of
    float64 inputs.
    """
    got = run(function, *clone(inputs), dynamic=dynamic, table=table, extern=extern)
    compare(got, function(*clone(inputs)), reference(function, inputs))
    return got


def check_training(
    function: Callable[..., Any],
    *inputs: Any,
    table: Mapping[Any, Any],
    gradients: bool = True,
    dynamic: bool = False,
    extern: Sequence[str] = (),
) -> list[ImportedGraph]:
    """As ``check`` for what AOTAutograd makes of ``function``: its value and, with ``gradients``, those of
    all float inputs.  Tangents have the strides of the values, as in eager, whatever this torch's AOTAutograd
    guesses unasked: torch 2.11 makes them contiguous.
    """
    graphs: list[ImportedGraph] = []

    def compiler(gm: fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        graphs.append(lower(gm, strict=not extern))
        assert set(externs(graphs[-1])) <= set(extern), f"ops that run as themselves: {externs(graphs[-1])}"
        imported = graphs[-1]
        return make_boxed_func(lambda *args: outputs(imported, args))

    compiled = aot_function(
        function, compiler, compiler, min_cut_rematerialization_partition, decompositions=dict(table),
        keep_inference_input_mutations=True, dynamic=dynamic,
    )  # fmt: skip

    def step(call: Callable[..., Any], wide: bool) -> Any:
        given = [
            x.double() if wide and isinstance(x, torch.Tensor) and x.is_floating_point() else x
            for x in clone(inputs)
        ]
        wanted = [
            x.requires_grad_()
            for x in given
            if isinstance(x, torch.Tensor) and x.is_floating_point() and gradients
        ]
        value = pytree.tree_leaves(call(*given))
        loss = [(v * v).sum() for v in value if isinstance(v, torch.Tensor) and v.requires_grad]
        return value, torch.autograd.grad(sum(loss), wanted) if loss else ()

    with functorch_config.patch(guess_tangent_strides_as_outputs=True):
        compare(
            *(
                pytree.tree_map(_detached, step(f, wide))
                for f, wide in ((compiled, False), (function, False), (function, True))
            )
        )
    return graphs


def _detached(x: Any) -> Any:
    return x.detach() if isinstance(x, torch.Tensor) else x


def clone(inputs: Sequence[Any]) -> list[Any]:
    """Copies with the same strides."""
    return [
        x.detach().clone(memory_format=torch.preserve_format) if isinstance(x, torch.Tensor) else x
        for x in inputs
    ]


def reference(function: Callable[..., Any], inputs: Sequence[Any]) -> Any:
    """``function`` with every float as float64."""
    wide = [x.double() if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in clone(inputs)]
    return function(*wide)


def compare(got: Any, eager: Any, exact: Any) -> None:
    """``got`` has eager's shapes, dtypes, strides and integers, and floats near ``exact``."""
    triples = list(
        zip(pytree.tree_leaves(got), pytree.tree_leaves(eager), pytree.tree_leaves(exact), strict=True)
    )
    assert triples
    for mine, theirs, true in triples:
        if not isinstance(theirs, torch.Tensor):
            assert mine == theirs
            continue
        assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype)
        if theirs.numel():
            same = [
                a == b for a, b, n in zip(mine.stride(), theirs.stride(), theirs.shape, strict=True) if n != 1
            ]
            assert all(same), f"strides {mine.stride()}, eager's are {theirs.stride()}"
        if not theirs.is_floating_point():
            assert torch.equal(mine, theirs), f"{mine} is not {theirs}"
            continue
        relative, absolute = TOLERANCE.get(theirs.dtype, (0.3, 0.3))
        torch.testing.assert_close(mine.double(), true.double(), rtol=relative, atol=absolute, equal_nan=True)
