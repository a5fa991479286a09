"""The same input gives the same bytes: IR after every pass, kernels' texts, names and cache keys."""

import hashlib
from pathlib import Path

import pytest
import torch
from compiling import Compiled
from new_process import python
from stored_programs import keys
from torch.nn import functional as F

from fuse_mlir.compiler.codegen.launches import kernel_sources

#: Trains the tiny GPT-2 block once at the planned level, dumps every pass and prints every kernel's key; then
#: compiles a function of dynamic sizes.
TRAINING = """
import sys
import torch
import fuse_mlir
from small_models import block
from fuse_mlir.bench.models import CASES
from stored_programs import keys
case, graphs = CASES["gpt2_block"], []
model = case.new_module("cpu", torch.float32).train()
inputs = case.inputs(2, torch.device("cpu"), torch.float32)
options = {"on_compiled": graphs.append, "dump": sys.argv[1], "interpret_level": "planned", "verify": "off"}
call = torch.compile(model, backend=fuse_mlir.backend, fullgraph=True, dynamic=False, options=options)
case.loss(call(*inputs.args, **inputs.kwargs)).backward()
for graph in graphs:
    print(*keys(graph), sep="\\n")
    print(graph.remarks.render("yaml"))

def f(x, w):
    return block(x, w), x.sum(0), (x * 2).amax(1)

compiled = []
call = torch.compile(f, backend=fuse_mlir.backend, dynamic=True, options={"on_compiled": compiled.append})
call(torch.ones(5, 16), torch.ones(16, 24))
print(compiled[0].remarks.render("yaml"), compiled[0].module.operation.get_asm(enable_debug_info=True))
"""


def dumped(folder: Path) -> dict[str, str]:
    """The hash of every dumped file, by path, in the order of names."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def test_two_processes_dump_the_same_bytes_and_ask_for_the_same_kernels(tmp_path):
    printed, files = [], []
    for seed in ("1", "2"):
        code = f"import sys; sys.argv[1:] = [{str(tmp_path / seed)!r}]\n{TRAINING}"
        printed.append(python(code, PYTHONHASHSEED=seed, OMP_NUM_THREADS="1"))
        files.append(dumped(tmp_path / seed))
    names = [name for name in files[0] if name.endswith(".mlir")]
    for graph in ("forward", "backward"):
        assert f"{graph}-0/00-input.mlir" in names
        assert sum(name.startswith(graph) for name in names) > 10
        assert sum(line.startswith(f"{graph} ") for line in printed[0].splitlines()) > 1
    assert list(files[0]) == list(files[1])
    different = [name for name in files[0] if files[0][name] != files[1][name]]
    assert not different, f"the first file that differs is {different[0]}"
    assert "fuse.sym" in printed[0] and printed[0] == printed[1]


def normed(x, w):
    y = F.layer_norm(x, (24,), w)
    return F.softmax(y, -1), y.sum(0), (y * 2).amax(1)


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_two_equal_graphs_in_one_process_have_equal_texts(dynamic):
    def compiled(function):
        run = Compiled(function, {"interpret_level": "planned"}, dynamic)
        run(torch.ones(6, 24), torch.ones(24))
        [graph] = run.graphs
        return graph

    first = compiled(normed)
    compiled(lambda x, w: (x * w).cos())  # what else the process compiled is of no consequence
    second = compiled(normed)
    texts = [graph.module.operation.get_asm(enable_debug_info=True) for graph in (first, second)]
    assert texts[0] == texts[1]
    assert keys(first) == keys(second) != []
    assert first.remarks.render("yaml") == second.remarks.render("yaml")


def test_a_kernel_has_one_text_whatever_else_is_in_its_module():
    """So that graphs which have it in common, a forward and a backward one for example, compile it once."""
    run = Compiled(normed, {"interpret_level": "planned"})
    run(torch.ones(6, 24), torch.ones(24))
    [graph] = run.graphs
    sources = kernel_sources(graph.module)
    assert len(sources) > 1
    for op in list(graph.module.body.operations)[1:]:  # the other way round
        op.operation.move_before(graph.module.body.operations[0].operation)
    assert kernel_sources(graph.module) == sources


def test_another_graph_has_other_keys():
    """What the comparisons above could not do without."""
    graphs = []
    for factor in (2.0, 3.0):
        run = Compiled(lambda x, factor=factor: (x * factor).sum(0), {"interpret_level": "planned"})
        run(torch.ones(6, 24))
        graphs += run.graphs
    assert {line.split()[-1] for line in keys(graphs[0])}.isdisjoint(
        line.split()[-1] for line in keys(graphs[1])
    )
