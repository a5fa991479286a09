#!/usr/bin/env bash
# Guess: torch.export.load notices a changed byte in a weight, since a .pt2 is a zip and each entry has a CRC.
# Seen on 2026-11-28 with torch 2.13.0 (and 2.15.0): it loads the archive without an error or a warning, and the weight
# has another value. Python's zipfile finds the same byte.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q torch==2.13.0 numpy
cat >"$work/changed.py" <<'PY'
import sys
import zipfile

import torch


class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("factor", torch.tensor([1.5, 2.5, 3.5, 4.5]))

    def forward(self, x):
        return x * self.factor


path = sys.argv[1]
torch.export.save(torch.export.export(Scale(), (torch.ones(4),)), path)
data = bytearray(open(path, "rb").read())
place = data.find(torch.tensor([1.5, 2.5, 3.5, 4.5]).numpy().tobytes())
data[place + 3] ^= 0x40
open(path, "wb").write(data)
result = torch.export.load(path).module()(torch.ones(4)).tolist()
print("torch", torch.__version__, "gives", result)
assert result[1:] == [2.5, 3.5, 4.5] and result[0] != 1.5, "the byte is noticed now"
found = zipfile.ZipFile(path).testzip()
print("zipfile finds", found)
assert found is not None and "weight" in found
PY
"$work/venv/bin/python" -W ignore "$work/changed.py" "$work/scale.pt2"
