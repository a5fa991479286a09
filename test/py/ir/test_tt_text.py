"""TTIR as Triton spells it becomes text of the mirror, and back."""

import pytest

from fuse_mlir.compiler.ir.dialects.tt_text import mirrored, of_triton

D = "!tt.tensordesc<{}>"


@pytest.mark.parametrize(
    ("triton", "mirror"),
    [
        (
            '"tt.make_range"() <{end = 64 : i32, start = 0 : i32}> : () -> tensor<64xi32> loc(#loc4)',
            '"tt.make_range"() {end = 64 : i32, start = 0 : i32} : () -> tensor<64xi32> loc(#loc4)',
        ),
        # properties and other attributes
        (
            '%0 = "tt.load"(%p) <{cache = 1 : i32}> {tt.latency = 2 : i32} : (!tt.ptr<f32>) -> f32',
            '%0 = "tt.load"(%p) {cache = 1 : i32, tt.latency = 2 : i32} : (!tt.ptr<f32>) -> f32',
        ),
        # those of other dialects stay
        ('"arith.cmpi"(%a, %b) <{predicate = 2 : i64}> : (i32, i32) -> i1',) * 2,
        # hints as Triton 3.9 spells them
        (
            '"tt.store"(%p, %v) <{cachePolicy = #tt.cache_policy<cache_modifier = cs, '
            "eviction_policy = evict_last>}> : (!tt.ptr<f32>, f32) -> ()",
            '"tt.store"(%p, %v) {cache = 5 : i32, evict = 3 : i32} : (!tt.ptr<f32>, f32) -> ()',
        ),
        # an op for each number of operands
        ('"tt.reduce.return"(%a, %b) : (f32, i32) -> ()', '"tt.reduce_return_2"(%a, %b) : (f32, i32) -> ()'),
        ('"tt.scan.return"(%a) : (f32) -> ()', '"tt.scan_return"(%a) : (f32) -> ()'),
        ('"tt.print"() <{prefix = " a: "}> : () -> ()', '"tt.print_0"() {prefix = " a: "} : () -> ()'),
        (
            '%d = "tt.make_tensor_descriptor"(%p, %n, %m, %s, %t) <{padding = 1 : i32}> '
            f": (!tt.ptr<f16>, i32, i32, i64, i64) -> {D.format('8x64xf16')}",
            '%d = "tt.make_tensor_descriptor_2"(%p, %n, %m, %s, %t) {padding = 1 : i32} '
            f": (!tt.ptr<f16>, i32, i32, i64, i64) -> {D.format('tensor<8x64xf16>')}",
        ),
        # a barrier, as Triton spells it from 3.8 on, and before
        ('"ttg.barrier"() <{addrSpace = 31 : i32}> : () -> ()', '"gpu.barrier"() : () -> ()'),
        ('"ttg.barrier"() {addrSpace = 1 : i32} : () -> ()', '"gpu.barrier"() : () -> ()'),
        ('"gpu.barrier"() : () -> ()',) * 2,
        # types as Triton 3.6 spells them, and memory spaces
        (f"^bb0(%d: {D.format('tensor<8xf16>')}):",) * 2,
        ("^bb0(%p: !tt.ptr<f16, 1>):", "^bb0(%p: !tt.ptr<f16>):"),
        # a text may hold what looks like an op
        (
            '"tt.assert"(%c) <{message = "{a} <{b}> \\22tt.scan\\22(x)"}> : (i1) -> ()',
            '"tt.assert"(%c) {message = "{a} <{b}> \\22tt.scan\\22(x)"} : (i1) -> ()',
        ),
    ],
)
def test_lines(triton, mirror):
    assert mirrored(triton) == mirror


def test_dictionaries_of_ops_with_regions_come_after_them():
    triton = """\
"tt.func"() <{function_type = () -> (), sym_name = "k"}> ({
  "scf.for"(%a, %b, %c) ({
    %0:2 = "tt.reduce"(%x, %y) <{axis = 0 : i32}> ({
      "tt.reduce.return"(%i, %j) : (f32, f32) -> ()
    }) {hint = 1 : i32} : (tensor<4xf32>, tensor<4xf32>) -> (f32, f32)
  }) {tt.num_stages = 2 : i32} : (i32, i32, i32) -> ()
}) {noinline = false} : () -> ()"""
    mirror = """\
"tt.func"() ({
  "scf.for"(%a, %b, %c) ({
    %0:2 = "tt.reduce_2"(%x, %y) ({
      "tt.reduce_return_2"(%i, %j) : (f32, f32) -> ()
    }) {axis = 0 : i32, hint = 1 : i32} : (tensor<4xf32>, tensor<4xf32>) -> (f32, f32)
  }) {tt.num_stages = 2 : i32} : (i32, i32, i32) -> ()
}) {function_type = () -> (), sym_name = "k", noinline = false} : () -> ()"""
    assert mirrored(triton) == mirror
    back = of_triton(mirror)
    assert '"tt.reduce"(%x, %y)' in back and '"tt.reduce.return"(%i, %j)' in back


def test_a_mirror_of_the_mirror_is_the_same():
    text = '%0 = "tt.histogram"(%x) : (tensor<8xi32>) -> tensor<4xi32>'
    assert mirrored(mirrored(text)) == text == of_triton(text)
