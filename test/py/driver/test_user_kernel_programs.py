"""Graphs with users' Triton kernels: what is stored of them, and that their dumps replay and run."""

import re
from pathlib import Path
from unittest import mock

import pytest
import torch
from compiling import Compiled
from interpreted_gpu import interpreted_gpu
from made_up_gpu import made_up_gpu
from user_kernels import (
    CASES,
    add_kernel,
    doubled_argument,
    halve_kernel,
    halves,
    normed,
    restored_kernel,
    triton,
    triton_without_a_gpu,
)

import fuse_mlir
from fuse_mlir.compiler.base.pointer_effects import PointerEffects
from fuse_mlir.compiler.base.remarks import Remarks
from fuse_mlir.compiler.frontend.ops.user_kernels import tiled_kernel
from fuse_mlir.compiler.frontend.user_kernels import analysed_facts, facts
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.runtime.cache.cache_folder import CacheFolder
from fuse_mlir.compiler.runtime.interpreter.program import run_module
from fuse_mlir.passes.manager import PassManager
from fuse_mlir.passes.pipeline import default_pipeline

pytestmark = pytest.mark.usefixtures("fresh_dynamo")
ROWS = torch.linspace(-1, 1, 700).reshape(7, 100), torch.linspace(1, 2, 100)


def stored(folder: Path, function, *inputs, dynamic=False):
    """The graph of ``function``, compiled for a made-up GPU."""
    torch._dynamo.reset()
    graphs = []
    given = {"cache_dir": str(folder), "on_compiled": graphs.append, "hardware": "h200"}
    with made_up_gpu(), triton_without_a_gpu(), torch.no_grad():
        torch.compile(function, backend=fuse_mlir.backend, options=given, dynamic=dynamic)(*inputs)
    return graphs[0]


@pytest.mark.parametrize("function", [normed, doubled_argument, halves], ids=lambda f: f.__name__)
def test_a_plan_launches_kernels(function):
    """With addresses inside tensors, and with an argument that is written."""
    exactly, *shapes = CASES[function]
    inputs = [torch.randn(shape) for shape in shapes]
    expected = exactly(*(x.clone() for x in inputs))
    with interpreted_gpu() as plans, triton_without_a_gpu(), torch.no_grad():
        found = Compiled(function)(*inputs)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    assert len(plans) == 1 and not plans[0].externs


def test_a_stored_program_needs_no_front_end(tmp_path):
    """It is found by the graph that Dynamo captured, without AOTAutograd."""
    assert not stored(tmp_path, normed, *ROWS).cached
    assert len(list(tmp_path.rglob("*.captured"))) == 1
    with mock.patch.object(tiled_kernel, "ttir_of", side_effect=AssertionError):
        assert stored(tmp_path, normed, *ROWS).cached


def test_a_program_with_symbols_is_stored(tmp_path):
    for cached in (False, True):
        assert stored(tmp_path, normed, *ROWS, dynamic=True).cached == cached


def test_facts_are_stored(tmp_path):
    """With dynamic sizes AOTAutograd traces at a warm start, too; then the facts come from the disk."""
    with mock.patch.object(facts, "_FACTS", {}):
        assert not stored(tmp_path, normed, *ROWS, dynamic=True).cached
    assert list(tmp_path.rglob("*.facts"))
    with (
        mock.patch.object(facts, "_FACTS", {}),
        mock.patch.object(analysed_facts, "analyse", side_effect=AssertionError),
        mock.patch.object(tiled_kernel, "ttir_of", side_effect=AssertionError),
    ):
        assert stored(tmp_path, normed, *ROWS, dynamic=True).cached


def asked(kernel=add_kernel, n=64, block=64, **given):
    x = torch.ones(64)
    return facts.Question.of(kernel, {"x": x, "y": x, "out": x, "n": n, "block": block, **given}, {})


def test_what_facts_are_stored_under(tmp_path):
    """Whatever may change what the kernel does is in the name; an object without a text has none."""
    x = torch.ones(64)
    different = [
        asked(),
        asked(n=1),
        asked(n=16),
        asked(block=32),
        asked(y=None),
        asked(x=x.double()),
        facts.Question.of(
            add_kernel, {"x": x, "y": x, "out": x, "n": 64, "block": 64}, {"x": ("stable", ([64],))}
        ),
        asked(kernel=triton.autotune([triton.Config({"block": 64})], key=[])(add_kernel)),
        asked(kernel=triton.autotune([triton.Config({"block": 64}, num_warps=8)], key=[])(add_kernel)),
        asked(kernel=halve_kernel),
    ]
    assert len({question.text for question in different}) == len(different)
    assert asked(block=object()).text is None and asked().text == asked().text
    with mock.patch.object(triton.knobs.runtime, "debug", True):
        assert asked().text != different[0].text
    folder = CacheFolder(tmp_path, ".facts")
    store, other = (facts.FactsStore(folder, lambda v=v: v) for v in ("1", "2"))
    found = facts.UserKernelFacts({name: PointerEffects(read=True) for name in ("x", "y", "out")}, True)
    with mock.patch.object(facts, "_FACTS", {}):
        facts.remember(asked(), found, store)
        assert facts.known_facts(asked()) == found
    for question, place, known in (
        (asked(), store, found),
        (asked(), other, None),
        (asked(n=1), store, None),
    ):
        with mock.patch.object(facts, "_FACTS", {}):
            assert facts.known_facts(question) is None
            assert facts.known_facts(question, place) == known
    store.write(asked(n=1).text, facts.UserKernelFacts({"x": PointerEffects()}, False))
    with mock.patch.object(facts, "_FACTS", {}):
        assert facts.known_facts(asked(n=1), store) is None, "they are of other tensors"


def test_facts_of_what_is_not_understood_are_not_stored(tmp_path):
    store = facts.FactsStore(CacheFolder(tmp_path, ".facts"), lambda: "1")
    with mock.patch.object(facts, "_FACTS", {}):
        found = analysed_facts.analyse(asked(block=3), store)  # no power of two
    assert found.why is not None and not list(tmp_path.rglob("*.facts"))


def test_how_a_kernel_is_launched_is_in_the_key(tmp_path):
    x, y = torch.ones(64), torch.ones(64)

    def launched(warps=4, end=64):
        def function(x, y):
            out = torch.empty_like(x)
            add_kernel[(1,)](x, y, out, end, block=64, num_warps=warps)
            return out

        return stored(tmp_path, function, x, y)

    for changed in ({}, {"warps": 8}, {"end": 32}):
        assert not launched(**changed).cached
        assert launched(**changed).cached


@triton.jit
def first_kernel(x, out, block: triton.language.constexpr):
    i = triton.language.arange(0, block)
    triton.language.store(out + i, triton.language.load(x + i) + 1)


def test_the_source_of_a_kernel_is_in_the_key(tmp_path, monkeypatch):
    def function(x):
        out = torch.empty_like(x)
        first_kernel[(1,)](x, out, block=64)
        return out

    x = torch.ones(64)
    key = stored(tmp_path, function, x).key
    assert stored(tmp_path, function, x).cached
    first_kernel._unsafe_update_src(first_kernel.src.replace("+ 1)", "+ 2)"))
    first_kernel.hash = None
    graph = stored(tmp_path, function, x)
    assert not graph.cached and graph.key != key


def test_an_opaque_kernel_is_not_stored(tmp_path):
    def function(x):
        out = torch.empty_like(x)
        restored_kernel[(1,)](x, out, x.numel())
        return out

    with pytest.raises(AttributeError, match="_Driver"):  # torch launches it
        stored(tmp_path, function, torch.ones(64))
    assert not list(tmp_path.rglob("*.program"))


def test_dumps_replay_and_run_at_every_level(tmp_path):
    with triton_without_a_gpu(), torch.no_grad():
        options = {"dump": str(tmp_path), "interpret_level": "planned"}
        expected = torch.compile(normed, backend=fuse_mlir.backend, options=options, dynamic=False)(*ROWS)
    texts = [p.read_text() for p in sorted((tmp_path / "inference-0").glob("*.mlir"))]
    passes = default_pipeline("planned")
    assert len(texts) == len(passes) + 1
    assert all(re.search(r'fuse.user = "[^"]*user_kernels.py:\d+ rms_kernel"', text) for text in texts)
    context = make_context()
    for before, after, each in zip(texts[:-1], texts[1:], passes, strict=True):
        module = ir.Module.parse(before, context)
        PassManager([each]).run(module, Remarks())
        assert module.operation.get_asm(enable_debug_info=True).strip() == after.strip(), each.name
    for level in ("graph", "scheduled", "tiled", "planned"):
        text = texts[len(default_pipeline(level))]
        for found, wanted in zip(run_module(ir.Module.parse(text, context), ROWS), expected, strict=True):
            assert torch.equal(found, wanted), level
