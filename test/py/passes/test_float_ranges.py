"""Bounds of floats hold however their operations are rounded."""

import random

import numpy as np
import pytest
from shared_context import shared_context

from fuse_mlir.compiler.mlir import ir
from fuse_mlir.passes.kernels.float_ranges import FloatRanges

POINTS = 97
BINARY = {
    "arith.addf": np.add, "arith.subf": np.subtract, "arith.mulf": np.multiply,
    "arith.maximumf": np.maximum, "arith.minimumf": np.minimum,
}  # fmt: skip


def drawn(seed: int) -> tuple[list[str], list[np.ndarray]]:
    """Lines that compute floats of a dim, and what each may give: rounded step by step, and where it is a sum
    of a product, computed in one step.
    """
    rng = random.Random(seed)
    at = np.arange(POINTS).astype(np.float32)
    lines, values = ["%v0 = arith.sitofp %i : i64 to f32"], [at]
    found, products = [at], {}
    for n in range(1, 9):
        a, kind = rng.randrange(n), rng.choice((*BINARY, "arith.negf", "math.floor"))
        operand = values[a]
        if kind not in BINARY:
            lines.append(f"%v{n} = {kind} %v{a} : f32")
            values.append(-operand if kind == "arith.negf" else np.floor(operand))
            found.append(values[-1])
            continue
        c = np.float32(rng.choice((0.5, 0.1, -0.7, 1 / 3, 63 / 127, 1.0, 1e-3, 17.0)))
        lines += [f"%c{n} = arith.constant {float(c):.9e} : f32", f"%v{n} = {kind} %v{a}, %c{n} : f32"]
        values.append(BINARY[kind](operand, c))
        found.append(values[-1])
        if kind == "arith.mulf":
            products[n] = operand.astype(np.float64) * np.float64(c)  # 48 bits: exact
        elif kind in ("arith.addf", "arith.subf") and a in products:
            once = BINARY[kind](products[a], np.float64(c)).astype(np.float32)
            found[-1] = np.stack((values[-1], once))
    return lines, found


@pytest.mark.parametrize("seed", range(20))
def test_values_stay_within(seed: int) -> None:
    lines, values = drawn(seed)
    text = "func.func @k(%i: i64) {\n" + "\n".join(lines) + "\nreturn\n}"
    with shared_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        body = module.body.operations[0].regions[0].blocks[0]
        ranges = FloatRanges(lambda _: (0, POINTS - 1))
        ops = [op.operation for op in body.operations]
        made = [op.results[0] for op in ops if len(op.results) and op.name != "arith.constant"]
        assert len(made) == len(values)
        for value, seen in zip(made, values, strict=True):
            found = ranges.range(value)
            assert found is not None
            assert found[0] <= seen.min()
            assert seen.max() <= found[1]
