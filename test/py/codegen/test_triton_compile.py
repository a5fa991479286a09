"""TTIR text to cubin, and the errors on the way."""

import json
import os
import pickle
import re
from unittest import mock

import newest_triton
import pytest
from hinted_loads import HINTS, ptx
from ttir_kernels import add_kernel, product_kernel, scalars_kernel, softmax_kernel, transpose_kernel

from fuse_mlir.compiler.base.triton_text import captured_stderr
from fuse_mlir.compiler.runtime.kernels import triton_version
from fuse_mlir.compiler.runtime.kernels.cubin import (
    CompileOptions,
    CompileRequest,
    Target,
    ptx_params,
)
from fuse_mlir.compiler.runtime.kernels.triton_compile import (
    _PTXAS,
    TritonCompileError,
    compile_ttir,
    kernel_name,
)
from fuse_mlir.compiler.runtime.kernels.wgmma_descriptors import added_in_halves

pytest.importorskip("triton")


def failure(text: str) -> TritonCompileError:
    with pytest.raises(TritonCompileError) as caught:
        compile_ttir(text, target=Target(), num_warps=4)
    return caught.value


def test_add_compiles():
    kernel = compile_ttir(add_kernel(), target=Target(), num_warps=2, keep=("ttgir",))
    assert ".visible .entry add_kernel(" in kernel.ptx
    assert kernel.cubin.startswith(b"\x7fELF")
    assert kernel.params == ("u64", "u64", "u64", "u32", "u64", "u64")
    assert (kernel.name, kernel.num_warps, kernel.num_ctas, kernel.shared) == ("add_kernel", 2, 1, 0)
    assert (kernel.global_scratch_size, kernel.profile_scratch_size) == (0, 0)
    assert set(kernel.texts) == {"ttgir"} and "#ttg.blocked" in kernel.texts["ttgir"]
    assert list(kernel.timings_ms) == ["parse", "ttir", "ttgir", "llir", "ptx", "cubin"]


def test_softmax_compiles_and_needs_shared_memory():
    kernel = compile_ttir(softmax_kernel(), target=Target(), num_warps=4)
    assert ".visible .entry softmax_kernel(" in kernel.ptx
    assert 0 < kernel.shared < 4096
    assert kernel.texts == {}


@pytest.mark.parametrize(("columns", "parts"), [(16, 3), (32, 0), (64, 0)])
def test_descriptors_of_narrow_rows_are_added_in_halves(columns: int, parts: int) -> None:
    """ptxas adds the address to their high word, too.  The first of four parts is no sum, and from Triton 3.9
    on none is: the address is added in 32 bits, and the high word is put beside it.
    """
    ptx = compile_ttir(product_kernel(columns), target=Target(90), num_warps=4).ptx
    beside = len(re.findall(r"or\.b64\s+%rd\d+, %rd\d+, -?\d{11,};", ptx))
    assert beside in (2, 8), "the first part of both operands, or all four"
    assert ptx.count("addc.u32 high, high") == (parts if beside == 2 else 0)
    assert ptx.count(f"m64n{columns}k16") == 4


def test_descriptors_of_one_address_and_several_widths_are_added_in_halves() -> None:
    wide = "add.s64 \t%rd7, %rd24, -9223371899415822334;"
    other = "or.b64 \t%rd9, %rd24, 4611686293305294848;"
    product = "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16"
    assert added_in_halves(f"{wide}\n{product}") == f"{wide}\n{product}"
    found = added_in_halves(f"{wide}\n{other}\n{product}")
    assert wide not in found and f"{other}\n{product}" in found
    assert "mov.b64 {low, high}, %rd24; add.cc.u32 low, low, 2; addc.u32 high, high, 2147483680;" in found
    assert added_in_halves(f"{wide}\n{other}") == f"{wide}\n{other}"  # no product of tensor cores


def linked(text: str) -> int:
    """How often libdevice is linked where the kernel is compiled, which leaves no function unresolved."""
    from triton._C.libtriton import llvm

    with mock.patch.object(llvm, "link_extern_libs", wraps=llvm.link_extern_libs) as link:
        compile_ttir(text, target=Target(), num_warps=4)
    return link.call_count


def with_function(call: str) -> str:
    """A kernel that asserts, and stores `call` of the sum `%s`."""
    vec = "tensor<256xf32>"
    stored = f'%f = {call} : ({vec}) -> {vec}\n"tt.assert"(%m) {{message = "m"}} : (tensor<256xi1>) -> ()\n'
    return add_kernel().replace('"tt.store"(%op, %s, %m)', stored + '"tt.store"(%op, %f, %m)')


@pytest.mark.parametrize(
    "function, count",
    [('"math.exp"(%s)', 0), ('"math.absf"(%s)', 0), ('"math.log"(%s)', 1), ('"math.rsqrt"(%s)', 1)],
)
def test_libdevice_is_linked_where_a_kernel_names_its_functions(function, count):
    assert linked(with_function(function)) == count


@pytest.mark.parametrize("symbol, count", [("__nv_tanhf", 1), ("llvm.nvvm.ex2.approx.ftz.f32", 0)])
def test_libdevice_is_linked_for_its_functions_and_not_for_intrinsics(symbol, count):
    attributes = f'libname = "", libpath = "", pure = true, symbol = "{symbol}"'
    assert linked(with_function(f'"tt.extern_elementwise"(%s) {{{attributes}}}')) == count


def test_libdevice_is_linked_for_a_function_that_only_the_llvm_ir_names():
    half = softmax_kernel().replace(
        '%e = "math.exp"(%shifted) : (tensor<256xf32>) -> tensor<256xf32>',
        """%narrow = "arith.truncf"(%shifted) : (tensor<256xf32>) -> tensor<256xf16>
        %power = "math.exp"(%narrow) : (tensor<256xf16>) -> tensor<256xf16>
        %e = "arith.extf"(%power) : (tensor<256xf16>) -> tensor<256xf32>""",
    )
    assert half != softmax_kernel()
    assert linked(half) == 1


def test_a_large_tile_needs_more_shared_memory_than_the_default():
    assert compile_ttir(transpose_kernel(128), target=Target(), num_warps=8).shared > 48 * 1024


def test_clusters_compile():
    kernel = compile_ttir(add_kernel(), target=Target(), num_warps=1, num_ctas=2)
    assert kernel.num_ctas == 2 and ".reqnctapercluster 2" in kernel.ptx


def test_options_reach_triton():
    vec = "tensor<256xf32>"
    square = f'    %square = "arith.mulf"(%v, %v) : ({vec}, {vec}) -> {vec}\n    %shifted'
    fused = softmax_kernel().replace("    %shifted", square, 1).replace('"(%v, %maxes)', '"(%square, %maxes)')
    on = compile_ttir(fused, target=Target(), num_warps=4)
    off = compile_ttir(fused, target=Target(), num_warps=4, enable_fp_fusion=False)
    assert on.cubin != off.cubin
    assert ".reqntid 32" in compile_ttir(add_kernel(), target=Target(), num_warps=1).ptx
    assert ".maxnreg 64" in compile_ttir(add_kernel(), target=Target(), num_warps=1, maxnreg=64).ptx


def test_the_cubin_is_a_function_of_the_request():
    """What has no location is located in a memory file, whose number must not vary with the open files."""
    first = compile_ttir(add_kernel(), target=Target(), num_warps=4)
    with open(os.devnull), open(os.devnull):
        assert compile_ttir(add_kernel(), target=Target(), num_warps=4) == first


def test_scalar_types_reach_the_parameters():
    kernel = compile_ttir(
        scalars_kernel(["i1", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"]),
        target=Target(),
        num_warps=1,
    )
    assert [param.lstrip("usf") for param in kernel.params] == (
        ["8", "8", "16", "32", "64", "b8[2]", "b8[2]", "32", "64"] + ["64"] * 11
    )


def test_params_of_ptx():
    params = (".align 64 .b8 k_0[128]", ".u64 .ptr .global .align 1 k_1", ".f32 k_2")
    text = ".visible .entry k(\n" + ",\n".join(f" .param {param}" for param in params) + "\n)"
    assert ptx_params(text) == ("b8[128]", "u64", "f32")
    with pytest.raises(ValueError, match="entry"):
        ptx_params(".func k()")


@pytest.mark.parametrize(
    ("text", "stage", "location", "message"),
    [
        (add_kernel(value="arith.addx"), "parse", "ttir:21:10", "unregistered operation 'arith.addx'"),
        (add_kernel().replace('"tt.return"() : () -> ()', ""), "parse", "ttir:22:5", "no terminator"),
        (add_kernel() + "}", "parse", "ttir:26:14", "expected"),
        (add_kernel(value="math.powf"), "ttgir", "ttir:21:10", "failed to legalize operation 'math.powf'"),
    ],
)
def test_a_bad_kernel_names_itself_the_stage_and_the_place(text, stage, location, message, capfd):
    error = failure(text)
    assert (error.kernel, error.stage) == ("add_kernel", stage)
    assert error.location == location
    assert message in error.diagnostic
    assert str(error).startswith(f"kernel 'add_kernel' failed to compile in stage '{stage}' at {location}: ")
    if stage == "parse":
        assert capfd.readouterr().err == ""


def test_a_location_of_the_users_is_the_errors():
    lines = add_kernel(value="math.powf").splitlines()
    at = next(i for i, line in enumerate(lines) if "math.powf" in line)
    lines[at] += ' loc("model.py":7:3)'
    assert failure("\n".join(lines)).location == "model.py:7:3"


def test_what_ptxas_says_is_the_error(capfd):
    asm = '"tt.elementwise_inline_asm"(%xv, %yv) '
    asm += '{asm_string = "bogus.f32 $0, $1, $2;", constraints = "=f,f,f", '
    text = add_kernel().replace('"arith.addf"(%xv, %yv) ', asm + "pure = true, packed_element = 1 : i32} ")
    error = failure(text)
    capfd.readouterr()
    assert error.stage == "cubin"
    assert error.location.startswith("ptx:")
    assert "bogus" in error.diagnostic


def test_what_others_write_to_stderr_during_a_parse_is_not_lost(capfd):
    with captured_stderr() as taken:
        os.write(2, b"ours\n")
        assert taken() == "ours\n"
        os.write(2, b"theirs\n")
    assert capfd.readouterr().err == "theirs\n"


def test_every_form_of_a_ptxas_message_is_read():
    """Newer versions call another binary, whose name opens each line of its messages."""
    for tool in ("ptxas", "ptxas-blackwell"):
        match = _PTXAS.search(
            f"log:\n{tool} /tmp/x.ptx, line 84; error   : Not a name\n{tool} fatal   : aborted"
        )
        assert match is not None and (match["line"], match["message"]) == ("84", "Not a name")
    assert (
        _PTXAS.search("ptxas fatal   : Memory allocation failure")["message"] == "Memory allocation failure"
    )


@pytest.mark.parametrize("name", ["a-b", "1st", "", "a.b", "naïve"])
def test_a_name_that_would_abort_the_process_is_refused(name):
    error = failure(add_kernel(name))
    assert (error.kernel, error.stage) == (name, "name")


def test_kernel_name_is_the_public_functions():
    attributes = 'function_type = () -> (), sym_name = "helper", sym_visibility = "private"'
    helper = f'"tt.func"() ({{}}) {{{attributes}}} : () -> ()'
    module = "module @outer { %s\n tt.func public @kernel() { tt.return } }"
    assert kernel_name(module % helper) == "kernel"
    with pytest.raises(TritonCompileError, match="found none"):
        kernel_name(helper)
    with pytest.raises(TritonCompileError, match="found kernel, other"):
        kernel_name(module % "" + "\ntt.func @other() { tt.return }")


def test_errors_survive_pickling():
    error = pickle.loads(
        pickle.dumps(TritonCompileError("k", "llir", "because", "model.py:1:2", "all of it"))
    )
    assert (error.kernel, error.stage, error.location, error.details) == (
        "k",
        "llir",
        "model.py:1:2",
        "all of it",
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: CompileOptions(num_warps=3),
        lambda: CompileOptions(num_warps=64),
        lambda: CompileOptions(num_ctas=3),
        lambda: CompileOptions(num_stages=0),
        lambda: CompileOptions(maxnreg=256),
        lambda: Target(backend="hip"),
        lambda: Target(arch=75),
        lambda: CompileRequest("", keep=("sass",)),
        lambda: CompileRequest("", Target(80), CompileOptions(num_ctas=2)),
    ],
)
def test_bad_options_are_refused(make):
    with pytest.raises(ValueError):
        make()


# ---- versions ---------------------------------------------------------------------------------------------


def test_versions_choose_the_newest_row_not_newer():
    versions = ("3.6.0", "3.7.1", "3.8.0+x", "3.9.0", "4.0")
    rows = [triton_version.triton_dialect(version).since for version in versions]
    assert rows == [(3, 6), (3, 7), (3, 8), (3, 9), (3, 9)]
    with pytest.raises(triton_version.TritonVersionError, match=r"3\.6 or newer"):
        triton_version.triton_dialect("3.5.1")
    with pytest.raises(triton_version.TritonVersionError, match="cannot read"):
        triton_version.parse_version("main")


def test_spellings():
    old, new = triton_version.triton_dialect("3.6.0"), triton_version.triton_dialect("3.9.0")
    block = "!tt.tensordesc<tensor<64x32xf16>>"
    assert (old.spelled(block), new.spelled(block)) == (block, "!tt.tensordesc<64x32xf16>")
    for hints, cache, evict in (
        ("cache = 3 : i32, evict = 1 : i32", "cg", "normal"),
        ("cache = 5 : i32", "cs", "normal"),
        ("evict = 2 : i32", "none", "first"),
        ("cache = 1 : i32, evict = 3 : i32", "none", "last"),
    ):
        text = f'"tt.load"(%p) {{{hints}, isVolatile = true}} : (!tt.ptr<f32>) -> f32'
        policy = f"#tt.cache_policy<cache_modifier = {cache}, eviction_policy = evict_{evict}>"
        assert old.spelled(text) == text
        assert new.spelled(text) == text.replace(hints, f"cachePolicy = {policy}")


def test_hints_reach_the_ptx():
    """An attribute that Triton does not know is ignored without a word, so only the PTX can tell."""
    plain = ptx()
    for hint, found in HINTS.items():
        assert found in ptx(hint) and found not in plain


def test_hints_reach_the_ptx_of_the_newest_version():
    printed = json.loads(newest_triton.printed("hinted_loads.py"))
    assert printed == {"version": newest_triton.NEWEST, "missing": []}
