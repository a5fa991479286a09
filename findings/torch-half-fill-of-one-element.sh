#!/usr/bin/env bash
# Guess: whether a number fits a dtype does not depend on how many elements are filled with it.
# Seen on 2026-11-27 with torch 2.13.0 on a CPU: torch.full of one half with -1e9 gives -inf, of two it raises "value
# cannot be converted to type c10::Half without overflow". With uint8 and 300 both raise.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
"$work/venv/bin/python" - <<'PY'
import torch


def filled(count, number, dtype):
    try:
        return torch.full((count,), number, dtype=dtype).tolist()
    except RuntimeError as error:
        return str(error)


one, two = (filled(count, -1e9, torch.half) for count in (1, 2))
print("one:", one, "two:", two)
assert one == [float("-inf")], f"one half is {one} now"
assert "without overflow" in two, f"two halves are {two} now"
assert all("without overflow" in filled(count, 300, torch.uint8) for count in (1, 2))
PY
