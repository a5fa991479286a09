"""``cache prove``: each input of a key, changed alone, makes another key; one that a key lacks is named."""

from pathlib import Path

import pytest

from fuse_mlir.compiler.driver import program_cache
from fuse_mlir.tools import _cache

pytestmark = pytest.mark.usefixtures("fresh_dynamo")

SCRIPT = """
import torch, fuse_mlir
torch.compile(lambda x: (x.exp() * 2).sum(1), backend=fuse_mlir.backend)(torch.randn(4, 8))
print("the script goes on")
"""


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT.lstrip())
    return str(path)


def test_every_change_of_an_input_is_a_miss(script, capsys) -> None:
    assert _cache.main(["prove", "--all", script]) == 0
    said = capsys.readouterr().out
    assert "HIT" not in said and said.endswith("each is a miss\n") and "the script goes on" in said
    for graph in ("captured", "inference"):
        for change in (
            "options: rounding",
            "options: pipeline",
            "torch's switches: cuda.matmul.fp32_precision",
            "versions: torch",
            "versions: the compiler's sources",
            "environment: PTXAS_OPTIONS",
            "device: multi_processor_count",
            "device: its number",
        ):
            assert f"miss {graph}: {change}\n" in said
    assert "miss captured: torch's switches: grad mode\n" in said
    assert "miss inference: graph: the stride of arg0_1\n" in said
    assert "miss inference: graph: the op of exp\n" in said
    for graph in ("captured", "inference"):
        assert f"miss {graph}: graph: the number 2 of mul\n" in said


@pytest.mark.parametrize(
    ("forgotten", "hit"),
    [
        ((program_cache, "product_switches"), "HIT  inference: torch's switches: cuda.matmul.fp32_precision"),
        ((program_cache, "hardware_name"), "HIT  inference: device: multi_processor_count"),
        ((program_cache, "triton_environment"), "HIT  inference: environment: PTXAS_OPTIONS"),
    ],
)
def test_what_a_key_lacks_is_named(forgotten, hit, script, capsys, monkeypatch) -> None:
    owner, name = forgotten
    monkeypatch.setattr(owner, name, lambda *_: "")
    assert _cache.main(["prove", script]) == 1
    said = capsys.readouterr()
    assert hit in said.out and "the key lacks what they change" in said.err
    assert "options" not in "".join(line for line in said.out.splitlines() if line.startswith("HIT"))


def test_a_script_that_fails_is_one_sentence(script, capsys) -> None:
    Path(script).write_text("1 / 0")
    assert _cache.main(["prove", script]) == 1
    assert capsys.readouterr().err.endswith("script.py:1 raised ZeroDivisionError: division by zero\n")
