#!/usr/bin/env bash
# Guess: PTXAS_OPTIONS counts for a kernel when it is compiled, as the knob that reads it, knobs.nvidia.ptxas_options,
# looks into the environment each time.
# Seen on 2026-11-28 with triton 3.6.0: the knob follows the environment, but the option ptx_options of CUDAOptions has
# the value from the time when the NVIDIA backend was imported. What is set later is ignored, though the knob shows it.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q triton==3.6.0
env -u PTXAS_OPTIONS "$work/venv/bin/python" - <<'PY'
import os

from triton import knobs
from triton.backends.nvidia.compiler import CUDAOptions

os.environ["PTXAS_OPTIONS"] = "-O1"
knob, option = knobs.nvidia.ptxas_options, CUDAOptions(num_warps=4).ptx_options
print("knob:", knob, "option:", option)
assert knob == "-O1", f"the knob says {knob} now"
assert option is None, f"the option says {option} now"
PY
