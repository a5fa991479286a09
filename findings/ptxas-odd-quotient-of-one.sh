#!/usr/bin/env bash
# Guess: 1 / x by an approximate quotient that flushes (div.approx.ftz.f32, libdevice's fast_fdividef) is the one
# instruction that an approximate reciprocal is (rcp.approx.ftz.f32).
# Seen on 2026-11-28 with ptxas 12.8 of Triton 3.6.0, for sm_90: the quotient takes MUFU.RCP and FADD.FTZ, which flushes
# what the reciprocal has flushed already. The reciprocal takes MUFU.RCP alone, and seven instructions without ftz.
# Needs no GPU.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q triton==3.6.0
tools=$(dirname "$(find "$work/venv" -name cuobjdump | head -1)")
kernel() {
  cat <<PTX
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p) {
  .reg .u64 a; .reg .f32 x, y, one;
  ld.param.u64 a, [p]; cvta.to.global.u64 a, a; ld.global.f32 x, [a]; mov.f32 one, 0f3f800000;
  $1 st.global.f32 [a], y; ret;
}
PTX
}
instructions() {
  kernel "$1" > "$work/k.ptx"
  "$tools/ptxas" -arch sm_90 "$work/k.ptx" -o "$work/k.cubin"
  "$tools/cuobjdump" -sass "$work/k.cubin" | grep -oE "(MUFU|FADD|FMUL|FSETP|FSEL)[A-Z.]*" | paste -sd " "
}
quotient=$(instructions "div.approx.ftz.f32 y, one, x;")
reciprocal=$(instructions "rcp.approx.ftz.f32 y, x;")
echo "quotient: $quotient; reciprocal: $reciprocal; without ftz: $(instructions "rcp.approx.f32 y, x;")"
[ "$quotient" != "$reciprocal" ] || { echo "both take the same now"; exit 1; }
