"""What two versions of torch differ in, of what this compiler names."""

import sys

import pytest

from fuse_mlir.tools._torch_facts import facts
from fuse_mlir.tools.torch_differences import differences, main

OLD = {
    "ops": {
        "aten.add.Tensor": "aten::add.Tensor(Tensor self, Tensor other) -> Tensor",
        "aten.mul.default": "aten::mul(Tensor self) -> Tensor",
        "aten.sub.default": "aten::sub(Tensor self) -> Tensor",
        "aten.nobody.default": "aten::nobody(Tensor self) -> Tensor",
        "aten.add.dim_DimnameList": "aten::add.dim_DimnameList(Tensor self, str dim) -> Tensor",
    },
    "higher_order": ["cond"],
    "settings": ["torch.backends.a"],
}
NEW = {
    "ops": {
        "aten.add.Tensor": "aten::add.Tensor(Tensor self, Tensor other, *, int alpha=1) -> Tensor",
        "aten.mul.default": "aten::mul(Tensor self) -> Tensor",
        "aten.mul.out": "aten::mul.out(Tensor self) -> Tensor",
        "aten.nobody.default": "aten::nobody(Tensor self, int a) -> Tensor",
        "_c10d_functional.wait_tensors.default": "_c10d_functional::wait_tensors(Tensor[] a) -> Tensor[]",
    },
    "higher_order": ["cond", "switch"],
    "settings": ["torch.backends.a", "torch.backends.b"],
}


def test_differences_of_what_the_sources_name() -> None:
    sources = '@lowers("aten.add.Tensor", "aten.mul.default", "aten.sub.default")'
    assert "\n".join(differences(OLD, NEW, sources)) == "\n".join(
        [
            "ops that the sources name:",
            "  was: aten::add.Tensor(Tensor self, Tensor other) -> Tensor",
            "  now: aten::add.Tensor(Tensor self, Tensor other, *, int alpha=1) -> Tensor",
            "  new: aten::mul.out(Tensor self) -> Tensor",
            "  gone: aten::sub(Tensor self) -> Tensor",
            "functional collectives:",
            "  new: _c10d_functional::wait_tensors(Tensor[] a) -> Tensor[]",
            "higher-order ops:",
            "  new: switch (not named in the sources)",
            "switches:",
            "  new: torch.backends.b",
        ]
    )


@pytest.mark.slow  # two processes read all of torch's schemas
def test_a_version_does_not_differ_from_itself(capsys) -> None:
    assert main([sys.executable, sys.executable]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line for line in printed[1:] if line.startswith(" ")] == []


def test_the_facts_name_what_is_known() -> None:
    found = facts()
    assert "cond" in found["higher_order"] and "torch.backends.cuda.matmul.allow_tf32" in found["settings"]
    assert found["ops"]["aten.relu.default"] == "aten::relu(Tensor self) -> Tensor"


def test_it_wants_two_interpreters(capsys) -> None:
    assert main([]) == 2 and "two interpreters" in capsys.readouterr().err
