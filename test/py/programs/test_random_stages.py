"""Random chains of groups, scans, small tables, windows and writes to slices, against eager and float64.

``FUSE_MLIR_RANDOM=n`` draws ``n`` programs; each is a test of its own, so that workers share them.
"""

import pytest
import torch
from fresh_seeds import seeds
from random_stages import STAGES, difference, drawn

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")


@pytest.mark.parametrize("seed", seeds(4))
def test_drawn(seed: int) -> None:
    chain = drawn(seed)
    assert (told := difference(chain)) is None, f"{chain}: {told}"


def test_everything_is_drawn() -> None:
    chains = [drawn(seed) for seed in range(200)]
    assert {name for chain in chains for name in chain.names} == STAGES.keys()
    assert {chain.options["interpret_level"] for chain in chains} == {"scheduled", "planned"}
    assert str(drawn(7)) == str(chains[7]), "a number draws one program"


def test_a_wrong_answer_would_be_noticed() -> None:
    chain = next(c for c in map(drawn, range(200)) if c.inputs.dtype == torch.float32 and c.inputs.rows > 2)
    calls: list[int] = []

    def third_is_wrong(t: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        return t if len(calls) < 3 else t * 1.0001

    chain.stages = (third_is_wrong,)
    assert "result 0 is " in str(difference(chain))
