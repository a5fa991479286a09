"""The tables of the importer: every core pointwise op is lowered or excused, no op is in two tables, every
name is an op.
"""

from typing import Any

import pytest
import torch
import torch._inductor.fx_passes.control_dependencies
import torch._inductor.inductor_prims
from import_one import run_one
from versions import TORCH

from fuse_mlir.compiler.base.errors import UnsupportedOp
from fuse_mlir.compiler.frontend.autograd import strides
from fuse_mlir.compiler.frontend.autograd.decompositions import (
    GROUPS,
    OF_INDUCTOR,
    decomposition_table,
    overloads,
)
from fuse_mlir.compiler.frontend.importer.dtypes import BY_TORCH
from fuse_mlir.compiler.frontend.ops import FAMILIES, load
from fuse_mlir.compiler.fx.table import BY_KIND, KEPT_WHOLE, LOWERINGS, keep_whole, lowers

load()

#: Core pointwise overloads that are not lowered, and why.
EXCEPTIONS = {"aten.atan2.out": "AOTAutograd functionalises out= variants"}


def find(name: str) -> Any:
    """The overload called ``aten.add.Tensor``; None where this torch has none."""
    found: Any = torch.ops
    for part in name.split("."):
        found = getattr(found, part, None)
        if found is None:
            return None
    return found


def aten_overloads() -> list[torch._ops.OpOverload]:
    """Every overload of aten; ``dir(torch.ops.aten)`` lists only those already used."""
    found = []
    for qualified in sorted(torch._C._dispatch_get_all_op_names()):
        name, _, overload = qualified.partition(".")
        if name.startswith("aten::"):
            op = find(f"aten.{name[6:]}.{overload or 'default'}")
            if op is not None:
                found.append(op)
    return found


CORE_POINTWISE = sorted(
    str(op) for op in aten_overloads() if torch.Tag.core in op.tags and torch.Tag.pointwise in op.tags
)


def test_there_are_core_pointwise_ops() -> None:
    assert len(CORE_POINTWISE) > 80


@pytest.mark.parametrize("name", CORE_POINTWISE)
def test_core_pointwise_op_is_lowered_or_excused(name: str) -> None:
    decomposed = {str(op) for op in decomposition_table()}
    assert (name in LOWERINGS or name in decomposed) != (name in EXCEPTIONS)


def test_no_op_is_in_two_tables() -> None:
    decomposed = {str(op) for op in decomposition_table(differentiated=False)}
    assert sorted(decomposed & LOWERINGS.keys()) == [f"aten.{name}" for name in strides.ON_A_CPU]
    assert sorted(decomposed & KEPT_WHOLE.keys()) == []
    assert sorted(LOWERINGS.keys() & KEPT_WHOLE.keys()) == []


@pytest.mark.parametrize("name", sorted([*LOWERINGS, *KEPT_WHOLE]))
def test_every_name_is_an_op_of_some_torch(name: str) -> None:
    """A misspelt overload would never match. Names of newer torch versions are the only ones that may be
    missing.
    """
    newer = {
        *("aten._grouped_mm.default", "prims.fma.default"),
        *("aten._upsample_lanczos2d_aa.default", "aten._upsample_lanczos2d_aa_backward.default"),
        *("higher_order.flex_gemm", "higher_order.run_inductor_graph", "higher_order.switch"),
        *(f"_c10d_functional.{name}.default" for name in ("batch_p2p_ops", "irecv", "isend")),
    }
    assert find(name) is not None or name in newer


#: Packets that are decomposed -> the first torch known to have a function for them.
NEWER_DECOMPOSITIONS = {"hann_window": (2, 13)}


def test_every_decomposed_packet_has_a_function() -> None:
    """An older torch may lack some packets, or functions for them: those reach the importer whole."""
    table = decomposition_table()
    without = [
        p
        for packets in GROUPS.values()
        for p in packets
        if overloads(p) and not any(o in table for o in overloads(p))
    ]
    assert {p for p in without if NEWER_DECOMPOSITIONS.get(p, (0, 0)) <= TORCH} == set()


def test_ops_that_must_not_be_decomposed_are_not() -> None:
    decomposed = {str(op) for op in decomposition_table()}
    whole = ("aten.mm.default", "aten.bmm.default", "aten.addmm.default", "aten.convolution.default")
    assert decomposed.isdisjoint(whole) and set(whole) <= KEPT_WHOLE.keys()


def test_a_second_entry_is_refused() -> None:
    with pytest.raises(AssertionError, match="lowered twice"):
        lowers("aten.add.Tensor")(lambda call: None)
    with pytest.raises(AssertionError, match="lowered and kept whole"):
        keep_whole("a reason", "aten.add.Tensor")
    with pytest.raises(AssertionError, match="kept whole twice"):
        keep_whole("a reason", "aten.mm.default")


def test_what_inductor_decomposes_itself_is_asked_of_it() -> None:
    """All but two, which differ from torch's on other devices only, one that is about Inductor's flags of its
    C++ compiler (from torch 2.15 on), and those that have strides of eager here.  Torch 2.11 makes functions
    of the overloads that name dimensions.
    """
    from torch._decomp import decomposition_table as of_torch
    from torch._inductor.decomposition import select_decomp_table

    of_inductor = select_decomp_table()
    known = [op for op in decomposition_table() if op in of_inductor]
    if TORCH < (2, 13):
        known = [op for op in known if not any(name in str(op) for name in (".names_", ".dimname"))]
    own = {str(op).split(".")[1] for op in known if of_inductor[op] is not of_torch.get(op)}
    own -= {name.partition(".")[0] for name in strides.DECOMPOSITIONS}
    assert own - OF_INDUCTOR <= {"native_layer_norm", "embedding_dense_backward", "special_log_ndtr"}


def test_every_family_fills_the_table() -> None:
    entries = (*LOWERINGS.values(), *BY_KIND.values())
    families = {entry.family for entry in entries} | {"whole", "pointwise", "activations", "bessel"}
    assert {family.rpartition(".")[2] for family in FAMILIES} <= families | {"foreach"}


@pytest.mark.parametrize("dtype", list(BY_TORCH), ids=str)
def test_dtype_has_the_kind_that_torch_says(dtype: torch.dtype) -> None:
    row = BY_TORCH[dtype]
    assert (row.kind == "float") == dtype.is_floating_point
    assert (row.kind == "complex") == dtype.is_complex
    assert row.kind not in ("signed", "unsigned") or (row.kind == "signed") == dtype.is_signed
    assert row.kind == "bool" or row.bits == 8 * dtype.itemsize


FOREACH = sorted(n for n in LOWERINGS if n.startswith("aten._foreach_"))


@pytest.mark.parametrize("name", FOREACH)
def test_foreach_is_eager_on_every_element(name: str) -> None:
    op = find(name)
    torch.manual_seed(0)

    def argument(schema: Any) -> Any:
        kind = str(schema.type)
        if kind == "List[Tensor]":
            return [torch.rand(2, 3) + 1.25, torch.rand(4) + 1.25]
        known = {
            "Tensor": torch.tensor(1.5),
            "number": 1.5,
            "List[number]": [2.0, 1.5],
            "float": 2.0,
            "List[float]": [2.0, 3.0],
        }
        return known[kind]

    given = {a.name: argument(a) for a in op._schema.arguments}
    args = [given[a.name] for a in op._schema.arguments if not a.kwarg_only]
    kwargs = {a.name: given[a.name] for a in op._schema.arguments if a.kwarg_only}
    try:
        ours = run_one(op, args, kwargs)
    except UnsupportedOp as error:  # pragma: no cover - a failure with the reason
        pytest.fail(str(error))
    for a, b in zip(ours, op(*args, **kwargs), strict=True):
        torch.testing.assert_close(a, b, rtol=2e-6, atol=1e-6, equal_nan=True)
