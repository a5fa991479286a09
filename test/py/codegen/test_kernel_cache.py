"""The cache of compiled kernels: keys, damage, parallel compilation."""

import json
import struct
import subprocess
import sys
import textwrap
import threading

import pytest
from ttir_kernels import add_kernel

from fuse_mlir.compiler.runtime.cache.cache_folder import CacheFolder
from fuse_mlir.compiler.runtime.kernels.cubin import (
    CompiledCubin,
    CompileOptions,
    CompileRequest,
    Target,
)
from fuse_mlir.compiler.runtime.kernels.kernel_cache import KernelCache
from fuse_mlir.compiler.runtime.kernels.triton_compile import (
    TritonCompileError,
    kernel_name,
)

pytest.importorskip("triton")

LENGTHS = struct.Struct("<3Q")


def stub_compiler(calls: list[str]):
    def compile_it(request: CompileRequest) -> CompiledCubin:
        name = kernel_name(request.text)
        calls.append(name)
        texts = {stage: f"{stage} of {name}" for stage in request.keep}
        return CompiledCubin(name, 90, b"\x7fELF" + name.encode(), "ptx", ("u64", "u64"), 0, 4, texts=texts)

    return compile_it


def test_a_stored_kernel_is_the_same_kernel(tmp_path):
    kernel = CompiledCubin(
        "k", 90, b"\0\1", "ptx é", ("u64", "b8[128]"), 12, 8, 2, 3, 4, {"ptx": 1.5}, {"ttir": "t"}
    )
    back = CompiledCubin.from_bytes(kernel.to_bytes())
    assert back == kernel and dict(back.texts) == {"ttir": "t"} and dict(back.timings_ms) == {"ptx": 1.5}


def test_miss_then_hit(tmp_path):
    calls: list[str] = []
    request = CompileRequest(add_kernel())
    first = KernelCache(CacheFolder(tmp_path), stub_compiler(calls)).compile(request)
    again = KernelCache(CacheFolder(tmp_path), stub_compiler(calls))
    assert again.compile(request) == first and calls == ["add_kernel"]
    assert (again.statistics.hits, again.statistics.misses) == (1, 0)
    assert not list(tmp_path.rglob("*.tmp"))


@pytest.mark.parametrize(
    "other",
    [
        CompileRequest(add_kernel() + " "),
        CompileRequest(add_kernel(), Target(80)),
        CompileRequest(add_kernel(), options=CompileOptions(num_warps=8)),
        CompileRequest(add_kernel(), options=CompileOptions(num_stages=2)),
        CompileRequest(add_kernel(), options=CompileOptions(maxnreg=64)),
        CompileRequest(add_kernel(), options=CompileOptions(enable_fp_fusion=False)),
    ],
)
def test_everything_that_decides_the_cubin_is_in_the_key(tmp_path, other):
    cache = KernelCache(CacheFolder(tmp_path))
    assert cache.key(other) != cache.key(CompileRequest(add_kernel()))
    assert cache.key(CompileRequest(add_kernel(), keep=("ttir",))) == cache.key(CompileRequest(add_kernel()))
    assert KernelCache(CacheFolder(tmp_path), toolchain="another").key(other) != cache.key(other)


@pytest.mark.parametrize(
    "damage", [lambda b: b"", lambda b: b[:-1], lambda b: b + b"x", lambda b: b[:200] + b"#" + b[201:]]
)
def test_a_damaged_entry_is_compiled_again_and_rewritten(tmp_path, damage, caplog):
    calls: list[str] = []
    cache, request = KernelCache(CacheFolder(tmp_path), stub_compiler(calls)), CompileRequest(add_kernel())
    kernel = cache.compile(request)
    path = cache.path(cache.key(request))
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert cache.lookup(request) is None
    assert cache.compile(request) == kernel
    assert calls == ["add_kernel"] * 2 and path.read_bytes() == whole
    assert caplog.text.count("is unreadable and will be made again") == 2


def other_schemas() -> dict[str, bytes]:
    """Kernels as another version may have stored them, with a checksum that fits."""
    right = CompiledCubin("k", 90, b"\0\1", "ptx", ("u64",), 12, 8).to_bytes()
    head, ptx, cubin = LENGTHS.unpack_from(right)
    fields = json.loads(right[LENGTHS.size : LENGTHS.size + head])

    def with_head(text: bytes) -> bytes:
        return LENGTHS.pack(len(text), ptx, cubin) + text + right[LENGTHS.size + head :]

    without = {name: value for name, value in fields.items() if name != "params"}
    return {
        "nothing": b"",
        "no lengths": b"abc",
        "long lengths": LENGTHS.pack(2**63, 0, 0) + b"{}",
        "no fields": with_head(b"{}"),
        "a field less": with_head(json.dumps(without).encode()),
        "a field more": with_head(json.dumps({**fields, "clusters": 1}).encode()),
        "a list": with_head(json.dumps(list(fields)).encode()),
        "a number": with_head(json.dumps({**fields, "params": 3}).encode()),
        "no JSON": with_head(b"{"),
        "a byte more": right + b"x",
    }


@pytest.mark.parametrize("name", other_schemas())
def test_a_kernel_of_another_version_is_compiled_again(tmp_path, name, told):
    calls: list[str] = []
    cache, request = KernelCache(CacheFolder(tmp_path), stub_compiler(calls)), CompileRequest(add_kernel())
    cache.folder.write(cache.key(request), other_schemas()[name])
    assert cache.compile(request).name == "add_kernel" and calls == ["add_kernel"]
    assert cache.lookup(request) is not None
    [line] = told()
    assert f"the cache entry {cache.key(request)}.kernel is unreadable and will be made again" in line


def test_a_text_to_keep_that_is_not_stored_is_a_miss(tmp_path):
    calls: list[str] = []
    cache = KernelCache(CacheFolder(tmp_path), stub_compiler(calls))
    cache.compile(CompileRequest(add_kernel()))
    kept = cache.compile(CompileRequest(add_kernel(), keep=("llir",)))
    assert kept.texts["llir"] == "llir of add_kernel" and len(calls) == 2
    cache.compile(CompileRequest(add_kernel()))
    assert len(calls) == 2


def test_an_unwritable_folder_does_not_stop_the_compile(tmp_path):
    (tmp_path / "file").write_text("")
    calls: list[str] = []
    cache = KernelCache(CacheFolder(tmp_path / "file" / "folder"), stub_compiler(calls))
    assert cache.compile(CompileRequest(add_kernel())).name == "add_kernel"


def test_many_are_deduplicated_parallel_and_in_order(tmp_path):
    calls: list[str] = []
    meet = threading.Barrier(3, timeout=20)  # three different kernels must be in the compiler at once
    inner = stub_compiler(calls)

    def compile_it(request: CompileRequest) -> CompiledCubin:
        meet.wait()
        return inner(request)

    names = ["a", "b", "a", "c", "b", "a"]
    requests = [
        CompileRequest(add_kernel(name), keep=("ttir",) if i == 2 else ()) for i, name in enumerate(names)
    ]
    kernels = KernelCache(CacheFolder(tmp_path), compile_it).compile_many(requests, workers=3)
    assert [kernel.name for kernel in kernels] == names
    assert sorted(calls) == ["a", "b", "c"]
    assert "ttir" in kernels[2].texts


def test_kernels_compile_while_the_caller_goes_on(tmp_path):
    go_on = threading.Event()
    inner = stub_compiler([])

    def compile_it(request: CompileRequest) -> CompiledCubin:
        assert go_on.wait(20)
        return inner(request)

    wait = KernelCache(CacheFolder(tmp_path), compile_it).start([CompileRequest(add_kernel("a"))], workers=1)
    go_on.set()  # never reached if `start` waited
    assert [kernel.name for kernel in wait()] == ["a"] == [kernel.name for kernel in wait()]


def test_whoever_waits_compiles_too_and_leaves_its_core_alone_until_then(tmp_path):
    meet = threading.Barrier(2, timeout=20)
    inner, threads = stub_compiler([]), set()

    def compile_it(request: CompileRequest) -> CompiledCubin:
        meet.wait()  # for the one that waits, so that none is compiled before
        threads.add(threading.current_thread())
        return inner(request)

    requests = [CompileRequest(add_kernel(name)) for name in "abcd"]
    wait = KernelCache(CacheFolder(tmp_path), compile_it).start(requests, workers=2)
    assert [kernel.name for kernel in wait()] == list("abcd") == [kernel.name for kernel in wait()]
    assert len(threads) == 2
    assert threading.current_thread() in threads


def test_the_first_failing_request_is_the_error(tmp_path):
    requests = [
        CompileRequest(add_kernel(n, value=v))
        for n, v in (("good", "arith.addf"), ("x1", "no.op"), ("x2", "no.op"))
    ]
    for _ in range(3):
        with pytest.raises(TritonCompileError, match="'x1'"):
            KernelCache(CacheFolder(tmp_path)).compile_many(requests, workers=2)
    assert KernelCache(CacheFolder(tmp_path)).lookup(requests[0]) is not None


def test_parallel_compiles_equal_serial_ones(tmp_path):
    requests = [
        CompileRequest(add_kernel(f"k{i}", v))
        for i, v in enumerate(("arith.addf", "arith.mulf", "arith.subf"))
    ]
    together = KernelCache(CacheFolder(tmp_path / "a")).compile_many(requests, workers=2)
    assert together == KernelCache(CacheFolder(tmp_path / "b")).compile_many(requests, workers=1)


def test_a_hit_imports_neither_triton_nor_mlir_nor_torch(tmp_path):
    KernelCache(CacheFolder(tmp_path)).compile(CompileRequest(add_kernel()))
    program = f"""
        import sys
        from fuse_mlir.compiler.runtime.kernels.cubin import CompileRequest
        from pathlib import Path
        from fuse_mlir.compiler.runtime.cache.cache_folder import CacheFolder
        from fuse_mlir.compiler.runtime.kernels.kernel_cache import KernelCache
        cache = KernelCache(CacheFolder(Path({str(tmp_path)!r})))
        (kernel,) = cache.compile_many([CompileRequest({add_kernel()!r})])
        assert kernel.name == "add_kernel" and cache.statistics.hits == 1
        print(sorted(m for m in ("triton", "torch", "torch_mlir", "mlir") if m in sys.modules))
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=False
    )
    assert (ran.stdout.strip(), ran.stderr) == ("[]", "")
