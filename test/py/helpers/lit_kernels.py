"""The kernels of the lit modules, compiled for a GPU with whichever Triton this process imports.

Tests call `compiled`; as a script it prints one JSON object for the files given: the version of Triton, the
file it was imported from, and what became of each kernel.
"""

import json
import sys
from collections.abc import Collection
from pathlib import Path

from repository import LIT

from fuse_mlir.compiler.codegen.launches import kernel_sources
from fuse_mlir.compiler.cost.devices import hardware_named
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.runtime.kernels.cubin import CompileRequest, Target
from fuse_mlir.compiler.runtime.kernels.triton_compile import TritonCompileError, compile_request
from fuse_mlir.compiler.runtime.kernels.triton_version import triton_version
from fuse_mlir.passes.manager import PassManager
from fuse_mlir.passes.pipeline import Settings, default_pipeline
from fuse_mlir.tools._source import read, split

#: Those with a program; a file of kernels alone has nothing to launch.
LIT_MODULES = sorted(
    path
    for folder in ("codegen", "pipeline")
    for path in (LIT / folder).glob("*.mlir")
    if "func.func @main" in path.read_text(encoding="utf-8")
)


def compiled(
    path: Path,
    hardware: str = "h200",
    arch: int = 90,
    without: Collection[str] = (),
    verify_each: bool = True,
) -> dict[str, str]:
    """Each kernel of the modules at ``path`` after the default pipeline: "ok", or why Triton refused it.  The
    number of its part of the file stands before the name of a kernel.  ``without``: those that are left out.
    ``verify_each``: whether every pass is verified.
    """
    shared = hardware_named(hardware).shared_bytes
    found = {}
    for number, part in enumerate(split(read(str(path)))):
        with make_context() as context:
            module = ir.Module.parse(part.text, context)
            PassManager(default_pipeline("planned", Settings(hardware)), verify_each).run(module)
            sources = kernel_sources(module)
        for name, source in sources.items():
            if f"{number}: {name}" in without:
                continue
            request = CompileRequest.of(source, Target(arch=arch))
            found[f"{number}: {name}"] = outcome(request, len(source.signature), shared)
    return found


def outcome(request: CompileRequest, parameters: int, shared: int) -> str:
    """What becomes of a request: "ok" for a cubin of at least ``parameters`` parameters, which takes at most
    ``shared`` bytes of shared memory, else why not.
    """
    try:
        kernel = compile_request(request)
    except TritonCompileError as error:
        return str(error)
    if not kernel.cubin.startswith(b"\x7fELF"):
        return "the cubin is no ELF file"
    if len(kernel.params) < parameters:
        return f"{parameters} arguments became {len(kernel.params)} parameters"
    if kernel.shared > shared:
        return f"it takes {kernel.shared} bytes of shared memory of {shared}"
    return "ok"


def refusals(outcomes: dict[str, str]) -> dict[str, str]:
    """The kernels that did not compile; asserts that there was one to compile."""
    assert outcomes, "the module has no kernel"
    return {name: outcome for name, outcome in outcomes.items() if outcome != "ok"}


def main() -> None:
    """Prints the report for the files among the arguments.  ``--target=80:a100`` is one to compile for, by
    default an H200.  Tests verify the same passes where they compile with the installed Triton.
    """
    import triton

    files = [argument for argument in sys.argv[1:] if not argument.startswith("--target=")]
    asked = [argument.removeprefix("--target=") for argument in sys.argv[1:] if argument not in files]
    kernels = {
        f"{arch}: {file}" if asked else file: compiled(Path(file), hardware, int(arch), verify_each=False)
        for arch, _, hardware in (target.partition(":") for target in asked or ["90:h200"])
        for file in files
    }
    print(json.dumps({"version": triton_version(), "imported": triton.__file__, "kernels": kernels}))


if __name__ == "__main__":
    main()
