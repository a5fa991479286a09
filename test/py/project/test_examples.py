"""The examples run and do what they say; the code of the README is among them."""

import ast
import dataclasses
import importlib.util
import re
import shlex
import sys
import tomllib
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest
import torch
from pages import blocks, fences, first_missing
from repository import ROOT

import fuse_mlir
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.runtime.interpreter.program import run_module
from fuse_mlir.compiler.verifier.verifier import verify
from fuse_mlir.passes.manager import PassManager
from fuse_mlir.passes.pipeline_text import parse_pipeline
from fuse_mlir.passes.registry import all_passes
from fuse_mlir.tools import fuse_opt

EXAMPLES = ROOT / "examples"
README = (ROOT / "README.md").read_text(encoding="utf-8")


pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def load(path: Path) -> ModuleType:
    """The module at `path`, as the interpreter would run it, under its own name."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def softmax_module() -> ir.Module:
    return ir.Module.parse((EXAMPLES / "softmax.mlir").read_text(encoding="utf-8"), make_context())


def softmax_error(module: ir.Module) -> float:
    """The largest error of examples/softmax.mlir against float64."""
    x = torch.randn(8, 64)
    (result,) = run_module(module, [x])
    return (result - torch.softmax(2 * x.double(), -1)).abs().max().item()


# ---- the two hooks -----------------------------------------------------------------------------------------


def test_custom_fx_pass_changes_the_graph_and_not_the_result(capsys):
    assert load(EXAMPLES / "custom_fx_pass.py").main() == 0
    before, after, verdict = capsys.readouterr().out.splitlines()
    assert "aten.div.Tensor" in before and "aten.mul.Tensor" not in before
    assert "aten.div.Tensor" in after and "aten.mul.Tensor" in after  # softmax's own division stays
    assert verdict == "results are equal to the last bit"


def test_fx_output_is_shown_and_changed(capsys):
    example = load(EXAMPLES / "fx_output.py")
    assert example.main() == 0
    out = capsys.readouterr().out
    assert "torch.ops.aten.mm.default" in out and "code: return y.softmax(-1)" in out
    (launch,) = re.findall(r"torch\.ops\.fuse_mlir\.launch\.default\('(\w+)'", out)
    (told,) = example.told
    assert re.fullmatch(rf"{launch} wrote \[16, 24\], at most [01]\.\d\d\d", told)
    assert out.endswith("results are equal to the last bit\n")


@pytest.mark.parametrize(
    ("number", "exact"),
    [
        (8.0, True),
        (-0.25, True),
        (1, True),
        (3.0, False),
        (0.0, False),
        (float("inf"), False),
        (2.0**-140, False),
    ],
)
def test_only_powers_of_two_have_an_exact_reciprocal(number, exact):
    assert load(EXAMPLES / "custom_fx_pass.py").is_power_of_two(number) is exact


def test_custom_pipeline_decides_how_much_is_fused(capsys):
    assert load(EXAMPLES / "custom_pipeline.py").main() == 0
    counts = [int(n) for n in re.findall(r": (\d+) launches", capsys.readouterr().out)]
    nothing, vertical, default = counts
    assert nothing > vertical >= default >= 1


def test_a_norm_is_a_template(capsys):
    assert load(EXAMPLES / "norm_template.py").main() == 0
    assert capsys.readouterr().out.startswith("5 -> 1 launches\n")


def test_attention_is_a_template(capsys):
    assert load(EXAMPLES / "attention_template.py").main() == 0
    assert capsys.readouterr().out.startswith("5 -> 1 launches\n")


def test_helion_gives_a_template(capsys):
    pytest.importorskip("helion")
    assert load(EXAMPLES / "helion_template.py").main() == 0
    assert capsys.readouterr().out.startswith("3 -> 1 launches\n")


@pytest.mark.skipif(not torch.distributed.is_gloo_available(), reason="torch without gloo")
def test_tensor_parallel_gives_the_loss_of_the_whole_layer(monkeypatch, capsys, tmp_path):
    """As one process; ``test_two_processes.py`` has such layers over two."""
    init = torch.distributed.init_process_group
    store = torch.distributed.FileStore(str(tmp_path / "store"), 1)
    monkeypatch.setattr(
        torch.distributed,
        "init_process_group",
        lambda backend: init("gloo", store=store, rank=0, world_size=1),
    )
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    load(EXAMPLES / "tensor_parallel.py").main()
    told = re.fullmatch(r"1 processes, loss 1\.\d+, off by (.*)\n", capsys.readouterr().out)
    assert told is not None and float(told[1]) < 1e-6


# ---- a pass in a package of its own ------------------------------------------------------------------------


@pytest.fixture
def plugin(monkeypatch) -> metadata.EntryPoint:
    """The entry point that the plugin's metadata declares, importable as if the plugin were installed."""
    monkeypatch.syspath_prepend(str(EXAMPLES / "plugin"))
    project = tomllib.loads((EXAMPLES / "plugin" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    [(group, entries)] = project["entry-points"].items()
    [(name, value)] = entries.items()
    return metadata.EntryPoint(name, value, group)


def test_plugin_is_found_by_its_entry_point(plugin, monkeypatch):
    monkeypatch.setattr(metadata, "entry_points", lambda *, group: [plugin] if group == plugin.group else [])
    (p,) = parse_pipeline("builtin.module(exp-to-exp2)")
    assert type(p).__name__ == "ExpToExp2" and p.numerics == "precision"


def test_plugin_rewrites_exp_and_leaves_a_remark(plugin):
    module = softmax_module()
    passes = parse_pipeline("builtin.module(exp-to-exp2)", all_passes([plugin]))
    remarks = PassManager(passes).run(module)
    text = str(module)
    assert text.count("math.exp2") == 1 and "math.exp " not in text
    assert [r.ops for r in remarks.items] == [("softmax",)]
    assert softmax_error(module) < 1e-6
    PassManager(passes).run(module)
    assert str(module) == text  # idempotent


def test_plugin_leaves_other_types_alone(plugin):
    text = (EXAMPLES / "softmax.mlir").read_text(encoding="utf-8").replace("f32", "f64")
    module = ir.Module.parse(text, make_context())
    PassManager(parse_pipeline("builtin.module(exp-to-exp2)", all_passes([plugin]))).run(module)
    assert "math.exp2" not in str(module)


def test_a_name_in_use_is_refused(plugin):
    taken = metadata.EntryPoint("eliminate-dead", plugin.value, plugin.group)
    with pytest.raises(ValueError, match="second pass named eliminate-dead"):
        all_passes([taken])


# ---- the README --------------------------------------------------------------------------------------------


def test_readme_shows_the_example_file():
    """The IR in the README that is called examples/softmax.mlir is a part of it."""
    shown, source = blocks(README, "mlir")[0], (EXAMPLES / "softmax.mlir").read_text(encoding="utf-8")
    assert [line for line in shown.splitlines() if line.strip() and line not in source] == []


def test_readme_shows_what_fuse_opt_prints(monkeypatch, capsys):
    """IR below a command is what it prints, to the numbers of values, with `...` for what is left out."""
    shown = [
        (command.strip(), text)
        for (first, command), (second, text) in pairwise(fences(README))
        if first == "sh" and command.startswith("fuse-opt ") and second == "mlir"
    ]
    assert len(shown) == 1
    monkeypatch.chdir(ROOT)
    for command, text in shown:
        assert fuse_opt.main(shlex.split(command)[1:]) == 0
        missing = first_missing(text, capsys.readouterr().out)
        assert missing is None, f"paste anew what `{command}` prints: {missing}"
        pipeline = re.search(r"--pass-pipeline='(.*?)'", command)[1]
        module = softmax_module()
        PassManager(parse_pipeline(pipeline)).run(module)
        assert softmax_error(module) < 1e-6


@pytest.mark.parametrize(
    ("shown", "missing"),
    [
        ("b\nc\n", None),
        ("a\n  ...\nd\n", None),
        ("...\nc\n...\n", None),
        ("a\nc\n", "a c"),
        ("a\nbb\n", "a bb"),
        ("%2 = b\n", "%2 = b"),
        ("d\n...\na\n", "a"),
    ],
)
def test_what_is_shown_follows_what_is_printed(shown, missing):
    assert first_missing(shown, "a\nb  c\nd\n") == missing


@pytest.fixture
def named_backend():
    """``backend="fuse"``, which only an installed distribution registers."""
    if "fuse" not in torch._dynamo.list_backends():
        torch._dynamo.register_backend(fuse_mlir.backend, name="fuse")


def test_readme_uses_torch_compile(named_backend):
    """Every Python block of the README that calls torch.compile runs on the CPU."""
    programs = [block for block in blocks(README, "python") if "torch.compile" in block]
    assert programs
    for program in programs:
        exec(compile(program, "README.md", "exec"), {"__name__": "readme"})


def test_readme_pass_is_the_plugin(plugin):
    """The pass in the README is the one that the tests above run, but for docstrings and blank lines."""
    (shown,) = [block for block in blocks(README, "python") if "(Pass)" in block]
    source = (EXAMPLES / "plugin" / "fuse_exp2" / "exp_to_exp2.py").read_text(encoding="utf-8")
    assert without_docstrings(shown) == without_docstrings(source)
    scope: dict = {"__name__": "readme"}
    exec(compile(shown, "README.md", "exec"), scope)
    module = softmax_module()
    PassManager([scope["ExpToExp2"]()]).run(module)
    assert "math.exp2" in str(module) and softmax_error(module) < 1e-6
    assert dataclasses.is_dataclass(scope["ExpToExp2"])


def without_docstrings(source: str) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if (
            isinstance(body, list)
            and body
            and isinstance(body[0], ast.Expr)
            and isinstance(body[0].value, ast.Constant)
        ):
            del body[0]
    return ast.unparse(tree)


def test_readme_shows_the_remarks_of_its_first_program(capsys, named_backend):
    exec(compile(blocks(README, "python")[0], "model.py", "exec"), {"__name__": "readme"})
    (shown,) = blocks(README, "text")
    assert shown.split() == capsys.readouterr().out.split()


# ---- docs/architecture.md ----------------------------------------------------------------------------------


def test_architecture_shows_what_the_levels_are(capsys):
    """Its excerpts are what examples/levels.py holds and prints, in order; lines may be broken elsewhere."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    chapter = text.partition("\n## One function at every level\n")[2].partition("\n## ")[0]
    assert load(EXAMPLES / "levels.py").main() == 0
    source = (EXAMPLES / "levels.py").read_text(encoding="utf-8")
    excerpts = [excerpt for _, excerpt in fences(chapter)]
    assert len(excerpts) == 8
    missing = first_missing("...\n".join(excerpts), source + capsys.readouterr().out)
    assert missing is None, f"paste anew what examples/levels.py prints: {missing}"


def test_modules_in_architecture_are_valid():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    modules = re.findall(r"^```mlir\n(module .*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert modules
    for module in modules:
        verify(ir.Module.parse(module, make_context()))


# ---- the demo ----------------------------------------------------------------------------------------------

TINY = ["--layers", "1", "--heads", "2", "--width", "32", "--vocab", "67", "--batch", "2", "--length", "16"]


def test_demo_passes_and_says_what_was_fused(tmp_path, capsys):
    demo = load(EXAMPLES / "gpt2_demo.py")
    assert demo.main([*TINY, "--device", "cpu", "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    for graph in ("inference", "forward", "backward"):
        captured, fused, externs, fallbacks = map(
            int, re.search(rf"^  {graph} +(\d+) +(\d+) +(\d+) +(\d+) ", out, re.M).groups()
        )
        assert captured > fused > 0 and externs > 0 and fallbacks == 0
        dumps = sorted(path.name for path in (tmp_path / f"{graph}-0").glob("*.mlir"))
        assert dumps[0] == "00-input.mlir" and len(dumps) > 5
        ir.Module.parse((tmp_path / f"{graph}-0" / dumps[-1]).read_text(encoding="utf-8"), make_context())
    assert "bench/models/blocks.py:" in out
    verdicts = re.findall(r"^  (forward|loss|gradients) .* (PASS|FAIL)", out, re.M)
    assert dict(verdicts) == {"forward": "PASS", "loss": "PASS", "gradients": "PASS"}


def test_demo_fails_on_a_wrong_answer(tmp_path, monkeypatch, capsys):
    """A compiled result that is off by a part in a thousand gives exit status 1."""
    demo = load(EXAMPLES / "gpt2_demo.py")
    run = demo.Session._run

    def spoiled(self, model, backend=None):
        outcome = run(self, model)
        if backend is not None:
            outcome.tensors["grad:norm.weight"] *= 1.001
        return outcome

    monkeypatch.setattr(demo.Session, "_run", spoiled)
    assert demo.main([*TINY, "--device", "cpu", "--out", str(tmp_path)]) == 1
    assert "gradients" in capsys.readouterr().out
