#!/usr/bin/env bash
# Guess: get_seq_length() of a cache is how long the cache was when it was asked, whatever kind of cache it is.
# Seen on 2026-11-29 with transformers 5.24.0: DynamicCache gives an int. StaticCache gives the tensor that it counts
# with, and counts in place, so a length that was kept says 4 after the next token. A mask or position that is made of
# it before an update, and used after it, is that of the next step.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0 transformers==5.24.0
cat >"$work/length.py" <<'PY'
import torch
from transformers import DynamicCache, LlamaConfig, StaticCache

config = LlamaConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=1, num_key_value_heads=1)
caches = {"dynamic": DynamicCache(config=config), "static": StaticCache(config=config, max_cache_len=8)}
expected = {"dynamic": 3, "static": 4}
for name, cache in caches.items():
    prompt, token = torch.ones(1, 1, 3, 8), torch.ones(1, 1, 1, 8)
    cache.update(prompt, prompt, 0)
    length = cache.get_seq_length()
    before = int(length)
    cache.update(token, token, 0)
    print(name, type(length).__name__, "said", before, "and says", int(length))
    assert before == 3 and int(length) == expected[name], f"{name} says {int(length)} now"
PY
"$work/venv/bin/python" -W ignore "$work/length.py"
