#!/usr/bin/env bash
# Guess: a loop of tensor-core products that runs at most once costs what one block costs.
# Seen on 2026-11-28 with Triton 3.6.0, without a GPU: LLVM makes a branch of it and sets the sums to 0 between the
# instructions there, whereupon ptxas waits for each product, in all loops of the kernel. A bound that LLVM does not
# know keeps the loop.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TRITON_CACHE_DIR="$work/cache"
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0 triton==3.6.0
cat > "$work/kernel.py" <<'PY'
import subprocess, pathlib, tempfile
import triton, triton.language as tl
from triton.compiler import ASTSource, compile
from triton.backends.compiler import GPUTarget

@triton.jit
def step(a, K, V, acc, m0):
    d = tl.arange(0, 128)
    m = m0 * 64 + tl.arange(0, 64)
    k = tl.load(K + m[None, :] * 128 + d[:, None])
    v = tl.load(V + m[:, None] * 128 + d[None, :])
    return tl.dot(tl.dot(a, k).to(tl.bfloat16), v, acc)

@triton.jit
def kernel(A, K, V, O, N, HIDDEN: tl.constexpr):
    pid = tl.program_id(0)
    n, d = pid * 64 + tl.arange(0, 64), tl.arange(0, 128)
    a = tl.load(A + n[:, None] * 128 + d[None, :])
    acc = tl.zeros([64, 128], tl.float32)
    end = tl.minimum(pid + 1, N)
    stop = end
    if HIDDEN:
        stop = tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [end], dtype=tl.int32, is_pure=True, pack=1)
    for m0 in range(pid, stop):
        acc = step(a, K, V, acc, m0)
    for m0 in range(end, N):
        acc = step(a, K, V, acc, m0)
    tl.store(O + n[:, None] * 128 + d[None, :], acc.to(tl.bfloat16))

def said(hidden):
    signature = {"A": "*bf16", "K": "*bf16", "V": "*bf16", "O": "*bf16", "N": "i32", "HIDDEN": "constexpr"}
    aligned = {(i,): [["tt.divisibility", 16]] for i in range(4)}
    source = ASTSource(fn=kernel, signature=signature, constexprs={(5,): hidden}, attrs=aligned)
    made = compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4, "num_stages": 3})
    ptxas = pathlib.Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "ptxas"
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(made.asm["ptx"])
        file.flush()
        call = [ptxas, "-v", "-arch=sm_90a", file.name, "-o", "/dev/null"]
        text = subprocess.run(call, capture_output=True, text=True).stderr
    return "instructions are serialized" in text


print("serialised, with a bound that LLVM knows:", said(False), "and that it does not know:", said(True))
assert said(False), "ptxas does not wait for each product now"
assert not said(True), "ptxas waits in spite of it"
PY
"$work/venv/bin/python" "$work/kernel.py"
