"""Training over several processes: the arithmetic of its record.  ``--small`` runs the rest."""

import pytest
import torch

from fuse_mlir.bench.sharded import WAYS, distance, line, parser
from fuse_mlir.bench.sharded_profile import covered, exposed, summary


def test_spans_that_meet_are_one():
    assert covered([(3, 5), (0, 1), (1, 2), (4, 6)]) == [(0, 2), (3, 6)]


@pytest.mark.parametrize(
    ("communication", "other", "expected"),
    [
        ([(0, 4)], [], (4, 4)),
        ([(0, 4)], [(0, 9)], (4, 0)),
        ([(0, 4), (3, 6)], [(1, 2), (5, 8)], (6, 4)),
    ],
)
def test_what_nothing_runs_beside_is_exposed(communication, other, expected):
    assert exposed(communication, other) == expected


def test_a_step_is_what_lies_between_its_marks():
    """Two steps of 10 us, the backward from 4 on; a collective runs over the end of the first."""
    kernels = [("mm", 0, 3), ("ncclAllGather", 2, 4), ("mm", 5, 9), ("ncclAllGather", 9, 11), ("mm", 10, 20)]
    found = summary([(name, a + 100, b + 100) for name, a, b in kernels], [100, 104, 110, 114, 120])
    assert found == pytest.approx(
        {
            "communication_ms": 2e-3,
            "exposed_ms": 1e-3,
            "idle_ms": 0.5e-3,
            "backward_communication_ms": 0.5e-3,
            "backward_exposed_ms": 0.5e-3,
            "collectives": 1,
        }
    )


def test_a_distance_is_relative():
    assert distance([torch.tensor([3.0, 0.0])], [torch.tensor([3.0, 4.0])]) == pytest.approx(0.8)


def test_the_command_knows_all_ways():
    assert parser().parse_args([]).ways.split(",") == list(WAYS)
    assert line({"case": "fsdp", "way": "fuse", "ms": 1.25}).split() == ["fsdp", "fuse", "ms=1.25"]
