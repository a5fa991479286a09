"""Numbers that tests draw: shared by tests, no test itself."""

import torch
from torch import Tensor


def drawn(*sizes: int, of: int = 0) -> Tensor:
    """Normal numbers in bfloat16 on a CPU, equal each time.  Tensors of equal sizes differ by ``of``: where
    keys are the queries, each row of attention finds itself, and a factor in another's place is not noticed.
    """
    draw = torch.Generator().manual_seed(1000 * of + sum(sizes))
    return torch.randn(*sizes, generator=draw).to(torch.bfloat16)
