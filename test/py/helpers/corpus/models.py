"""Graphs captured from transformers' architectures, built from configurations, tiny and with random weights.

`MODELS[name]()` is a module and its keyword arguments.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

SMALL = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "vocab_size": 37,
    "max_position_embeddings": 16,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
NO_DROPOUT = dict.fromkeys(
    (
        "attention_dropout",
        "hidden_dropout",
        "hidden_dropout_prob",
        "attention_probs_dropout_prob",
        "dropout",
        "activation_dropout",
        "embd_pdrop",
        "resid_pdrop",
        "attn_pdrop",
        "classifier_dropout",
        "layerdrop",
    ),
    0.0,
)
GROUPED = {"num_key_value_heads": 1, "head_dim": 8}
IMAGE = {"image_size": 8, "patch_size": 4, "num_channels": 3}

#: Model type of transformers -> what its configuration has beside the small sizes.
TEXT: dict[str, dict[str, Any]] = {
    "mistral": GROUPED,
    "qwen2": GROUPED,
    "qwen3": GROUPED,
    "gemma": GROUPED,
    "gemma2": GROUPED,
    "phi": {},
    "phi3": {"num_key_value_heads": 1},
    "gpt_neox": {},
    "opt": {"ffn_dim": 24, "word_embed_proj_dim": 16},
    "roberta": {"max_position_embeddings": 20},
    "electra": {"embedding_size": 16},
    "albert": {"embedding_size": 8},
    "distilbert": {"dim": 16, "n_layers": 1, "n_heads": 2, "hidden_dim": 24},
    "stablelm": {"num_key_value_heads": 1},
    "olmo2": {"num_key_value_heads": 1},
    "starcoder2": {"num_key_value_heads": 1},
}
VISION: dict[str, dict[str, Any]] = {
    "vit": IMAGE,
    "deit": IMAGE,
    "dinov2": IMAGE,
    "resnet": {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1], "layer_type": "basic"},
}  # fmt: skip


def _text(kind: str, extra: dict[str, Any]) -> tuple[nn.Module, dict[str, Any]]:
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(3, SMALL["vocab_size"], (2, 6), generator=generator)
    return _built(kind, extra), {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}


def _vision(kind: str, extra: dict[str, Any]) -> tuple[nn.Module, dict[str, Any]]:
    generator = torch.Generator().manual_seed(0)
    return _built(kind, extra), {"pixel_values": torch.randn(2, 3, 8, 8, generator=generator)}


def _built(kind: str, extra: dict[str, Any]) -> nn.Module:
    from transformers import AutoConfig, AutoModel

    config = AutoConfig.for_model(kind, **{**SMALL, **NO_DROPOUT, **extra})
    config.use_cache = False
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return AutoModel.from_config(config)


def _entry(make: Callable[..., Any], kind: str, extra: dict[str, Any]) -> Callable[[], Any]:
    return lambda: make(kind, extra)


MODELS: dict[str, Callable[[], tuple[nn.Module, dict[str, Any]]]] = {
    **{kind: _entry(_text, kind, extra) for kind, extra in TEXT.items()},
    **{kind: _entry(_vision, kind, extra) for kind, extra in VISION.items()},
}
