"""A user's kernel with the configurations of its autotuner: a tiled kernel for each, of the same arguments.

``@main`` calls the first one.  Its ``fuse.configs`` names the others, and its ``fuse.tuned_by`` lists the
values that Triton's autotuner would choose by.  Which one a launch runs is measured when it is first called
with such values.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import torch

from ....analysis.user_kernel.unordered import unordered_atomic
from ....base.errors import UserKernelAtomics, UserKernelRefused, UserKernelTuned
from ....fx.user_kernels import Opaque, UserLaunch
from ....index import Expr, const
from ....mlir import ir
from ...importer.call import Call
from ...importer.values import Number, Tensor
from ...user_kernels.analysed_facts import line_of
from ...user_kernels.ttir_of import StaticAssertFailed
from .tiled_kernel import KernelArguments, TiledKernel


def configured(
    call: Call,
    launch: UserLaunch,
    given: Mapping[str, Any],
    resolve: Callable[[Any], Any],
    apart: Collection[Tensor] = (),
) -> list[TiledKernel]:
    """The kernels of a launch, one for each configuration that differs from those before it.  ``given``: what
    the import has for the parameters of the first.  ``resolve``: what it has for a value of another.
    ``apart``: tensors that nothing is fused with.  Raises Opaque, UserKernelRefused, UserKernelTuned and
    UserKernelAtomics.

    A configuration that a ``tl.static_assert`` of the kernel excludes is left out, unless all are.
    """
    deterministic = torch.are_deterministic_algorithms_enabled()
    if launch.others and deterministic:
        count = len(launch.others) + 1
        raise UserKernelTuned(kernel=launch.name, where="{}:{}".format(*launch.line), count=count)
    found: dict[Any, TiledKernel] = {}
    excluded: UserKernelRefused | None = None
    for each in (launch, *launch.others):
        same = {n for n, v in each.given.items() if v is launch.given.get(n)}
        values = {n: given[n] if n in same else resolve(v) for n, v in each.given.items()}
        try:
            kernel = TiledKernel(call, each, values, apart)
        except UserKernelRefused as error:
            if not isinstance(error.__cause__, StaticAssertFailed):
                raise
            excluded = error
            continue
        if deterministic and (atomic := unordered_atomic(kernel.function)) is not None:
            does, op = atomic
            where = "{}:{}".format(*launch.line)
            raise UserKernelAtomics(kernel=launch.name, where=where, does=does, at=line_of(op))
        found.setdefault(_identity(kernel), kernel)
    if not found:
        assert excluded is not None
        raise excluded
    return list(found.values())


def _identity(kernel: TiledKernel) -> Any:
    """What is equal for equal kernels."""
    given = [kernel.given[name] for name in kernel.parameters]
    values = tuple(v.value if isinstance(v, Tensor | Number) else repr(v) for v in given)
    launch = kernel.launch
    return kernel.text, tuple(kernel.grid), launch.num_warps, launch.num_stages, values


def tuning_key(chosen_by: Mapping[str, Any]) -> list[Expr]:
    """The values that a configuration is chosen by, as far as they are integers: anything else is the same at
    every call.  Raises Opaque for a number that only data decides.
    """
    found = []
    for name, value in chosen_by.items():
        if isinstance(value, Number):
            raise Opaque(f"its autotuner chooses by '{name}', which only data decides")
        if isinstance(value, Expr):
            found.append(value)
        elif isinstance(value, int):
            found.append(const(int(value)))
    return found


def call_kernels(
    kernels: Sequence[TiledKernel], destinations: Sequence[Tensor], key: Sequence[Expr]
) -> list[ir.Value]:
    """Adds the kernels and calls the first; the new value of each tensor that they write."""
    first, builder = kernels[0], kernels[0].builder
    taken = _signature(kernels, key)
    effect = any(kernel.effects.has_effect for kernel in kernels)
    functions = [kernel.add(taken, destinations, effect) for kernel in kernels]
    names = [ir.StringAttr(function.attributes["sym_name"]).value for function in functions]
    if len(functions) > 1:
        references = [ir.FlatSymbolRefAttr.get(name, builder.context) for name in names[1:]]
        functions[0].attributes["fuse.configs"] = ir.ArrayAttr.get(references, builder.context)
        functions[0].attributes["fuse.tuned_by"] = builder.strings(key)
    types = ir.FunctionType(ir.TypeAttr(functions[0].attributes["function_type"]).value)
    return builder.call(names[0], taken.operands, list(types.results), first.call.location)


def _signature(kernels: Sequence[TiledKernel], key: Sequence[Expr]) -> KernelArguments:
    """The arguments that any of the kernels takes, and the sizes of the key."""
    builder = kernels[0].builder
    tensors: dict[ir.Value, Tensor] = {}
    numbers: dict[ir.Value, Number] = {}
    symbols: set[str] = set().union(*(e.symbols() for e in key))
    for kernel in kernels:
        kernel.take()
        tensors |= kernel.tensors
        numbers |= kernel.numbers
        symbols |= {*kernel.names.values()}.union(*(e.symbols() for e in kernel.grid))
    named = {expression: name for kernel in kernels for expression, name in kernel.names.items()}
    for kernel in kernels:
        kernel.names = named  # so that all say the same of an argument
    symbols |= {s for t in tensors.values() for s in t.spec.symbols}
    sizes = sorted(symbols)
    return KernelArguments(tensors, sizes, numbers, [*tensors, *builder.values(sizes), *numbers])
