"""The suite `user-kernels` on the CPU: models that launch kernels, beside the kernels fused by hand."""

from dataclasses import replace

import pytest
import torch
from bench_runs import bench

from fuse_mlir.bench.tables import user_kernel_table
from fuse_mlir.bench.user_kernels import WORKLOADS

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def test_a_model_and_its_kernel_fused_by_hand(tmp_path, capsys):
    arguments = ("--suite", "user-kernels", "--only", "swiglu_cast")
    status, found = bench(tmp_path, *arguments)
    assert status == 0, found["results"]
    (record,) = found["results"]
    launches = {name: entry.get("launches") for name, entry in record["backends"].items()}
    assert launches == {"fuse-apart": 2, "by-hand": 1, "fuse": 1, "copy": None}
    assert record["bytes"] == 8 * 60 * (4 + 4 + 2)
    assert "vs by-hand" in capsys.readouterr().out


def test_a_wrong_answer_fails_and_is_in_the_table(tmp_path, monkeypatch):
    workload = WORKLOADS["swiglu_cast_8192x4096"]

    def spoiled(*sizes):
        built = workload.build(*sizes)
        return replace(built, model=lambda gate, up: built.exact(gate, up) * 1.05)

    monkeypatch.setitem(WORKLOADS, workload.name, replace(workload, build=spoiled))
    status, found = bench(tmp_path, "--suite", "user-kernels", "--only", "swiglu_cast")
    (record,) = found["results"]
    assert status == 1 and not record["backends"]["fuse"]["passed"]
    assert record["backends"]["by-hand"]["passed"]
    assert "FAIL swiglu_cast" in user_kernel_table(found["results"], ())


@pytest.mark.parametrize("name", WORKLOADS)
def test_what_a_kernel_writes_or_reads_is_at_least_64_megabytes(name):
    workload = WORKLOADS[name]
    sizes = workload.sizes[:2] if "matmul" in name else workload.sizes
    assert torch.Size(sizes).numel() * workload.dtype.itemsize >= 64e6
