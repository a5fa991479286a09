"""The suite `templates` on the CPU: ops with templates, in every way that it compares."""

import importlib.util

import pytest
from bench_runs import bench

from fuse_mlir.bench.suites.templates import COMPARED
from fuse_mlir.bench.tables import user_kernel_rows

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


@pytest.mark.skipif(importlib.util.find_spec("helion") is None, reason="helion is not installed")
def test_an_op_with_a_template(tmp_path):
    status, found = bench(tmp_path, "--suite", "templates", "--only", "handwritten")
    assert status == 0, found["results"]
    (record,) = found["results"]
    launches = {name: entry.get("launches") for name, entry in record["backends"].items()}
    assert launches == {"fuse-apart": 3, "fuse": 1, "copy": None}


def test_a_workload_that_has_not_every_way():
    timing = {"p10": 1.0, "p50": 2.0, "p90": 3.0, "samples": 5, "host": 1.0, "wall": 4.0, "hidden": 1.0}
    entry = {"passed": True, "note": "", "launches": 1, "copies": 0, "timing": timing}
    records = [
        {
            "key": name,
            "case": name,
            "dtype": "float32",
            "bytes": 8,
            "backends": dict.fromkeys((*ways, "copy"), entry),
        }
        for name, ways in (("helion", COMPARED), ("handwritten", ("inductor", "fuse-apart", "fuse")))
    ]
    header, helion, handwritten = user_kernel_rows(records)
    place = header.index("fuse-direct us")
    assert helion[place].startswith("2.0") and handwritten[place] == "-"
    assert handwritten[header.index("fuse us")].startswith("2.0")
