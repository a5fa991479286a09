"""Imports go one way: tools -> backend -> driver -> {frontend, passes, runtime} -> codegen -> analysis -> ir
-> base.

Read from the sources, so nothing is imported and a broken module is still checked. Packages of one layer do
not know each other; the frontend and the runtime have layers of their own. No modules anywhere import each
other in a circle, whether at module scope, for type checking only, or in a function. Passes, the IR, the
index algebra, the verifier and analyses never get hold of torch.
"""

import ast
import re
import tomllib
from pathlib import Path

import pytest
from import_cycles import cycles
from package_imports import PACKAGE, PACKAGES, import_statements, imports_of, package_of, read_package
from repository import ROOT

# Module prefix -> layer, the lowest first; the longest prefix that matches decides.  The two `__init__` files
# on top are the public face, beside the backend that they hand out.
LAYERS = {
    "fuse_mlir.compiler.base.dataclass": -1,  # how all others make their dataclasses
    "fuse_mlir.logs": 0,
    "fuse_mlir.compiler.mlir": 0,  # which MLIR bindings there are
    "fuse_mlir.compiler.index": 0,
    "fuse_mlir.compiler.cost": 0,  # base has launches with their estimates
    "fuse_mlir.compiler.base": 1,
    "fuse_mlir.compiler.ir.dialects": 1,
    "fuse_mlir.compiler.ir": 2,
    "fuse_mlir.compiler.fx": 2,
    "fuse_mlir.compiler.analysis": 3,  # forwards names that plugins know
    "fuse_mlir.compiler.analysis.kernel": 3,
    "fuse_mlir.compiler.analysis.user_kernel": 3,
    "fuse_mlir.compiler.analysis.contraction": 4,
    "fuse_mlir.compiler.analysis.cost": 4,
    "fuse_mlir.compiler.analysis.program": 5,
    "fuse_mlir.compiler.analysis.fusion": 6,
    "fuse_mlir.compiler.analysis.user_fusion": 7,
    "fuse_mlir.compiler.analysis.tiling": 6,
    "fuse_mlir.compiler.verifier": 6,
    "fuse_mlir.compiler.rewrites": 6,
    "fuse_mlir.compiler.codegen": 7,  # writes tile code for the passes and prints it for the runtime
    "fuse_mlir.compiler.report": 7,
    "fuse_mlir.compiler.frontend": 7,
    "fuse_mlir.compiler.runtime": 8,
    "fuse_mlir.passes": 8,
    "fuse_mlir.compiler.driver": 9,
    "fuse_mlir.compiler.driver.program": 9,  # what a graph became, as data
    "fuse_mlir.compiler.driver.searches": 10,  # run passes, and measure what they make
    "fuse_mlir.compiler.driver.calling_convention": 10,
    "fuse_mlir.compiler.driver.program_entry": 10,  # the bytes of a program
    "fuse_mlir.compiler.driver.program_cache": 11,
    "fuse_mlir.compiler.driver.fx_program": 11,  # a program as FX
    "fuse_mlir.compiler.driver.compiled_graph": 12,  # what is told of a graph
    "fuse_mlir.compiler.driver.lowering": 12,  # the passes
    "fuse_mlir.compiler.driver.compilation": 13,  # with the passes, the half of the driver that needs MLIR
    "fuse_mlir.compiler.driver.portable": 14,  # a graph that another process runs
    "fuse_mlir.compiler.driver.cache_hit": 14,
    "fuse_mlir.compiler.driver.graph_compilation": 15,  # one graph of AOTAutograd
    "fuse_mlir.compiler.driver.captured_compilation": 16,  # one graph that Dynamo captured
    "fuse_mlir.compiler.driver.packages": 17,  # exported programs, ahead of time
    "fuse_mlir.compiler.backend": 17,
    "fuse_mlir": 18,
    "fuse_mlir.compiler": 18,
    "fuse_mlir.tools": 18,
    "fuse_mlir.bisect": 19,
    "fuse_mlir.cache": 19,
    "fuse_mlir.minify": 19,
    "fuse_mlir.report": 19,
    "fuse_mlir.templates": 19,  # the public face of compiler/fx/templates.py
    "fuse_mlir.integrations": 20,  # adapters between this compiler and other projects
}
#: The same within the frontend, whose importer loads the builders of `ops` by name, and within the runtime; 0
#: is what their packages share.
INNER_LAYERS = {
    "fuse_mlir.compiler.frontend": 0,
    "fuse_mlir.compiler.frontend.importer": 0,
    "fuse_mlir.compiler.frontend.ops": 1,
    "fuse_mlir.compiler.frontend.importer.importer": 2,
    "fuse_mlir.compiler.runtime": 0,
    "fuse_mlir.compiler.runtime.cache": 0,
    "fuse_mlir.compiler.runtime.kernels": 2,
    "fuse_mlir.compiler.runtime.plans": 2,
    "fuse_mlir.compiler.runtime.interpreter": 2,
    "fuse_mlir.compiler.runtime.interpreter.scalar": 1,
    "fuse_mlir.compiler.runtime.cuda_graphs": 3,
    "fuse_mlir.compiler.runtime.fx_output": 3,
    "fuse_mlir.compiler.runtime.checks": 3,
    "fuse_mlir.compiler.runtime.gpu": 4,
}
TORCH_FREE = tuple(
    f"fuse_mlir.{name}"
    for name in ("passes", "compiler.ir", "compiler.index", "compiler.analysis", "compiler.verifier")
)
#: Files that a folder of the compiler holds at most: more are two subjects.
MOST_FILES = 20


def layer_of(module: str) -> tuple[str, int]:
    """The prefix of LAYERS that a module belongs to, and its layer."""
    best = max((p for p in LAYERS if module == p or module.startswith(p + ".")), key=len)
    assert best not in (PACKAGE, f"{PACKAGE}.compiler") or module == best, (
        f"{module} has no layer: name it in LAYERS"
    )
    return best, LAYERS[best]


def wrong_directions(sources: dict[str, str]) -> list[str]:
    """The imports, wherever in a module they stand, that go up or sideways."""
    found = []
    for module in sources:
        home, layer = layer_of(module)
        for item in imports_of(module, sources):
            if item.target != PACKAGE and not item.target.startswith(PACKAGE + "."):
                continue
            other, below = layer_of(item.target)
            if home == other or below < layer:
                continue
            if LAYERS["fuse_mlir"] == layer == below:  # the face hands out the backend
                continue
            found.append(f"{module}:{item.line} imports {item.target}: {home} must not know {other}")
    return found


def wrong_directions_inside(sources: dict[str, str]) -> list[str]:
    """The imports within the frontend or the runtime that go up or sideways."""

    def home_of(module: str) -> str:
        return max(
            (p for p in INNER_LAYERS if module == p or module.startswith(p + ".")), key=len, default=""
        )

    return [
        f"{module}:{item.line} imports {item.target}: {home} must not know {other}"
        for module in sources
        if (home := home_of(module))
        for item in imports_of(module, sources)
        if (other := home_of(item.target)) and home != other and INNER_LAYERS[other] >= INNER_LAYERS[home]
    ]


def is_torch(target: str) -> bool:
    """Whether an imported name is torch (torch_mlir is another package)."""
    return target == "torch" or target.startswith("torch.")


def torch_in_torch_free(sources: dict[str, str]) -> list[str]:
    """Why a module of the torch-free packages gets hold of torch: itself, or by importing a module that does.

    Importing a module imports the packages around it, so their `__init__` files count.
    """
    found = []
    for module in sources:
        if not module.startswith(TORCH_FREE):
            continue
        found += [
            f"{module}:{item.line} imports {item.target}"
            for item in imports_of(module, sources)
            if is_torch(item.target)
        ]
        seen, queue = {module}, [module]
        while queue:
            current = queue.pop()
            parts = current.split(".")
            reached = [".".join(parts[:end]) for end in range(1, len(parts))]
            reached += [item.target for item in imports_of(current, sources) if item.eager]
            if current != module and any(map(is_torch, reached)):
                found.append(f"{module} imports {current}, which imports torch")
            for target in reached:
                if target in sources and target not in seen:
                    seen.add(target)
                    queue.append(target)
    return found


def absolute_imports(sources: dict[str, str]) -> list[str]:
    """The imports of our own modules by absolute name: the package's name is the installation's business."""
    ours = (PACKAGE, "compiler", "integrations", "logs", "passes", "tools")
    return [
        f"{module}:{item.line} imports {item.target}: use a relative import"
        for module in sources
        for item in imports_of(module, sources)
        if not item.relative and item.target.split(".")[0] in ours
    ]


def other_dataclasses(sources: dict[str, str]) -> list[str]:
    """The imports of the standard library's `dataclass`, which makes loading the compiler slow.  Base classes
    of passes are made by it, so that users' passes may be, too.
    """
    return [
        f"{module}:{line} imports dataclass: use that of compiler/base"
        for module in sources
        for base, name, when, line, _ in import_statements(sources[module])
        if (base, name, when) == ("dataclasses", "dataclass", "loading")
        and module != f"{PACKAGE}.passes.pass_base"
    ]


CHECKS = (
    wrong_directions,
    wrong_directions_inside,
    cycles,
    torch_in_torch_free,
    absolute_imports,
    other_dataclasses,
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_package_keeps_its_layers(check) -> None:
    assert check(read_package(ROOT)) == []


def test_modules_of_every_kind_are_read() -> None:
    names = ("", ".cache", ".compiler", ".compiler.backend", ".passes.registry", ".tools.fuse_opt")
    assert {PACKAGE + name for name in names} <= read_package(ROOT).keys()


def test_every_folder_is_a_declared_package() -> None:
    metadata = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert sorted(PACKAGES) == sorted(metadata["tool"]["setuptools"]["packages"])


@pytest.mark.parametrize("package", sorted(p for p in PACKAGES if p.startswith(f"{PACKAGE}.compiler.")))
def test_a_room_says_what_it_is_for_and_is_not_crowded(package: str) -> None:
    folder = ROOT.joinpath(*package.split(".")[1:])
    files = sorted(folder.glob("*.py"))
    assert len(files) <= MOST_FILES
    documented = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))
    assert documented, "its docstring says what it is for and who may import it"


def test_names_that_plugins_know_stay() -> None:
    from fuse_mlir.compiler.analysis import kernel, remarks
    from fuse_mlir.compiler.base.remarks import Remarks
    from fuse_mlir.compiler.ir.kernel import is_kernel, is_tiled, string

    assert (kernel.is_kernel, kernel.is_tiled, kernel.string) == (is_kernel, is_tiled, string)
    assert remarks.Remarks is Remarks


ALLOWED = {
    "tools use anything": ("tools.fuse_opt", "from ..passes import registry\nfrom ..compiler import backend"),
    "backend uses the middle": (
        "compiler.backend",
        "import torch\nfrom .frontend import importer\nfrom ..passes import x",
    ),
    "passes use the bottom": (
        "passes.a",
        "from ..compiler.analysis.cost import flops\nfrom ..compiler import mlir",
    ),
    "the verifier uses analyses": ("compiler.verifier.a", "from ..analysis.program import dependences"),
    "runtime uses torch": ("compiler.runtime.launch", "import torch"),
    "checks use the interpreter": ("compiler.runtime.checks.a", "from ..interpreter import program"),
    "bindings are not torch": ("passes.a", "from torch_mlir import ir"),
    "the face is lazy": (
        "",
        "def __getattr__(name):\n    from .compiler.backend import fuse\n    return fuse",
    ),
}

FORBIDDEN = {
    "up": (wrong_directions, {"compiler.analysis.kernel.a": "from ....passes import registry"}),
    "up, in a function": (
        wrong_directions,
        {"passes.a": "def f():\n    from ..compiler.backend import fuse"},
    ),
    "sideways": (wrong_directions, {"compiler.codegen.a": "from ..runtime import launch"}),
    "up in the runtime": (
        wrong_directions_inside,
        {"compiler.runtime.plans.a": "from ..gpu import load"},
    ),
    "sideways in the runtime": (
        wrong_directions_inside,
        {"compiler.runtime.interpreter.a": "def f():\n    from ..plans.partition import Partition"},
    ),
    "what the runtime shares, up": (
        wrong_directions_inside,
        {"compiler.runtime.errors": "from .checks import outcomes"},
    ),
    "base up": (wrong_directions, {"compiler.base.a": "from ..ir.dialects import fuse"}),
    "backend to tools": (wrong_directions, {"compiler.backend": "from ..tools import fuse_opt"}),
    "sideways in the frontend": (
        wrong_directions_inside,
        {"compiler.frontend.autograd.a": "from ..importer.walk import import_nodes"},
    ),
    "up in the frontend": (
        wrong_directions_inside,
        {"compiler.frontend.ops.shape.a": "from ...importer.importer import import_graph"},
    ),
    "up in the frontend, from what ops import": (
        wrong_directions_inside,
        {"compiler.frontend.importer.a": "from ..ops.shape import views"},
    ),
    "torch": (torch_in_torch_free, {"passes.a": "from torch import fx"}),
    "torch, in a function": (
        torch_in_torch_free,
        {"compiler.ir.dialects.a": "def f():\n    import torch.fx"},
    ),
    "torch, by way of base": (
        torch_in_torch_free,
        {"compiler.analysis.cost.a": "from ...base import b", "compiler.base.b": "import torch"},
    ),
    "torch, by way of the face": (torch_in_torch_free, {"passes.a": "", "": "import torch"}),
    "absolute": (absolute_imports, {"passes.a": "from fuse_mlir.compiler import mlir"}),
    "absolute, on disk": (absolute_imports, {"passes.a": "import compiler.mlir"}),
    "another dataclass": (other_dataclasses, {"passes.a": "from dataclasses import dataclass, field"}),
}


@pytest.mark.parametrize(("module", "source"), ALLOWED.values(), ids=ALLOWED)
def test_checks_accept(module: str, source: str) -> None:
    assert [problem for check in CHECKS for problem in check(package_of({module: source}, LAYERS))] == []


@pytest.mark.parametrize(("check", "modules"), FORBIDDEN.values(), ids=FORBIDDEN)
def test_checks_reject(check, modules: dict[str, str]) -> None:
    assert check(package_of(modules, LAYERS)) != []


def _strings(file: Path) -> list[str]:
    """The strings in the code of a file, without docstrings."""
    tree = ast.parse(file.read_text())
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in told]
    return [node.value for node in constants if isinstance(node.value, str)]


def test_what_is_of_nvidia_stands_in_one_place() -> None:
    """PTX, libdevice's symbols and LLVM's intrinsics, in front of what compiles and launches kernels."""
    looks_so = re.compile(r"__nv_|nvvm|\.(?:b|u|s|f)(?:16|32|64)\b.*\$0")
    folders = [
        *(ROOT / "compiler" / part for part in ("codegen", "ir", "analysis", "frontend")),
        ROOT / "passes",
    ]
    files = [file for folder in folders for file in folder.rglob("*.py")]
    found = {file.name for file in files if any(map(looks_so.search, _strings(file)))}
    assert found == {"nvidia.py"}
