#!/usr/bin/env bash
# Guess: torch.compile compiles a function of any package that is not torch's own or Python's. Or where some packages
# are left out, it is those that were installed under that name, and without fullgraph=True something says so.
# Seen on 2026-11-29 with torch 2.13.0 and Python 3.11 on a CPU (the same with torch 2.11.0 and Python 3.12 beside a
# GPU): the folders of whatever imports as `tree`, `tvm`, `onnx`, `tabulate`, `tqdm`, `networkx` or a few other names
# are left out by name. A package of a user's called `tree`, or a checkout in a folder of that name beside which Python
# looks for modules, runs eager: no graph reaches the backend, and nothing is printed. With fullgraph=True it fails.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3.11 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy torch==2.13.0
for name in tree forest; do
  mkdir "$work/$name"
  printf 'def double(x):\n    return x * 2\n' > "$work/$name/__init__.py"
done
cat > "$work/names.py" <<'PY'
import importlib
import warnings

import torch


def graphs_of(name, **options):
    """How many graphs reach a backend of the function of a package."""
    torch._dynamo.reset()
    graphs = []

    def backend(module, inputs):
        graphs.append(module)
        return module

    function = importlib.import_module(name).double
    result = torch.compile(function, backend=backend, **options)(torch.ones(3))
    assert result.tolist() == [2.0, 2.0, 2.0]
    return len(graphs)


with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    found = {name: graphs_of(name) for name in ("forest", "tree")}
print("graphs:", found, "warnings:", len(caught))
assert found == {"forest": 1, "tree": 0} and not caught, "packages are compiled whatever their name is now"
try:
    graphs_of("tree", fullgraph=True)
except torch._dynamo.exc.Unsupported as error:
    print(str(error).splitlines()[0])
else:
    raise AssertionError("with fullgraph=True it is compiled now")
PY
cd "$work" && "$work/venv/bin/python" names.py
