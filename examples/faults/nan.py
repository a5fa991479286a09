"""A batch of sentences of which one is empty: the loss is NaN. Which launch wrote the first one?

docs/debugging.md finds it. Run it: `python examples/faults/nan.py`.
"""

import torch
from torch import Tensor, nn

import fuse_mlir


class Pooled(nn.Module):
    """Classes of sentences: a weighted mean over the words of each, then a small network."""

    def __init__(self, width: int, classes: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.score = nn.Linear(width, 1)
        self.hidden = nn.Linear(width, width)
        self.head = nn.Linear(width, classes)

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """words [n, length, width], lengths [n] -> scores of classes [n, classes]."""
        words = self.norm(words)
        scores = self.score(words).squeeze(-1)
        padding = torch.arange(words.shape[1]) >= lengths[:, None]
        weights = scores.masked_fill(padding, -torch.inf).softmax(-1)
        pooled = (weights[:, :, None] * words).sum(1)
        return self.head(torch.relu(self.hidden(pooled)))


def main() -> None:
    """Prints the loss of one training step."""
    torch.manual_seed(0)
    model = torch.compile(Pooled(32, 5), backend=fuse_mlir.backend)
    words, lengths = torch.randn(8, 12, 32), torch.tensor([12, 7, 3, 0, 9, 12, 1, 5])
    loss = nn.functional.cross_entropy(model(words, lengths), torch.arange(8) % 5)
    loss.backward()
    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
