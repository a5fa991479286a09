"""Each variant of attention under each condition, forward and backward, beside float64 on a CUDA device.

The interpreter's module is ``codegen/test_attention_variants.py``, of the same variants.
"""

from collections.abc import Callable

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

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("fresh_dynamo")]

FORCED = {"products": "generated", "attention": False}
#: No block divides them.  Of special numbers, so few that one block has all keys: others may be left out.
ROWS, KEYS = 37, 53
MORE_ROWS, MORE_KEYS = 300, 333


def on_gpu(tensors: list[Tensor]) -> list[Tensor]:
    return [t.cuda() for t in tensors]


@pytest.mark.parametrize("name", VARIANTS)
def test_special_numbers(name: str) -> None:
    """NaN and infinite queries, keys and values."""
    variant = VARIANTS[name]
    function, compiled = plain(variant), Compiled(plain(variant), FORCED)
    for some in samples(variant, variant.sizes(ROWS, KEYS)).values():
        args = on_gpu(some)
        assert_as_eager(compiled(*args), function(*args), function(*in_float64(args)))
    assert {*derived(compiled)[0]} == {variant.rule}


@pytest.mark.parametrize("name", VARIANTS)
def test_rows_without_keys_of_symbolic_lengths(name: str) -> None:
    """Also one key, and lengths that blocks divide.  The second lengths make both symbols."""
    variant = VARIANTS[name]
    function = masked(variant)
    compiled = Compiled(function, FORCED, dynamic=None)
    for rows, keys in ((MORE_ROWS, MORE_KEYS), (256, 384), (20, 90), (3, 1)):
        sizes = Sizes(variant.rows or rows, keys)
        args = on_gpu(variant.operands(sizes))
        for mask in seen_by(sizes).values():
            seen = mask.cuda()
            found, eager = compiled(seen, *args), function(seen, *args)
            assert_as_eager(found, eager, function(seen, *in_float64(args)))


@pytest.mark.parametrize("name", TRAINED)
@pytest.mark.parametrize("numbers", ["finite", "NaN", "infinite"])
def test_gradients(name: str, numbers: str) -> None:
    """Of more rows and keys where numbers are finite, and of rows that see one key or none."""
    variant = VARIANTS[name]
    finite = numbers == "finite"
    sizes = variant.sizes(*((MORE_ROWS, MORE_KEYS) if finite else (ROWS, KEYS)))
    function, args = masked(variant), on_gpu(samples(variant, sizes)[numbers])
    compiled = Compiled(function, FORCED)
    for mask, seen in seen_by(sizes).items():
        if mask == "nothing" or (mask != "all" and not finite):
            continue

        def of(f: Callable[..., Tensor], some: list[Tensor], seen: Tensor = seen) -> list[Tensor]:
            return gradients(lambda *xs: f(seen.cuda(), *xs), some, variant.learned)

        found = of(compiled, args), of(function, args), of(function, in_float64(args))
        for each in zip(*found, strict=True):
            assert_as_eager(*each, times=variant.error, noise=noise_of(found[0][0], mask))
        for a, b in zip(found[0], of(compiled, args), strict=True):
            assert torch.equal(a.view(torch.int16), b.view(torch.int16))
