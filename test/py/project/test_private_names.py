"""The table of private names against the sources, both ways, and against the installed torch and Triton."""

from importlib import metadata

import pytest
from repository import ROOT

from fuse_mlir.tools._private_names import (
    PRIVATE_NAMES,
    available,
    exists,
    known_names,
    package_sources,
)
from fuse_mlir.tools._private_uses import private_uses


def test_the_table_names_what_the_sources_use() -> None:
    uses = private_uses(package_sources(ROOT))
    assert len(uses) > 100  # they were found
    unlisted = {name: modules for name, modules in uses.items() if name not in known_names()}
    assert not unlisted, f"give each a row in tools/_private_names.py: {unlisted}"
    unused = sorted(known_names() - uses.keys())
    assert not unused, f"no source uses these any more; take them out of tools/_private_names.py: {unused}"


def test_the_installed_versions_have_every_name() -> None:
    """Fails with the names that are gone, and what to do without each."""
    gone = []
    for row in PRIVATE_NAMES:
        package = row.owner.partition(".")[0]
        if not available(row.needs) or (
            row.until and version(package) > tuple(map(int, row.until.split(".")))
        ):
            continue
        gone += [f"{name} ({row.instead})" for name in row.full() if not exists(name)]
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("torch", "triton", "torch-mlir"))
    assert not gone, f"gone in {versions}: {'; '.join(gone)}"


def version(package: str) -> tuple[int, ...]:
    return tuple(int(part) for part in metadata.version(package).split(".")[:2])


@pytest.mark.parametrize("row", [row for row in PRIVATE_NAMES if row.until], ids=lambda row: row.owner)
def test_a_name_that_went_is_gone(row) -> None:
    """So that ``until`` is no guess: the versions behind it lack the name."""
    if version(row.owner.partition(".")[0]) > tuple(map(int, row.until.split("."))):
        assert not any(exists(name) for name in row.full())
    else:
        assert all(exists(name) for name in row.full())


USES = {
    "an import": ("from torch._ops import OpOverload", ["torch._ops.OpOverload"]),
    "a module": ("import torch._inductor.config", ["torch._inductor.config"]),
    "a chain": ("import torch\ntorch._C._get_x()", ["torch._C._get_x"]),
    "a renamed import": (
        "from torch._C import _dynamo as d\nd.guards.x",
        ["torch._C._dynamo", "torch._C._dynamo.guards.x"],
    ),
    "a name for a chain": ("import torch\naten = torch.ops.aten\naten._to_copy", ["torch.ops.aten._to_copy"]),
    "two names at once": (
        "import torch\na, b = torch.ops.aten, torch.ops.prims\nb._x",
        ["torch.ops.prims._x"],
    ),
    "getattr": ("import torch\ngetattr(torch._C, '_x', None)", ["torch._C", "torch._C._x"]),
    "a setting": (
        "from torch._functorch import config\nconfig.patch(cse=False)",
        ["torch._functorch.config", "torch._functorch.config.cse", "torch._functorch.config.patch"],
    ),
    "settings by text": (
        "from torch._dynamo import config\nconfig.patch({'a': 1})",
        ["torch._dynamo.config", "torch._dynamo.config.a", "torch._dynamo.config.patch"],
    ),
    "an object's": ("def f(op): return op._schema", ["*._schema"]),
    "an object's by text": ("def f(op): return getattr(op, '_schema')", ["*._schema"]),
    "a text": ("x = 'torch._inductor.lowering'", ["torch._inductor.lowering"]),
    "Triton's compiler": ("from triton.runtime.jit import JITFunction", ["triton.runtime.jit.JITFunction"]),
    "public": ("import torch\ntorch.ops.aten.add\nimport triton.language as tl\ntl.load", []),
    "our own": ("class A:\n  def _x(self): return self._x\ndef f(a): return a._x", []),
    "dunder": ("import torch\ntorch.__version__", []),
    "prose": ('"""Uses torch._C of torch.  See torch._x."""', []),
    "relative": ("from ._x import _y\n_y._z", ["*._z"]),
}


@pytest.mark.parametrize("kind", USES)
def test_uses_are_found(kind: str) -> None:
    text, names = USES[kind]
    assert list(private_uses({"m": text})) == names
