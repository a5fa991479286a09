"""Training over several processes: the arithmetic of its record.  ``--small`` runs the rest."""

import json

import pytest
import torch

from fuse_mlir.bench.sharded import WAYS, distance, line, parser
from fuse_mlir.bench.sharded_profile import covered, exposed, summary
from fuse_mlir.bench.sharded_table import main, section


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


RECORD = {
    "device": "GPU",
    "torch": "2.11",
    "processes": 2,
    "commit": "abc",
    "links": [
        {
            "pattern": "all-gather",
            "tensors": 1,
            "bytes": 1 << 30,
            "ranks": 2,
            "us": 2000.0,
            "start_us": 9.6,
            "wait_us": 2.2,
        }
    ],
    "cases": [
        {
            "case": "fsdp",
            "way": "fuse",
            "ms": 2.0,
            "p10": 1.0,
            "p90": 3.0,
            "host_ms": 0.5,
            "peak_mb": 100.0,
            "error": 0.25,
            "communication_ms": 1.0,
            "exposed_ms": 0.5,
            "idle_ms": 0.1,
            "collectives": 3.0,
            "backward_communication_ms": 0.4,
            "backward_exposed_ms": 0.1,
        },
        {"case": "tensor", "way": "inductor", "skipped": "the time limit"},
    ],
}


def test_a_record_becomes_tables(tmp_path):
    record, page = tmp_path / "sharded.json", tmp_path / "tables.md"
    record.write_text(json.dumps(RECORD))
    page.write_text("before\n\n<!-- bench:sharded -->\n<!-- /bench:sharded -->\n\nafter\n")
    assert main([str(record), "--doc", str(page)]) == 0
    text = page.read_text()
    assert "| `fuse` | 2.0 (1.0 to 3.0) | 0.5 | 1.0 | 0.5 | 25% | 0.1 | 3 | 100 | 0.2500 |" in text
    assert "| `inductor` | the time limit |" in text
    assert "| all-gather | 1 | 1.02e+03 | 2000 | 2109 | 10 | 2 |" in text
    assert text.startswith("before") and text.endswith("after\n")
    with pytest.raises(ValueError, match="times of the CPU"):
        section({**RECORD, "device": "cpu"}, "h200")
