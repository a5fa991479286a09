#!/usr/bin/env bash
# Guess: `torch.compile(f, backend="name")` may be called first by several threads at once, as with a backend that is
# given as a function.
# Seen on 2026-11-28 with torch 2.13.0: torch looks whether a name is registered, loads the entry point, and registers
# it without a lock, so all threads but the first get "duplicate name".
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q torch==2.13.0 numpy
mkdir -p "$work/path/slow_backend-1.0.dist-info"
printf '[torch_dynamo_backends]\nslow = slow_backend:run\n' >"$work/path/slow_backend-1.0.dist-info/entry_points.txt"
printf 'Metadata-Version: 2.1\nName: slow_backend\nVersion: 1.0\n' >"$work/path/slow_backend-1.0.dist-info/METADATA"
printf 'import time\ntime.sleep(0.5)\ndef run(gm, inputs):\n    return gm.forward\n' >"$work/path/slow_backend.py"
cat >"$work/first.py" <<'TEXT'
import threading

from torch._dynamo.backends.registry import list_backends, lookup_backend

list_backends()
said = []


def look() -> None:
    try:
        lookup_backend("slow")
        said.append("found")
    except AssertionError as error:
        said.append(str(error))


threads = [threading.Thread(target=look) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(sorted(said))
assert "duplicate name: slow" in said, "it is registered under a lock now"
TEXT
PYTHONPATH="$work/path" "$work/venv/bin/python" "$work/first.py"
