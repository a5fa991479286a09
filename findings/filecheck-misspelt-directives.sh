#!/usr/bin/env bash
# Guess: a directive that does not exist, CHECK-NXT for CHECK-NEXT, fails or is warned of, as LLVM's FileCheck does for
# directives that look misspelt.
# Seen on 2026-11-27 with filecheck 1.0.6, the one in Python: such lines are comments, so that a test whose only further
# line is misspelt passes whatever the output is.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q filecheck==1.0.6
printf 'a\nb\n' >"$work/output"
for directive in CHECK-NXT CHECK-DAGG CHECK-EMPTYY; do
  printf '// CHECK: a\n// %s: not there\n' $directive >"$work/checks"
  "$work/venv/bin/python" -m filecheck "$work/checks" <"$work/output" >"$work/said" 2>&1 ||
    { echo "$directive is refused now: $(cat "$work/said")"; exit 1; }
  echo "$directive: passes, and says '$(cat "$work/said")'"
done
printf '// CHECK: a\n// CHECK-NEXT: not there\n' >"$work/checks"
if "$work/venv/bin/python" -m filecheck "$work/checks" <"$work/output" >/dev/null 2>&1; then
  echo "CHECK-NEXT is ignored, too"; exit 1
fi
