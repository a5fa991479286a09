"""Two processes that torchrun starts: files are named by rank, and one of them tells of its progress."""

from pathlib import Path

import pytest
import torch
from terminal import on_terminal

SCRIPT = """
import sys, torch
from torch import distributed
import fuse_mlir
from fuse_mlir.compiler.report import progress

progress.AFTER = 0.001
distributed.init_process_group("gloo")
rank, (folder,) = distributed.get_rank(), sys.argv[1:]

def step(x, w):
    y = (x @ w).relu()
    distributed.all_reduce(y)
    return y.softmax(1)

torch.manual_seed(rank)
x, w = torch.randn(4, 8), torch.randn(8, 8)
options = {"dump": f"{folder}/dump", "report": f"{folder}/page.html", "check_schedules": 60}
found = torch.compile(step, backend=fuse_mlir.backend, options=options)(x, w)
torch.testing.assert_close(found, step(x, w))
distributed.barrier()
print(f"process {rank} is right")
distributed.destroy_process_group()
"""


@pytest.mark.slow
@pytest.mark.skipif(not torch.distributed.is_gloo_available(), reason="torch without gloo")
def test_files_have_the_rank_and_one_process_tells_of_its_progress(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    command = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    said = on_terminal([*command, str(tmp_path / "script.py"), str(tmp_path)])
    assert "process 0 is right" in said and "process 1 is right" in said
    assert said.count("fuse-mlir: compiled 1 graph") == 1, said
    names = {path.name for path in (tmp_path / "dump").iterdir() if path.is_dir()}
    assert names == {"inference-rank0-0", "inference-rank1-0"}
    assert {path.name for path in tmp_path.glob("*.html")} == {"page-rank0.html", "page-rank1.html"}
