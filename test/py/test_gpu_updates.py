"""On a GPU: arguments that are updated where they lie, and products written into their concatenation."""

import pytest
import test_concat_products
import test_narrow_stores
import test_reinplace_updates
import torch
from compiling import check

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("fresh_dynamo")]

DTYPES = (torch.float32, torch.bfloat16)
FUNCTIONS = {
    "caches": [function for function, _ in test_reinplace_updates.CASES],
    "parts": [function for function, _ in test_narrow_stores.CASES],
    "products": list(test_concat_products.FIRES),
}
CASES = [(kind, function) for kind, functions in FUNCTIONS.items() for function in functions]


def given(kind, dtype):
    """Arguments for the functions of a kind."""

    def drawn(*shape):
        return torch.randn(shape, device="cuda").to(dtype)

    if kind == "caches":
        at = torch.tensor([5], device="cuda")
        return (drawn(2, 16, 8), drawn(2, 16, 8), at, drawn(2, 1, 8), drawn(2, 1, 8), drawn(2, 1, 8))
    return (drawn(6, 8), drawn(2, 8)) if kind == "parts" else (drawn(8, 8), drawn(8, 8), drawn(8, 16))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("kind", "function"), CASES, ids=[f.__name__ for _, f in CASES])
def test_on_the_gpu(kind, function, dtype):
    check(function, *given(kind, dtype), check_memory=True)
