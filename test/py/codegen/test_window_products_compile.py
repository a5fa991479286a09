"""Products of factors that are read along windows, through Triton to sm_90 without a GPU: tensor cores
multiply, an element is loaded once, nothing divides for it, and nothing spills.
"""

import re
from collections import Counter
from pathlib import Path

import pytest
from cubins import dumped, usage
from sass import unwritten
from tiled_cubins import compiled
from tiling_cases import Case, tensor

pytest.importorskip("triton")

#: Of bfloat16 images with a stride of 2, and as much padding as keeps the window's centre inside.
BODY = """%none = arith.constant 0 : i64
%z = arith.constant 0.0 : bf16
%row = "fuse.index"() {expr = "d2*2 + d5 - PAD"} : () -> i64
%column = "fuse.index"() {expr = "d3*2 + d6 - PAD"} : () -> i64
%above = arith.cmpi sge, %row, %none : i64
%before = arith.cmpi sge, %column, %none : i64
%row_behind = "fuse.index"() {expr = "d2*2 + d5 - PAD - 224"} : () -> i64
%column_behind = "fuse.index"() {expr = "d3*2 + d6 - PAD - 224"} : () -> i64
%below = arith.cmpi slt, %row_behind, %none : i64
%after = arith.cmpi slt, %column_behind, %none : i64
%in1 = arith.andi %above, %before : i1
%in2 = arith.andi %below, %after : i1
%in = arith.andi %in1, %in2 : i1
%a = "fuse.load"(%x, %in, %z) {at = AT} : (XTYPE, i1, bf16) -> bf16
load w[d1, d4, d5, d6] -> b
%c = "fuse.dot"(%b, %a) {over = ["d4", "d5", "d6"]} : (bf16, bf16) -> f32
%h = arith.truncf %c : f32 to bf16
store h -> o[d0, d1, d2, d3]"""
AT = '["d0", "d4", "d2*2 + d5 - PAD", "d3*2 + d6 - PAD"]'


def stem(channels: int, taps: int) -> Case:
    sizes = (32, channels, 112, 112, 3, taps, taps)
    image = tensor(32, 3, 224, 224, element="bf16")
    return Case(
        {f"d{n}": str(size) for n, size in enumerate(sizes)},
        {"x": image, "w": tensor(channels, 3, taps, taps, element="bf16")},
        {"o": tensor(32, channels, 112, 112, element="bf16")},
        BODY.replace("AT", AT).replace("PAD", str(taps // 2)).replace("XTYPE", image),
    )


@pytest.mark.parametrize(("channels", "taps"), [(32, 3), (64, 7)])
def test_elements_are_loaded_once_and_nothing_divides(channels: int, taps: int, tmp_path: Path) -> None:
    cubin = compiled(stem(channels, taps))
    assert usage(cubin, tmp_path).spilled == 0
    assert "wgmma.mma_async" in cubin.ptx
    text = dumped(cubin, "-sass", tmp_path)
    assert unwritten(text) == []
    issued = Counter(re.findall(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z0-9]+)", text))
    summed = 3 * taps * taps
    steps = -(-summed // 32) * 32
    weights = channels * steps // 128  # of a thread
    assert issued["LDG"] <= summed + weights
    assert issued["STG"] == channels // 8  # 16 bytes each
    # Offsets are parts of instructions: an address of its own would take an element ten.
    assert issued["IMAD"] + issued["LEA"] < 2 * issued["LDG"]
