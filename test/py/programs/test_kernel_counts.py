"""A transformer layer has no more generated kernels than Inductor makes for it, and as few as it had.

Counted in bfloat16 on the scheduled level: the numbers of a GPU, where only the torch ops between kernels are
others.  Training counts the forward and the backward graph; inputs need no gradient.  Inductor's numbers are
those of its default mode on an H200.
"""

import pytest
import torch
from versions import TORCH

import fuse_mlir
from fuse_mlir.bench.models import CASES
from fuse_mlir.compiler.rewrites.captured import attention

#: (case, mode, fuse, inductor)
COUNTS = (
    ("gpt2_block", "inference", 4, 4),
    ("gpt2_block", "training", 11, 12),
    ("llama_block", "inference", 8, 9),
    ("llama_block", "training", 16, 17),
    ("bert_layer", "inference", 4, 3),
    ("bert_layer", "training", 17, 15),
    ("gpt2_tiny", "inference", 9, 10),
    ("gpt2_tiny", "training", 36 + (TORCH < (2, 13)), 41),  # torch 2.11 saves the positions
)


#: Modes with more kernels than Inductor, and why.
MORE = {
    ("bert_layer", "inference"): "a kernel of the mask's size makes rows without keys NaN, as in eager",
    ("bert_layer", "training"): "four kernels keep the gradients of such rows: `shift_keys`",
}


pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")


def generated(name: str, training: bool) -> int:
    """Kernels that all graphs of a tiny case call."""
    case, graphs = CASES[name], []
    module = case.new_module("cpu", torch.bfloat16).train(training)
    inputs = case.inputs(2, torch.device("cpu"), torch.bfloat16)
    call = torch.compile(
        module,
        backend=fuse_mlir.backend,
        fullgraph=True,
        dynamic=False,
        options={"on_compiled": graphs.append},
    )
    with torch.set_grad_enabled(training):
        outputs = call(*inputs.args, **inputs.kwargs)
        if training:
            case.loss(outputs).backward()
    assert len(graphs) == 1 + training
    return sum(graph.launches_after for graph in graphs)


@pytest.mark.products("auto")  # beside Inductor, which leaves products to the library
@pytest.mark.parametrize(
    ("name", "mode", "fuse", "inductor"),
    [  # two blocks have what one has
        pytest.param(*row, id="-".join(row[:2]), marks=pytest.mark.slow if row[0] == "gpt2_tiny" else ())
        for row in COUNTS
    ],
)
def test_generated_kernels(name, mode, fuse, inductor, monkeypatch):
    monkeypatch.setattr(attention, "loses_rows", lambda q: False)  # as on a GPU
    found = generated(name, mode == "training")
    assert found <= inductor or (name, mode) in MORE, "more kernels than Inductor makes"
    assert found == fuse, "update the table if this is an improvement"
