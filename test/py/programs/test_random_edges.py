"""Random programs over narrow dtypes, edge numbers, masks, casts and aliases, against eager.

``FUSE_MLIR_RANDOM=n`` draws ``n`` programs; each is a test of its own, so that workers share them.
"""

import pytest
import random_edges
import torch
from fresh_seeds import seeds
from random_edges import STEPS, VIEWS, WRITERS, EdgeProgram, difference

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", seeds(12))
def test_drawn(seed):
    program = EdgeProgram.drawn(seed)
    told = difference(program, products=("auto", "generated")[seed % 2])
    if told is not None:  # what torch itself does so, with the backend "aot_eager", is torch's own
        assert difference(program, "aot_eager") is not None, f"{program}: {told}"


@pytest.mark.filterwarnings("ignore")
def test_everything_is_drawn():
    programs = [EdgeProgram.drawn(seed) for seed in range(400)]
    assert {s.name for p in programs for s in p.steps} >= STEPS.keys() | WRITERS.keys()
    assert {s.view for p in programs for s in p.steps} == {"", *VIEWS}
    assert {a.dtype for p in programs for a in p.arguments} == set(random_edges.DTYPES)
    assert any(a.shared for p in programs for a in p.arguments)
    assert any(all(p.exact) for p in programs) and any(not all(p.exact) for p in programs)
    assert EdgeProgram.drawn(7) == programs[7], "a number draws one program"


def test_a_wrong_answer_would_be_noticed(monkeypatch):
    argument = random_edges.Argument((3, 5), torch.bfloat16, "plain", True, False, 1)
    taken = random_edges.Taken("abs", 0, 0, 0)
    program = EdgeProgram((argument,), (taken,), (1,), (True, True), (1.0, 1.0))
    assert difference(program) is None
    calls: list[int] = []

    def once_without_zeros_sign(x, y, n):
        calls.append(1)
        return x.abs() if len(calls) == 1 else torch.where(x == 0, -0.0, x.abs()).to(x.dtype)

    monkeypatch.setitem(random_edges.STEPS, "abs", once_without_zeros_sign)
    assert random_edges.made(program.arguments)[0].count_nonzero() < 15, "there are zeros"
    assert "value 1" in str(difference(program))
