"""Models of Hugging Face transformers and timm, built from configurations with random weights.

Both libraries are imported when a case is built, never before. Dropout is off, so that results can be
compared elementwise; `dropout=` turns it on in the builders.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import nn

from .case import Draw, Inputs, ModelCase, Size, loss_attribute, projection_loss

TINY_VOCAB, TINY_LENGTH = 131, 16


def hf_gpt2(*, dropout: float = 0.0, **sizes: Any) -> nn.Module:
    """GPT2LMHeadModel; without `sizes` GPT-2 small (124 million parameters)."""
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(resid_pdrop=dropout, embd_pdrop=dropout, attn_pdrop=dropout, use_cache=False, **sizes)
    model = GPT2LMHeadModel(config)
    model.loss_type = "ForCausalLM"  # not deduced from the class; the warning about it would break the graph
    return model


def hf_bert(*, dropout: float = 0.0, **sizes: Any) -> nn.Module:
    """BertForMaskedLM; without `sizes` BERT base (110 million parameters)."""
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout, **sizes)
    return BertForMaskedLM(config)


def hf_llama(**sizes: Any) -> nn.Module:
    """LlamaForCausalLM; without `sizes` Llama 7B, so a test gives them."""
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(LlamaConfig(use_cache=False, attention_dropout=0.0, **sizes))


def hf_t5(*, dropout: float = 0.0, **sizes: Any) -> nn.Module:
    """T5ForConditionalGeneration, encoder and decoder."""
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        dropout_rate=dropout, use_cache=False, decoder_start_token_id=0, pad_token_id=0, **sizes
    )
    return T5ForConditionalGeneration(config)


def timm_model(name: str, **options: Any) -> nn.Module:
    """A timm architecture by name, random weights."""
    import timm

    return timm.create_model(name, pretrained=False, **options)


def _token_inputs(vocab: int, length: int, padded: bool) -> Callable[..., Inputs]:
    """input_ids and labels, int64 [batch, length]; `padded` masks the last two positions of the first row."""

    def inputs(batch: int, device: torch.device, dtype: torch.dtype) -> Inputs:
        draw = Draw(device, dtype)
        kwargs = {
            "input_ids": draw.integers(vocab, batch, length),
            "labels": draw.integers(vocab, batch, length),
        }
        if padded:
            mask = torch.ones(batch, length, dtype=torch.int64, device=device)
            mask[0, -2:] = 0
            kwargs["attention_mask"] = mask
        return Inputs((), kwargs)

    return inputs


def _image_inputs(side: int) -> Callable[..., Inputs]:
    def inputs(batch: int, device: torch.device, dtype: torch.dtype) -> Inputs:
        return Inputs((Draw(device, dtype).normal(batch, 3, side, side),))

    return inputs


def _text(
    name: str, build: Callable[[], nn.Module], size: Size, vocab: int, length: int, padded=False
) -> ModelCase:
    names = ("input_ids", "labels", "attention_mask") if padded else ("input_ids", "labels")
    return ModelCase(
        name,
        build,
        _token_inputs(vocab, length, padded),
        loss_attribute,
        {key: (0,) for key in names},
        size=size,
        requires=("transformers",),
    )


def _image(name: str, build: Callable[[], nn.Module], size: Size, side: int) -> ModelCase:
    return ModelCase(
        name, build, _image_inputs(side), projection_loss, {"0": (0,)}, size=size, requires=("timm",)
    )


def _text_cases() -> Iterator[ModelCase]:
    def tiny(name: str, build: Callable[[], nn.Module], padded: bool = False) -> ModelCase:
        return _text(name, build, "tiny", TINY_VOCAB, TINY_LENGTH, padded)

    yield tiny(
        "hf_gpt2_tiny",
        lambda: hf_gpt2(
            vocab_size=TINY_VOCAB,
            n_positions=32,
            n_embd=64,
            n_layer=2,
            n_head=4,
            bos_token_id=0,
            eos_token_id=0,
        ),
    )
    yield tiny(
        "hf_bert_tiny",
        lambda: hf_bert(
            vocab_size=TINY_VOCAB,
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
            max_position_embeddings=32,
        ),
        padded=True,
    )
    yield tiny(
        "hf_llama_tiny",
        lambda: hf_llama(
            vocab_size=TINY_VOCAB,
            hidden_size=64,
            intermediate_size=160,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=32,
        ),
    )
    yield tiny(
        "hf_t5_tiny",
        lambda: hf_t5(
            vocab_size=TINY_VOCAB,
            d_model=64,
            d_kv=16,
            d_ff=128,
            num_layers=2,
            num_decoder_layers=2,
            num_heads=4,
        ),
    )
    yield _text("hf_gpt2", hf_gpt2, "base", 50257, 512)
    yield _text("hf_bert_base", hf_bert, "base", 30522, 512, padded=True)
    yield _text(
        "hf_llama_1b",
        lambda: hf_llama(
            vocab_size=128256,
            hidden_size=2048,
            intermediate_size=8192,
            num_hidden_layers=16,
            num_attention_heads=32,
            num_key_value_heads=8,
            tie_word_embeddings=True,
        ),
        "base",
        128256,
        512,
    )
    yield _text(
        "hf_t5_base",
        lambda: hf_t5(d_model=768, d_kv=64, d_ff=3072, num_layers=12, num_heads=12),
        "base",
        32128,
        512,
    )


def _image_cases() -> Iterator[ModelCase]:
    yield _image(
        "timm_resnet50_tiny", lambda: timm_model("resnet50", layers=(1, 1, 1, 1), num_classes=10), "tiny", 64
    )
    yield _image(
        "timm_vit_base_patch16_224_tiny",
        lambda: timm_model(
            "vit_base_patch16_224", img_size=32, embed_dim=64, depth=2, num_heads=4, num_classes=10
        ),
        "tiny",
        32,
    )
    yield _image(
        "timm_convnext_tiny_tiny",
        lambda: timm_model("convnext_tiny", depths=(1, 1, 1, 1), dims=(16, 32, 64, 128), num_classes=10),
        "tiny",
        64,
    )
    for name in ("resnet50", "vit_base_patch16_224", "convnext_tiny"):
        yield _image(f"timm_{name}", partial(timm_model, name), "base", 224)


def cases() -> Iterator[ModelCase]:
    """Every text model tiny and at its published size; every image model likewise."""
    yield from _text_cases()
    yield from _image_cases()
