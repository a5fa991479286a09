#!/usr/bin/env bash
# Guess: with TORCH_CACHING_PRECOMPILE=1 a model compiles as without it, and what cannot be cached is passed by.
# Seen on 2026-11-28 with torch 2.13.0: a graph break inside a property is an error, since the getter's code has no name
# that leads to it: "Cannot resolve a fully qualified name for <code object scale ..>". GPT-2 of transformers 5 has such
# a property (loss_function), so that its training step does not run.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q torch==2.13.0 numpy
cat >"$work/property.py" <<'PY'
import torch


class Scaled(torch.nn.Module):
    @property
    def scale(self):
        torch._dynamo.graph_break()
        return 2.0

    def forward(self, x):
        return x * self.scale


print(torch.compile(Scaled(), backend="eager")(torch.ones(2)))
PY
export TORCHINDUCTOR_CACHE_DIR=$work/cache
echo "without: $("$work/venv/bin/python" "$work/property.py")"
if said=$(TORCH_CACHING_PRECOMPILE=1 "$work/venv/bin/python" "$work/property.py" 2>&1); then
  echo "it runs now: $said"
  exit 1
fi
echo "with TORCH_CACHING_PRECOMPILE=1: $(echo "$said" | tail -1)"
[[ $said == *"Cannot resolve a fully qualified name"* ]] || exit 1
