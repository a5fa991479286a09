"""The benchmarks of what a new process pays: both run, and say what they measured."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

pytestmark = pytest.mark.slow


def measured(module: str, tmp_path: Path, *words: str) -> Any:
    out = tmp_path / "out.json"
    command = [sys.executable, "-m", f"fuse_mlir.bench.{module}", "--device", "cpu", "--turns", "1", *words]
    subprocess.run([*command, "--out", str(out)], check=True, timeout=600, cwd=tmp_path)
    return json.loads(out.read_text())


@pytest.mark.skipif(shutil.which("g++") is None, reason="AOTInductor needs a compiler of C++")
def test_both_packages_are_loaded_and_right(tmp_path: Path) -> None:
    record = measured("package_load", tmp_path, "--small")
    assert [*record["samples"]] == ["fuse", "aotinductor", "aotinductor-alone"]
    for (sample,) in record["samples"].values():
        assert sample["load"] > 0 and sample["error"] < 1e-5


@pytest.mark.skipif(not torch._dynamo.config.enable_aot_compile, reason="off by default in torch 2.11")
def test_what_dynamo_made_starts_sooner(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    samples = measured("warm_start", tmp_path)
    (full,), (precompiled,) = samples["cache"], samples["precompile"]
    assert precompiled["cpu"] < 0.5 * full["cpu"]
