"""Triton's settings in keys: each that Triton itself counts, those set in Python, and the files they name."""

import json
import os
import sys
from pathlib import Path

import newest_triton
import pytest
from new_process import python
from ttir_kernels import add_kernel

from fuse_mlir.compiler.base import triton_environment as settings
from fuse_mlir.compiler.base.triton_environment import is_counted, triton_environment
from fuse_mlir.compiler.driver.program_cache import toolchain
from fuse_mlir.compiler.runtime.cache.cache_folder import CacheFolder
from fuse_mlir.compiler.runtime.kernels.cubin import CompileRequest
from fuse_mlir.compiler.runtime.kernels.kernel_cache import KernelCache

triton = pytest.importorskip("triton")

#: Prints what Triton counts, of all names that its binary spells, and what its knobs for NVIDIA read.
COUNTED_BY_TRITON = """
import json, os, subprocess
from pathlib import Path
import triton
from triton import knobs
from triton._C.libtriton import get_cache_invalidating_env_vars
# Of 400 MB: a regular expression of Python takes 7 s.
grep = ["grep", "-azxE", "[A-Z][A-Z0-9]*_[A-Z0-9_]+", Path(triton.__file__).parent / "_C/libtriton.so"]
names = subprocess.run(grep, capture_output=True, check=True, env={"LC_ALL": "C"}).stdout.split(b"\\0")
os.environ.update({name.decode(): "1" for name in names if name})
groups = (knobs.compilation, knobs.language, knobs.nvidia)
read = [knob.key for group in groups for knob in group.knob_descriptors.values()]
print(json.dumps([sorted(get_cache_invalidating_env_vars()), read]))
"""


@pytest.mark.parametrize("which", ["installed", "newest"])
def test_what_triton_counts_is_counted(which: str) -> None:
    if which == "newest":
        newest_triton.require()
    first = [str(newest_triton.FOLDER)] if which == "newest" else []
    code = f"import sys; sys.path[:0] = {first!r}\n{COUNTED_BY_TRITON}"
    counted, read = json.loads(python(code))
    assert len(counted) > 30 and "DISABLE_PTXAS_OPT" in counted  # the names were found
    assert [name for name in counted if not is_counted(name)] == []
    # A knob that a compilation reads is counted, or named among those that change no kernel.
    assert [name for name in read if not is_counted(name) and name not in settings.HARMLESS] == []


def names_to_perturb() -> list[str]:
    """The counted variables that a test may set in this process: ours by name, and the knobs of Triton."""
    groups = (triton.knobs.compilation, triton.knobs.language, triton.knobs.nvidia)
    read = {knob.key for group in groups for knob in group.knob_descriptors.values()}
    # Triton reads this one when it is imported; later the variable says nothing.
    return sorted((settings.COUNTED | read | {"TRITON_OF_TOMORROW"}) - settings.HARMLESS - {IMPORTED})


IMPORTED = "TRITON_INSTRUMENTATION_MODE"


@pytest.mark.parametrize("name", names_to_perturb())
def test_a_changed_variable_is_a_miss_and_an_unset_one_a_hit(name: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delenv(name, raising=False)
    request = CompileRequest(add_kernel())

    def keys() -> tuple[str, str]:
        return KernelCache(CacheFolder(tmp_path)).key(request), toolchain()

    plain = keys()
    monkeypatch.setenv(name, "1")
    one = keys()
    monkeypatch.setenv(name, "2")
    two = keys()
    monkeypatch.delenv(name)
    assert keys() == plain
    assert all(len({a, b, c}) == 3 for a, b, c in zip(plain, one, two, strict=True))


@pytest.mark.parametrize("name", sorted(settings.HARMLESS))
def test_where_files_lie_and_what_is_printed_is_no_miss(name: str, monkeypatch) -> None:
    before = triton_environment()
    monkeypatch.setenv(name, "1")
    assert triton_environment() == before


def test_another_ptxas_under_one_path_is_a_miss(tmp_path: Path, monkeypatch) -> None:
    ptxas = tmp_path / "ptxas"
    ptxas.write_text("one")
    monkeypatch.setenv("TRITON_PTXAS_PATH", str(ptxas))
    before = triton_environment()
    assert triton_environment() == before
    ptxas.write_text("another")
    assert triton_environment() != before


@pytest.mark.parametrize("value", ["-O0", "--maxrregcount 32"])
def test_a_knob_is_its_variable(value: str, monkeypatch) -> None:
    monkeypatch.setenv("PTXAS_OPTIONS", value)
    by_variable = triton_environment()
    monkeypatch.delenv("PTXAS_OPTIONS")
    monkeypatch.setattr(triton.knobs, "propagate_env", False)
    with triton.knobs.nvidia.scope():
        triton.knobs.nvidia.ptxas_options = value
        assert "PTXAS_OPTIONS" not in os.environ and triton_environment() == by_variable
    assert value not in triton_environment()


def test_a_hook_into_the_stages_is_keyed_by_what_it_says(monkeypatch) -> None:
    before = triton_environment()
    monkeypatch.setattr(triton.knobs.runtime, "add_stages_inspection_hook", lambda *args: ("mine", "hash"))
    assert triton_environment() == triton_environment() != before
    monkeypatch.setattr(triton.knobs.runtime, "add_stages_inspection_hook", lambda *args: None)
    assert triton_environment() != triton_environment()  # it says nothing: no entry is found again


def test_what_triton_read_at_import_is_what_counts() -> None:
    code = f"""
import os, sys
from fuse_mlir.compiler.base.triton_environment import triton_environment
unloaded = triton_environment()
assert "triton" not in sys.modules
import triton
os.environ.pop("{IMPORTED}")
assert "consan" in triton_environment() and triton_environment() == unloaded, triton_environment()
"""
    python(code, **{IMPORTED: "consan"})


#: Compiles a kernel with the variable set before Triton is imported, or after it, and stores it.
COMPILES = """
import os, sys
from pathlib import Path
from ttir_kernels import add_kernel
from fuse_mlir.compiler.runtime.cache.cache_folder import CacheFolder
from fuse_mlir.compiler.runtime.kernels import triton_compile
from fuse_mlir.compiler.runtime.kernels.cubin import CompileRequest
from fuse_mlir.compiler.runtime.kernels.kernel_cache import KernelCache
for setting in sys.argv[2:]:
    if setting:
        os.environ["PTXAS_OPTIONS"] = setting
    else:
        os.environ.pop("PTXAS_OPTIONS", None)
    cache = KernelCache(CacheFolder(Path(sys.argv[1])))
    cubin = cache.compile(CompileRequest(add_kernel())).cubin
    print(cache.statistics.hits, len(cubin))
"""


def test_a_kernel_is_compiled_under_the_options_that_its_key_holds(tmp_path: Path) -> None:
    """Triton's backend reads PTXAS_OPTIONS once, when it is imported; a change in the process counts too."""

    def compiled(folder: str, *values: str) -> list[list[str]]:
        arguments = [str(tmp_path / folder), *values]
        printed = python(f"import sys; sys.argv[1:] = {arguments!r}\n{COMPILES}", PTXAS_OPTIONS="")
        return [line.split() for line in printed.splitlines()]

    (plain,), (slow,) = compiled("a", ""), compiled("b", "-O0")
    assert plain[1] != slow[1]  # the option shows in the cubin
    assert compiled("c", "-O0", "", "-O0", "") == [
        ["0", slow[1]],
        ["0", plain[1]],
        ["1", slow[1]],
        ["1", plain[1]],
    ]
    assert compiled("c", "", "-O0") == [["1", plain[1]], ["1", slow[1]]]


def test_settings_are_read_without_triton() -> None:
    code = "from fuse_mlir.compiler.base.triton_environment import triton_environment as t; import sys; t(); "
    assert python(code + "print('triton' in sys.modules)").strip() == "False"
    assert sys.modules["triton"] is triton
