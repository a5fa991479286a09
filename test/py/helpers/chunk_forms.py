"""Products of chunks of a sequence, with decays between their places and states in front of them."""

import torch
from torch import Tensor


def segment_sums(x: Tensor) -> Tensor:
    """[.., t] -> [.., t, s]: the sums of x between s (without) and t, -inf where s is later."""
    length = x.shape[-1]
    rows = x[..., None].expand(*x.shape, length)
    rows = rows.masked_fill(~torch.ones(length, length, dtype=torch.bool, device=x.device).tril(-1), 0)
    kept = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
    return rows.cumsum(-2).masked_fill(~kept, -torch.inf)


def along_rows(c: Tensor, b: Tensor, a: Tensor, x: Tensor) -> Tensor:
    return ((c @ b.mT) * torch.exp(segment_sums(a)).to(c.dtype)) @ x


def turned(c: Tensor, b: Tensor, a: Tensor, x: Tensor) -> Tensor:
    """``along_rows`` with the scores for a right factor, as ``einsum`` of four operands may have it."""
    return x.mT @ ((c @ b.mT) * torch.exp(segment_sums(a)).to(c.dtype)).mT


def along_columns(c: Tensor, b: Tensor, a: Tensor, x: Tensor) -> Tensor:
    rows = a[..., None, :] * torch.arange(1, c.shape[-2] + 1, device=c.device)[:, None]
    return ((c @ b.mT) * torch.exp(rows.cumsum(-1) / 64).to(c.dtype)) @ x


def backwards(c: Tensor, b: Tensor, a: Tensor, x: Tensor) -> Tensor:
    rows = a[..., None] * torch.arange(1, b.shape[-2] + 1, device=b.device)
    return ((c @ b.mT) * torch.exp(rows.flip(-2).cumsum(-2).flip(-2) / 64).to(c.dtype)) @ x


def of_rows_alone(c: Tensor, b: Tensor, a: Tensor, x: Tensor) -> Tensor:
    return ((c @ b.mT) * torch.exp(a.cumsum(-1)).to(c.dtype)[..., None]).tril() @ x


def with_states(c: Tensor, b: Tensor, a: Tensor, x: Tensor, state: Tensor) -> Tensor:
    inside = along_rows(c, b, a, x)
    across = torch.einsum("bln,bpn,bl->blp", c, state, torch.exp(a.cumsum(-1)).to(c.dtype))
    return inside + across


def beside_states(c: Tensor, b: Tensor, a: Tensor, x: Tensor, state: Tensor) -> Tensor:
    return (c @ b.mT).tril() @ x + c @ state.mT


def of_other_rows(c: Tensor, b: Tensor, a: Tensor, x: Tensor, state: Tensor) -> Tensor:
    return (c @ b.mT).tril() @ x + b @ state.mT


def of_what_is_made(c: Tensor, b: Tensor, a: Tensor, x: Tensor, state: Tensor) -> Tensor:
    return (c @ b.mT).tril() @ x + x @ state[:, :, : x.shape[-1]].mT
