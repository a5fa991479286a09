"""The PTX that looks up short tables: what is read of it, and what Triton compiles of it."""

import itertools
from pathlib import Path

import pytest
import torch
from compiling import Compiled
from cubins import usage
from torch import Tensor

from fuse_mlir.compiler.codegen.launches import kernel_sources
from fuse_mlir.compiler.codegen.nvidia import TableText, bits_text

OPTIONS = {"hardware": "h200", "interpret_level": "planned"}


@pytest.mark.parametrize("element", ["f32", "f16", "bf16"])
@pytest.mark.parametrize(("words", "at_once"), [(False, 4), (True, 4), (False, 2), (False, 1)])
def test_reads_its_own_text(element: str, words: bool, at_once: int) -> None:
    for shift, entries, parameter in itertools.product((0, 3, 4), (2, 4, 16, 32), ("", "k_tt_param_1")):
        if at_once == 1 and element != "f32":
            continue
        made = TableText(shift, entries, element, words, parameter, at_once)
        found = TableText.read(made.text)
        assert found is not None and found.text == made.text
        assert (found.shift, found.entries) == (shift, entries)
        assert (found.words, found.at_once) == (words, at_once)
        assert found.parameter == parameter
        assert TableText.read(made.text.replace("shfl", "shift")) is None and bits_text(made.text) is None


def decoded(x: Tensor, table: Tensor) -> Tensor:
    return table[(x >> 4).long()] - table[(x & 15).long()] * 2


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("size", [(1,), (37,), (2048,), (130, 100)])
def test_all_bytes(size: tuple[int, ...], dtype: torch.dtype, tmp_path: Path) -> None:
    """Of any number: lanes without a byte take part in a shuffle."""
    pytest.importorskip("triton")
    from fuse_mlir.compiler.runtime.kernels.cubin import Target
    from fuse_mlir.compiler.runtime.kernels.triton_compile import compile_ttir

    count = torch.Size(size).numel()
    x, table = torch.arange(count).to(torch.uint8).reshape(size), torch.randn(16).to(dtype)
    table[3], table[5] = torch.nan, -torch.inf
    compiled = Compiled(decoded, OPTIONS)
    assert torch.equal(compiled(x, table).nan_to_num(7), decoded(x, table).nan_to_num(7))
    [source] = kernel_sources(compiled.graphs[0].module).values()
    assert (source.text.count("shfl.sync") > 0) is (count > 1)
    cubin = compile_ttir(
        source.text, target=Target(90), num_warps=source.num_warps, num_stages=source.num_stages
    )
    assert usage(cubin, tmp_path).spilled == 0
