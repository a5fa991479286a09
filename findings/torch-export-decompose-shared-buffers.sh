#!/usr/bin/env bash
# Guess: what torch.export.export accepts and runs rightly, run_decompositions accepts, too, or refuses with a sentence
# about the model.
# Seen on 2026-11-28 with torch 2.13.0 (and 2.15.0): where two buffers share memory and one is written, export works and
# its module() is right; run_decompositions ends in an AssertionError about the type of "compiled_fn".
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q torch==2.13.0 numpy
cat >"$work/shared.py" <<'PY'
import torch


class Shared(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("all", torch.zeros(4))
        self.register_buffer("first", self.all[:2])

    def forward(self, x):
        self.first.add_(1)
        return self.all + x


program = torch.export.export(Shared(), (torch.ones(4),))
result = program.module()(torch.ones(4)).tolist()
assert result == [2.0, 2.0, 1.0, 1.0] == Shared()(torch.ones(4)).tolist()
try:
    program.run_decompositions()
except AssertionError as error:
    print("torch", torch.__version__, "module() gives", result, "and run_decompositions says:", error)
    assert "compiled_fn" in str(error), "another error now"
else:
    raise SystemExit("run_decompositions takes it now")
PY
"$work/venv/bin/python" -W ignore "$work/shared.py"
