#!/usr/bin/env bash
# Guess: what torch.einsum of several operands multiplies, and in which order, depends on the equation alone.
# Seen on 2026-11-29 with torch 2.13.0 on a CPU: where the package opt_einsum is installed, it orders the operands by
# their cost. Of four operands the last product then has the result of those before it for its right factor; without
# the package for its left one. A compiler sees other products on a machine that has it.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy opt_einsum==3.4.0 torch==2.13.0
"$work/venv/bin/python" - <<'PY'
import torch
from torch.fx.experimental.proxy_tensor import make_fx

args = [torch.randn(2, 64, 128), torch.randn(2, 64, 128), torch.randn(2, 64, 64), torch.randn(2, 64, 32)]


def factor_of_scores(enabled):
    torch.backends.opt_einsum.enabled = enabled
    graph = make_fx(lambda c, b, d, x: torch.einsum("bln,bsn,bls,bsp->blp", c, b, d, x))(*args).graph
    first, last = graph.find_nodes(op="call_function", target=torch.ops.aten.bmm.default)
    made, after = {first}, list(graph.nodes)
    for node in after[after.index(first) + 1 : after.index(last)]:
        made |= {node} & {user for m in made for user in m.users}
    return ["left", "right"][[a in made for a in last.args].index(True)]


assert torch.backends.opt_einsum.is_available()
found = factor_of_scores(False), factor_of_scores(True)
print("without, with opt_einsum:", found)
assert found == ("left", "right"), found
PY
