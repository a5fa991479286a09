"""``deduplicate-checks``: what an assertion lets pass, against every number of 8 bits; and whole programs."""

import random
from itertools import pairwise

import numpy as np
import pytest
import torch
from interpreted_gpu import interpreted_gpu
from shared_context import shared_context
from torch import Tensor

from fuse_mlir.compiler import backend
from fuse_mlir.compiler.analysis.kernel.checked_indices import common, index_checks, within
from fuse_mlir.compiler.ir.kernel import Kernel
from fuse_mlir.compiler.mlir import ir

pytestmark = pytest.mark.usefixtures("fresh_dynamo")

ALL = np.arange(-128, 128).astype(np.int8)
COMPARISONS = {"slt": np.less, "sle": np.less_equal, "sgt": np.greater, "sge": np.greater_equal}
LOGIC = {"andi": np.logical_and, "ori": np.logical_or, "xori": np.logical_xor}


def drawn(seed: int) -> tuple[list[str], np.ndarray]:
    """Lines that assert something of a number of 8 bits, and for which numbers it holds."""
    rng = random.Random(seed)
    lines: list[str] = []
    numbers, conditions = [("%i", ALL)], []
    for n in range(rng.randint(2, 9)):
        kind = rng.choice(("constant", "add", "compare", "compare", "select", "logic"))
        (a, a_values), (b, b_values) = rng.choice(numbers), rng.choice(numbers)
        if kind == "constant":
            value = rng.choice((-128, -100, -3, -1, 0, 1, 2, 40, 100, 127))
            lines.append(f"%v{n} = arith.constant {value} : i8")
            numbers.append((f"%v{n}", np.full_like(ALL, value)))
        elif kind == "add":
            lines.append(f"%v{n} = arith.addi {a}, {b} : i8")
            numbers.append((f"%v{n}", a_values + b_values))
        elif kind == "compare":
            name = rng.choice(list(COMPARISONS))
            lines.append(f"%v{n} = arith.cmpi {name}, {a}, {b} : i8")
            conditions.append((f"%v{n}", COMPARISONS[name](a_values, b_values)))
        elif conditions:
            (p, p_holds), (q, q_holds) = rng.choice(conditions), rng.choice(conditions)
            if kind == "select":
                lines.append(f"%v{n} = arith.select {p}, {a}, {b} : i8")
                numbers.append((f"%v{n}", np.where(p_holds, a_values, b_values)))
            else:
                name = rng.choice(list(LOGIC))
                lines.append(f"%v{n} = arith.{name} {p}, {q} : i1")
                conditions.append((f"%v{n}", LOGIC[name](p_holds, q_holds)))
    last, holds = conditions[-1] if conditions else ("%true", np.ones(256, bool))
    return [*lines, f'cf.assert {last}, "no" {{fuse.index_check}}'], holds


def found(lines: list[str]) -> list[tuple[int, int]] | None:
    text = "\n".join(lines)
    kernel = f"""func.func private @k(%at: tensor<4xi8>, %o: tensor<4xi8>) -> tensor<4xi8>
        attributes {{fuse.kernel, fuse.dims = {{d0 = "4"}}, fuse.ties = array<i64: 1>}} {{
      %true = arith.constant true
      %none = arith.constant 0 : i8
      %i = "fuse.load"(%at, %true, %none) {{at = ["d0"]}} : (tensor<4xi8>, i1, i8) -> i8
      {text}
      %r = "fuse.store"(%o, %i, %true) {{at = ["d0"], mode = "set"}} : (tensor<4xi8>, i8, i1) -> tensor<4xi8>
      return %r : tensor<4xi8>
    }}"""
    with shared_context(), ir.Location.unknown():
        module = ir.Module.parse(kernel)
        checks = index_checks(Kernel.of(module.body.operations[0].operation))
    assert all(check.whole and check.argument == 0 for check in checks)
    return list(checks[0].passed) if checks else None


def test_what_passes_is_what_every_number_of_8_bits_says() -> None:
    known = 0
    for seed in range(400):
        lines, holds = drawn(seed)
        spans = found(lines)
        if spans is None:
            continue
        known += 1
        passed = np.zeros(256, bool)
        for low, high in spans:
            passed[low + 128 : high + 129] = True
        assert (passed == holds).all(), lines
        assert all(b + 1 < c for (_, b), (c, _) in pairwise(spans)), spans
    assert known > 100


def test_ranges_within_and_common() -> None:
    assert within([(0, 3), (7, 7)], [(-1, 3), (6, 9)]) and not within([(0, 3)], [(0, 2)])
    assert within([], []) and not within([(0, 0)], [])
    assert common([(0, 5), (8, 9)], [(4, 8)]) == ((4, 5), (8, 8))
    assert common([(0, 1)], [(2, 3)]) == ()


def rows(table: Tensor, cache: Tensor, at: Tensor, new: Tensor) -> tuple[Tensor, Tensor]:
    scaled = table[at] * new
    cache.index_copy_(0, at, scaled.cumsum(1))
    return scaled, table[at].exp().sum(1)


FIRST = rows.__code__.co_firstlineno


@pytest.mark.parametrize("places", (32, 40, 31))
def test_a_row_that_was_looked_up_is_written(places: int) -> None:
    """One kernel asserts.  A number below 0 is a row of the table, and none of the cache: the write is wrong,
    as it is where the cache has fewer rows.
    """
    draw = torch.Generator().manual_seed(0)
    table, cache, new = (torch.randn(n, 8, generator=draw) for n in (32, places, 3))
    at, graphs = torch.tensor([4, 30, 0]), []
    wanted = rows(table.double(), before := cache.double(), at, new.double())
    with interpreted_gpu():
        call = torch.compile(
            rows, backend=backend.fuse, dynamic=False, options={"on_compiled": graphs.append}
        )
        for result, exact in zip((*call(table, cache, at, new), cache), (*wanted, before), strict=True):
            torch.testing.assert_close(result.double(), exact, rtol=1e-5, atol=1e-5)
        kernels = str(graphs[0].module).split("func.func")
        assert [k.count('"tt.assert"') for k in kernels if '"tt.assert"' in k] == [2]
        for wrong, line in ((32, 1), (-33, 1), (-1, 2), (-32, 2), (31, 2 if places == 31 else None)):
            at[1] = wrong
            if line is None:
                call(table, cache, at, new)
                continue
            kept = cache.clone()
            with pytest.raises(IndexError, match=f"index out of bounds .* at {__file__}:{FIRST + line}$"):
                call(table, cache, at, new)
            torch.testing.assert_close(cache, kept, rtol=0, atol=0)
