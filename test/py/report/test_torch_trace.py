"""What torch's trace gets, read with tlparse itself; and torch's other switches of logs and folders."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from new_process import python
from repository import ROOT

import fuse_mlir
from fuse_mlir.compiler.base.timing import WATCHERS
from fuse_mlir.compiler.report import torch_trace

TLPARSE = shutil.which("tlparse", path=str(Path(sys.executable).parent)) or shutil.which("tlparse")
PROGRAM = """
import torch, fuse_mlir
from made_up_gpu import made_up_gpu
def f(x, w):
    z = x @ w
    y = torch.nn.functional.gelu(z)
    return y.softmax(-1).sum()
x, w = torch.randn(8, 16), torch.randn(16, 16, requires_grad=True)
with made_up_gpu():
    torch.compile(f, backend=fuse_mlir.backend, options={"cache": False})(x, w).backward()
"""


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder: ``trace``, ``debug`` and ``log.txt`` of a process that compiles ``PROGRAM``."""
    folder = tmp_path_factory.mktemp("traced")
    script = folder / "program.py"
    script.write_text(PROGRAM.lstrip())
    python(
        f"import runpy; runpy.run_path({str(script)!r})",
        TORCH_TRACE=str(folder / "trace"),
        TORCH_LOGS="fuse_mlir.logs.remarks",
        TORCH_LOGS_OUT=str(folder / "log.txt"),
        TORCH_COMPILE_DEBUG="1",
        TORCH_COMPILE_DEBUG_DIR=str(folder / "debug"),
    )
    return folder


@pytest.fixture(scope="module")
def pages(traced: Path) -> Path:
    """What tlparse makes of the trace."""
    if TLPARSE is None:
        pytest.skip("tlparse is not installed")
    (log,) = (traced / "trace").glob("*.log")
    out = traced / "pages"
    said = subprocess.run(
        [TLPARSE, "--strict", "--inductor-provenance", "--no-browser", "-o", str(out), str(log)],
        capture_output=True,
        text=True,
    )
    assert said.returncode == 0, said.stderr
    assert "Unknown fields" not in said.stderr
    return out


def page(pages: Path, name: str) -> str:
    """The last page of that name."""
    found = [p for p in (pages / "-_0_0_0").iterdir() if re.fullmatch(rf"{name}_\d+\.\w+", p.name)]
    return max(found, key=lambda p: int(p.stem.rpartition("_")[2])).read_text()


@pytest.mark.parametrize("graph", ["forward", "backward"])
def test_tlparse_shows_a_page_of_each_artifact(pages: Path, graph: str) -> None:
    levels = {
        "graph": '"fuse.empty"',
        "scheduled": "fuse.kernel",
        "tiled": '"tt.load"',
        "planned": '"fuse.alloc"',
    }
    for level, op in levels.items():
        assert op in page(pages, f"fuse_{graph}_{level}")
    assert "passed: fuse-vertical: " in page(pages, f"fuse_{graph}_remarks")
    assert "def run(args):" in page(pages, f"fuse_{graph}_plan_source")
    assert "launch " in page(pages, f"fuse_{graph}_plan")
    assert json.loads(page(pages, f"fuse_{graph}_compile_seconds"))["passes"]["fuse-vertical"]
    assert f"fuse_{graph}_remarks" in (pages / "index.html").read_text()


def test_the_viewer_finds_the_lines_that_belong_together(pages: Path) -> None:
    """Each line of the captured graph has lines of the compiled one, and these have launches."""
    text = (pages / "provenance_tracking_-_0_0_0.html").read_text()
    found = re.search(r'id="lineMappings"[^>]*>(.*?)</script>', text, re.DOTALL)
    assert found is not None
    mappings = json.loads(found[1])
    captured, compiled, launches = (
        page(pages, name).splitlines()
        for name in ("before_pre_grad_graph", "after_post_grad_graph", "inductor_output_code")
    )

    def reached(line: str) -> set[str]:
        """The launches that a line of the captured graph leads to."""
        (number,) = (n for n, text in enumerate(captured, 1) if text.strip().startswith(line))
        nodes = mappings["preToPost"][str(number)]
        assert all(number in mappings["postToPre"][str(node)] for node in nodes)
        found = {at for node in nodes for at in mappings["postToPyCode"].get(str(node), ())}
        assert all({*nodes} & {*mappings["pyCodeToPost"][str(at)]} for at in found)
        return {launches[at - 1].split("(")[0].strip() for at in found}

    assert reached("z:") == {"aten.mm.default"}
    assert any("softmax" in line or "div" in line for line in compiled)
    assert all(name.startswith("fused_") for name in reached("softmax:") | reached("y:"))


def test_stages_are_in_the_timeline(pages: Path) -> None:
    events = json.loads((pages / "chromium_events.json").read_text())
    ours = {event["name"]: event for event in events if event.get("cat") == "fuse_mlir"}
    for name in ("captured: compile", "graph: backward", "part: passes", "pass: fuse-vertical"):
        assert ours[f"fuse {name}"]["dur"] > 0
    kernels = [event for name, event in ours.items() if name.startswith("fuse kernel: ")]
    assert kernels and all(event["dur"] > 0 for event in kernels)
    (dynamo,) = (e for e in events if e["name"] == "entire_frame_compile" and e["ph"] == "B")
    whole = ours["fuse captured: compile"]
    assert dynamo["ts"] <= whole["ts"] <= ours["fuse pass: fuse-vertical"]["ts"] <= whole["ts"] + whole["dur"]


def test_torch_logs_writes_what_it_names(traced: Path) -> None:
    said = (traced / "log.txt").read_text()
    assert "forward: remarks:\n" in said and "passed: " in said
    assert "launch 0" not in said and "kernels ->" not in said


def test_torch_compile_debug_gets_a_dump(traced: Path) -> None:
    (folder,) = (traced / "debug").glob("torch_compile_debug/run_*/fuse_mlir")
    assert {p.name for p in folder.iterdir()} == {"index.html", "forward-0", "backward-0"}
    assert (folder / "forward-0" / "plan.txt").is_file()


@pytest.mark.usefixtures("fresh_dynamo")
def test_nothing_is_made_where_nobody_traces(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("something is traced")

    monkeypatch.setattr(torch_trace, "trace_structured", refuse)
    monkeypatch.setattr(torch_trace, "_readable", refuse)
    x = torch.randn(3, 40)
    compiled = torch.compile(lambda x: x.exp().sum(0), backend=fuse_mlir.backend)
    torch.testing.assert_close(compiled(x), x.exp().sum(0))
    assert WATCHERS == []


@pytest.mark.usefixtures("fresh_dynamo")
@pytest.mark.parametrize("gradients", [False, True])
def test_a_call_without_tracing_asks_nothing_of_it(gradients: bool) -> None:
    """No function of what reports, logs or names ranges is called, with gradients neither."""
    x = torch.randn(3, 40, requires_grad=gradients)
    compiled = torch.compile(lambda x: (x.exp().sum(0) @ x.T).sin(), backend=fuse_mlir.backend)
    for _ in range(2):
        found = compiled(x)
        if gradients:
            found.sum().backward()
    called: set[str] = set()
    before = sys.getprofile()
    sys.setprofile(lambda frame, *_: called.add(frame.f_code.co_filename))
    try:
        found = compiled(x)
        if gradients:
            found.sum().backward()
    finally:
        sys.setprofile(before)
    paths = [Path(name).resolve() for name in called]
    ours = {str(path.relative_to(ROOT)) for path in paths if path.is_relative_to(ROOT)}
    assert any(name.startswith("compiler/runtime/") for name in ours), "the program ran"
    assert not [n for n in ours if n.startswith(("compiler/report/", "logs/")) or "profiler_range" in n]
