"""A GPT-2 language model written out in this repository; the default configuration is GPT-2 small."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .blocks import GPT2Block
from .case import Draw, Inputs, ModelCase, Size


@dataclass(frozen=True)
class GPT2Config:
    """Sizes of the model. vocab: tokens; block: longest sequence; n_embd: width, a multiple of n_head."""

    vocab: int = 50257
    n_layer: int = 12
    n_head: int = 12
    n_embd: int = 768
    block: int = 1024
    explicit_attention: bool = False

    def __post_init__(self) -> None:
        if self.n_embd % self.n_head:
            raise ValueError(f"GPT2Config needs n_head to divide n_embd, got {self.n_head} and {self.n_embd}")


class GPT2(nn.Module):
    """Token and position embeddings, `n_layer` blocks, final norm, and a head tied to the token embedding."""

    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(config.vocab, config.n_embd)
        self.positions = nn.Embedding(config.block, config.n_embd)
        self.blocks = nn.ModuleList(
            GPT2Block(config.n_embd, config.n_head, explicit=config.explicit_attention)
            for _ in range(config.n_layer)
        )
        self.norm = nn.LayerNorm(config.n_embd)
        self.head = nn.Linear(config.n_embd, config.vocab, bias=False)
        self.apply(self._initialise)
        residual = 0.02 / (2 * config.n_layer) ** 0.5
        for block in self.blocks:
            nn.init.normal_(block.project.weight, std=residual)
            nn.init.normal_(block.mlp.down.weight, std=residual)
        self.head.weight = self.tokens.weight

    @staticmethod
    def _initialise(module: nn.Module) -> None:
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, idx: Tensor, targets: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """idx, targets: int64 [b, t], t <= block; a target of -1 is ignored.

        Returns logits [b, t, vocab] in the dtype of the weights and the mean cross-entropy in nats (0-d,
        float32 or wider), None without targets.
        """
        length = idx.shape[1]
        if length > self.config.block:
            raise ValueError(f"GPT2 takes at most {self.config.block} positions, got {length}")
        x = self.tokens(idx) + self.positions(torch.arange(length, device=idx.device))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten(), ignore_index=-1)


def _case(name: str, config: GPT2Config, length: int, size: Size) -> ModelCase:
    def inputs(batch: int, device: torch.device, dtype: torch.dtype) -> Inputs:
        draw = Draw(device, dtype)
        return Inputs(
            (draw.integers(config.vocab, batch, length), draw.integers(config.vocab, batch, length))
        )

    return ModelCase(
        name, lambda: GPT2(config), inputs, lambda outputs: outputs[1], {"0": (0,), "1": (0,)}, size=size
    )


def cases() -> Iterator[ModelCase]:
    """Two layers with an odd vocabulary, fused and spelled-out attention; and GPT-2 small at 512 tokens."""
    tiny = GPT2Config(vocab=131, n_layer=2, n_head=4, n_embd=64, block=32)
    yield _case("gpt2_tiny", tiny, 16, "tiny")
    yield _case("gpt2_tiny_explicit", replace(tiny, explicit_attention=True), 16, "tiny")
    yield _case("gpt2_small", GPT2Config(), 512, "base")
