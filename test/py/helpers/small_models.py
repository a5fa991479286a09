"""A module and a function that tests compile, in new processes too."""

import torch
from torch import nn
from torch.nn import functional as F


class MLP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.norm, self.down = nn.Linear(16, 32), nn.LayerNorm(32), nn.Linear(32, 4)

    def forward(self, x):
        return self.down(self.norm(F.gelu(self.up(x))))


def block(x, w):
    return F.softmax(F.gelu(x @ w) + x.mean(-1, keepdim=True), -1) * torch.sigmoid(x[:, :1])
