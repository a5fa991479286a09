#!/usr/bin/env bash
# Guess: whatever a float becomes when it is converted to int8, that is a number from -128 to 127.
# Seen on 2026-11-28 with triton 3.6.0: PTX converts to 16 bits, and nothing cuts them to 8. A conversion to int64
# behind it takes all 16, so 300.0 to int8 to int64 is 300 on an H200, 1e20 is 32767, and as uint8 65535. The store of
# an int8 cuts them, and so does Triton's interpreter, where 300.0 is 44. It needs no GPU: the PTX is read.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q triton==3.6.0
cat >"$work/bytes.py" <<'PY'
import re
import sys
from pathlib import Path

import triton
from triton.backends.compiler import GPUTarget

path = Path(sys.argv[1]) / "kernel.ttir"
seen = {"si": ["cvt.rzi.s16.f32", "cvt.s64.s16"], "ui": ["cvt.rzi.u16.f32", "cvt.u64.u16"]}
changed = False
for sign, wanted in seen.items():
    path.write_text(f"""module {{
  tt.func public @kernel(%p: !tt.ptr<f32>, %q: !tt.ptr<i64>) {{
    %v = tt.load %p : !tt.ptr<f32>
    %b = arith.fpto{sign} %v : f32 to i8
    %w = arith.ext{sign} %b : i8 to i64
    tt.store %q, %w : !tt.ptr<i64>
    tt.return
  }}
}}
""")
    ptx = triton.compile(str(path), target=GPUTarget("cuda", 90, 32)).asm["ptx"]
    found = re.findall(r"\b(?:cvt|and|bfe|prmt|shl|szext)\.\S*[su](?:8|16|64)\S*", ptx)
    print(sign, *found)
    changed = changed or found != wanted
sys.exit(changed)
PY
TRITON_CACHE_DIR="$work/cache" "$work/venv/bin/python" "$work/bytes.py" "$work" ||
  { echo "Triton converts otherwise now"; exit 1; }
