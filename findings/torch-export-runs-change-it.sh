#!/usr/bin/env bash
# Guess: an exported program is a snapshot, so that running its module() leaves it, and what torch.export.save writes, as
# it was exported.
# Seen on 2026-11-28 with torch 2.13.0 (and 2.15.0): module() shares the buffers. A call that writes to one changes the
# exported program, the model that was exported, and the file that is saved afterwards.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q torch==2.13.0 numpy
cat >"$work/runs.py" <<'PY'
import sys

import torch


class Count(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls.add_(1)
        return x + self.calls


model = Count()
program = torch.export.export(model, (torch.ones(2),))
assert model.calls == 0 and program.state_dict["calls"] == 0, "export itself counts now"
program.module()(torch.ones(2))
torch.export.save(program, sys.argv[1])
calls = [float(model.calls), float(program.state_dict["calls"])]
calls.append(float(torch.export.load(sys.argv[1]).state_dict["calls"]))
print("torch", torch.__version__, "calls in the model, the exported program, the file:", calls)
assert calls == [1.0, 1.0, 1.0], "module() has buffers of its own now"
PY
"$work/venv/bin/python" -W ignore "$work/runs.py" "$work/count.pt2"
