"""Two processes that work together: graphs with collectives, and models split over processes."""

import pytest
import torch
import torch.distributed as dist

if not dist.is_available() or not dist.is_gloo_available():
    pytest.skip("torch without gloo", allow_module_level=True)

from delayed_processes import start as start_late
from torch.multiprocessing.spawn import spawn
from two_processes import SIZE, start

#: On the CPU, and on two GPUs.
DEVICES = (
    "cpu",
    pytest.param(
        "cuda",
        marks=[
            pytest.mark.gpu,
            pytest.mark.skipif(torch.cuda.device_count() < SIZE, reason="needs two GPUs"),
        ],
    ),
)


@pytest.mark.products("auto")  # on a CPU, one of its programs launches nothing but calls
@pytest.mark.parametrize("device_type", DEVICES)
def test_two_processes_do_what_eager_does(device_type, tmp_path):
    spawn(start, (str(tmp_path / "store"), device_type), SIZE)


@pytest.mark.slow
def test_four_processes_that_come_at_different_times(tmp_path):
    spawn(start_late, (str(tmp_path / "store"), 4), 4)
