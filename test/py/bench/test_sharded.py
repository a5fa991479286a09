"""Training over several processes: the arithmetic of its record.  ``--small`` runs the rest."""

import pytest
import torch

from fuse_mlir.bench.sharded import WAYS, covered, distance, exposed, line, parser


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


def test_a_distance_is_relative():
    assert distance([torch.tensor([3.0, 0.0])], [torch.tensor([3.0, 4.0])]) == pytest.approx(0.8)


def test_the_command_knows_all_ways():
    assert parser().parse_args([]).ways.split(",") == list(WAYS)
    assert line({"case": "fsdp", "way": "fuse", "ms": 1.25}).split() == ["fsdp", "fuse", "ms=1.25"]
