#!/usr/bin/env bash
# Guess: the Python port of FileCheck ends the life of variables at a CHECK-LABEL under --enable-var-scope, and refuses a
# prefix of --check-prefixes that no check line has, as LLVM's FileCheck does by default.
# Seen on 2026-11-28 with filecheck 1.0.6: the first option is taken and changes nothing, a variable of one function
# matches in the next. A prefix without a line is passed over in silence, so that a misspelt one tests nothing.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q filecheck==1.0.6
cd "$work"
printf 'CHECK-LABEL: first\nCHECK: [[X:[a-z]+]] made\nCHECK-LABEL: second\nCHECK: [[X]] used\n' >scope.txt
printf 'first\nfoo made\nsecond\nfoo used\n' | venv/bin/filecheck --enable-var-scope scope.txt ||
  { echo "a variable ends at a label now"; exit 1; }
printf 'A: a\n' >prefix.txt
echo a | venv/bin/filecheck --check-prefixes=A,MISSPELT prefix.txt || { echo "an idle prefix is refused now"; exit 1; }
echo "both pass: a variable of another function, and a prefix that stands nowhere"
