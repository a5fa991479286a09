"""torch.nn.attention.flex_attention: its score and mask functions are sub-graphs among the op's arguments."""

import torch
from compiling import Compiled
from made_up_gpu import made_up_gpu
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

Q, K, V = torch.randn(3, 2, 4, 32, 16, generator=torch.Generator().manual_seed(0))
BIAS = torch.linspace(-1, 1, 32)


def plain(q, k, v):
    return flex_attention(q, k, v)


def with_score_and_mask(q, k, v, bias):
    mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, 32, 32, device="cpu")
    return flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s + bias[j] * h, block_mask=mask)


def exactly(q, k, v, added):
    q, k, v = (t.double() for t in (q, k, v))
    return (q @ k.mT / 4 + added).softmax(-1) @ v


def test_plain():
    torch.testing.assert_close(Compiled(plain)(Q, K, V).double(), exactly(Q, K, V, 0), atol=1e-5, rtol=1e-5)


def test_score_and_mask():
    added = BIAS.double() * torch.arange(4).view(4, 1, 1) + torch.full((32, 32), -torch.inf).triu(1)
    found = Compiled(with_score_and_mask)(Q, K, V, BIAS)
    torch.testing.assert_close(found.double(), exactly(Q, K, V, added), atol=1e-5, rtol=1e-5)


def test_plans_hand_over_tuples():
    """torch adds the tuples of captured tensors of both functions, and refuses a list."""
    with made_up_gpu():
        Compiled(with_score_and_mask, {"flex_attention": "eager"})(Q, K, V, BIAS)
