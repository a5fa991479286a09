"""Each variant of attention under each condition, forward and backward, beside float64 on the interpreter.

The GPU's module is ``gpu/test_gpu_attention_variants.py``, of the same variants.
"""

from collections.abc import Callable, Iterable
from typing import Any

import pytest
import torch
from attention_conditions import (
    assert_as_eager,
    derived,
    gradients,
    in_float64,
    masked,
    noise_of,
    plain,
    samples,
    seen_by,
)
from attention_variants import TRAINED, VARIANTS, Sizes
from compiling import Compiled
from torch import Tensor

from fuse_mlir.compiler.analysis.contraction.looped import LoopedBlocks
from fuse_mlir.compiler.analysis.tiling import held_rules

FORCED = {"products": "generated", "attention": False, "interpret_level": "tiled", "cache": False}
#: No block divides them.
ROWS, KEYS = 37, 53


def in_turn(names: Iterable[str], turn: int) -> list[Any]:
    """Every third name from a turn on; the others are `slow`, as each takes seconds."""
    return [n if i % 3 == turn else pytest.param(n, marks=pytest.mark.slow) for i, n in enumerate(names)]


@pytest.fixture
def block(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Sets the rows and the columns of a block."""
    return lambda size: monkeypatch.setattr(
        held_rules, "looped_blocks", lambda *_: LoopedBlocks(size, size, 4, 1)
    )


@pytest.mark.parametrize("name", in_turn(VARIANTS, 0))
def test_special_numbers(name: str, block: Callable[[int], None]) -> None:
    """NaN and infinite queries, keys and values.  Where blocks are left out, one block has all keys."""
    variant = VARIANTS[name]
    block(64 if variant.skips else 16)
    function, given = plain(variant), samples(variant, variant.sizes(ROWS, KEYS))
    compiled = Compiled(function, FORCED)
    for args in given.values():
        assert_as_eager(compiled(*args), function(*args), function(*in_float64(args)))
    assert {*derived(compiled)[0]} == {variant.rule}


@pytest.mark.parametrize("name", in_turn(VARIANTS, 1))
def test_rows_without_keys_of_symbolic_lengths(name: str, block: Callable[[int], None]) -> None:
    """Also one key, which is a graph of its own, and lengths that blocks divide."""
    variant = VARIANTS[name]
    block(16)
    function = masked(variant)
    compiled = Compiled(function, FORCED, dynamic=None)
    for rows, keys in ((ROWS, KEYS), (48, 64), (20, 90), (3, 1)):
        sizes = Sizes(variant.rows or rows, keys)
        args = variant.operands(sizes)
        for seen in seen_by(sizes).values():
            for tensor in (seen, *args) if rows == ROWS else ():
                for dim in (d for d, n in enumerate(tensor.shape) if n in (ROWS, KEYS)):
                    torch._dynamo.maybe_mark_dynamic(tensor, dim)
            found, eager = compiled(seen, *args), function(seen, *args)
            assert_as_eager(found, eager, function(seen, *in_float64(args)))
    assert len(compiled.graphs) == 2


@pytest.mark.parametrize("name", in_turn(TRAINED, 2))
def test_gradients(name: str, block: Callable[[int], None]) -> None:
    """Of rows that see one key or none, too, and of special numbers."""
    variant = VARIANTS[name]
    block(64 if variant.skips else 16)
    sizes = variant.sizes(ROWS, KEYS)
    function, given, masks = masked(variant), samples(variant, sizes), seen_by(sizes)

    def of(f: Callable[..., Tensor], seen: Tensor, args: list[Tensor]) -> list[Tensor]:
        return gradients(lambda *some: f(seen, *some), args, variant.learned)

    compiled = Compiled(function, FORCED)
    conditions = (("finite", "all"), ("finite", "empty rows"), ("NaN", "all"), ("infinite", "one key"))
    for numbers, mask in conditions:
        args, seen = given[numbers], masks[mask]
        for found in zip(*(of(f, seen, a) for f, a in (
            (compiled, args), (function, args), (function, in_float64(args)))), strict=True):  # fmt: skip
            assert_as_eager(*found, times=variant.error, noise=noise_of(found[0], mask))
    assert derived(compiled)[1].count("cascade") == variant.kernels
