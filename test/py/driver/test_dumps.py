"""The folders of ``dump``: one for each graph, nothing in them is written again, a page lists them."""

import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from repository import ROOT

import fuse_mlir
from fuse_mlir.compiler.base.options import OptionError
from fuse_mlir.compiler.driver import dumps
from fuse_mlir.passes.observers import REPLAY
from fuse_mlir.passes.pipeline import default_pipeline
from fuse_mlir.tools import _opt, fuse_opt, fuse_run

pytestmark = pytest.mark.usefixtures("fresh_dynamo")
X = torch.ones(4, 6)


def dump(folder: Path, function, *inputs, **options) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(
        function, backend=fuse_mlir.backend, dynamic=False, options={"dump": str(folder), **options}
    )
    for x in inputs or (X,):
        result = compiled(x)
        if result.requires_grad:
            result.sum().backward()


def files(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file but the page, with its time."""
    return {
        str(p.relative_to(folder)): (p.read_bytes(), p.stat().st_mtime_ns)
        for p in folder.rglob("*")
        if p.is_file() and p.name != dumps.INDEX
    }


def folders(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir() if p.is_dir())


def broken(x):
    y = x.sin() + 1
    torch._dynamo.graph_break()
    return y.cos() * 2


def test_graph_breaks_recompilations_and_other_models_have_folders_of_their_own(tmp_path):
    kept: dict[str, tuple[bytes, int]] = {}
    for function, inputs, now in (
        (broken, (X,), ["inference-0", "inference-1"]),
        (torch.sin, (X, X[:2]), ["inference-2", "inference-3"]),
        (torch.cos, (X,), ["inference-4"]),
    ):
        before = folders(tmp_path)
        dump(tmp_path, function, *inputs)
        assert sorted({*folders(tmp_path)} - {*before}) == now
        after = files(tmp_path)
        assert kept.items() <= after.items(), "what was there is as it was"
        kept = after


def test_a_shorter_pipeline_leaves_no_old_files_among_its_own(tmp_path):
    for level in ("planned", "scheduled"):
        dump(tmp_path, broken, interpret_level=level)
    for number, level in enumerate(("planned", "planned", "scheduled", "scheduled")):
        found = sorted(p.name for p in (tmp_path / f"inference-{number}").glob("*.mlir"))
        assert len(found) == 1 + len(default_pipeline(level))


def test_the_graph_level_has_its_input(tmp_path):
    """No pass runs."""
    dump(tmp_path, torch.sin, interpret_level="graph")
    assert [p.name for p in (tmp_path / "inference-0").glob("*.mlir")] == ["00-input.mlir"]
    assert "func.func @main" in (tmp_path / "inference-0" / "00-input.mlir").read_text()


def test_a_training_step_and_a_branch(tmp_path):
    """A forward and a backward graph; the graph of a branch is inside the one around it."""

    def branched(x):
        return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))

    dump(tmp_path, torch.sin, X.clone().requires_grad_())
    dump(tmp_path, branched)
    assert folders(tmp_path) == ["backward-0", "forward-0", "inference-0"]
    assert "fuse.graph = @true_graph_0" in (tmp_path / "inference-0" / "00-input.mlir").read_text()


def test_processes_of_a_job_are_told_apart(tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    for rank in ("0", "1"):
        monkeypatch.setenv("RANK", rank)
        dump(tmp_path, torch.sin)
    monkeypatch.setenv("RANK", "")
    assert dumps.new_folder(tmp_path, "inference").name == "inference-0"
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert dumps.new_folder(tmp_path, "inference").name == "inference-1"
    assert folders(tmp_path) == ["inference-0", "inference-1", "inference-rank0-0", "inference-rank1-0"]
    assert all(f"inference-rank{rank}-0" in (tmp_path / dumps.INDEX).read_text() for rank in (0, 1))


@pytest.mark.parametrize(("size", "name"), [(4, "forward-rank3-0"), (1, "forward-0")])
def test_the_process_group_knows_the_rank(tmp_path, monkeypatch, size, name):
    for asked, answer in (("is_initialized", True), ("get_rank", 3), ("get_world_size", size)):
        monkeypatch.setattr(torch.distributed, asked, lambda answer=answer: answer)
    assert dumps.new_folder(tmp_path, "forward").name == name


def test_the_page_lists_the_graphs_of_a_process_together(tmp_path):
    names = ["forward-0", "backward-1", "forward-2", "backward-10", "forward-rank1-0", "forward-rank1-1"]
    for name in names[::-1]:
        (tmp_path / name).mkdir()
    dumps.write_index(tmp_path)
    page = (tmp_path / dumps.INDEX).read_text()
    assert [row.split("</td>")[0] for row in page.split("<tr><td>")[1:]] == names
    assert page.count("not compiled to the end") == len(names)


def test_no_two_that_ask_at_once_get_one_folder(tmp_path):
    def make(number: int) -> Path:
        folder = dumps.new_folder(tmp_path, "forward")
        dumps.describe(folder, f"graph {number}")
        return folder

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(make, range(40)))
    assert len(set(made)) == 40
    page = (tmp_path / dumps.INDEX).read_text()
    assert all(f"<td>forward-{number}</td><td>graph " in page for number in range(40))
    assert not list(tmp_path.glob(".*")), "nothing is left behind"


def test_a_number_that_another_process_takes_first_is_passed_over(tmp_path, monkeypatch):
    (tmp_path / "forward-7").mkdir()
    (tmp_path / "forward-x").mkdir()
    monkeypatch.setattr(Path, "glob", lambda self, pattern: iter(()))  # as if both had looked before
    (tmp_path / "forward-0").mkdir()
    assert dumps.new_folder(tmp_path, "forward").name == "forward-1"
    monkeypatch.undo()
    assert dumps.new_folder(tmp_path, "forward").name == "forward-8"


def test_the_page_says_what_a_graph_is_and_links_its_files(tmp_path):
    dump(tmp_path, broken)
    page = (tmp_path / dumps.INDEX).read_text()
    assert '<a href="inference-0/00-input.mlir">' in page and '<a href="inference-1/schedule.svg">' in page
    assert "kernels became 1, beside 0 torch ops; lines" in page and "test_dumps.py:" in page


def test_a_page_of_the_users_stays(tmp_path, caplog):
    (tmp_path / dumps.INDEX).write_text("mine")
    dump(tmp_path, torch.sin)
    assert (tmp_path / dumps.INDEX).read_text() == "mine"
    assert "was not written by fuse-mlir" in caplog.text
    assert folders(tmp_path) == ["inference-0"]


def test_what_is_no_folder_is_an_error_of_the_option(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OptionError, match=r"option 'dump': cannot write to folder '.*file': File exists"):
        dumps.new_folder(tmp_path / "file", "forward")


def test_a_dump_with_an_object_of_the_host_replays_and_says_why_it_does_not_run(tmp_path, capsys):
    """Its branches are sub-graphs that this process holds, as torch runs a predicate of another type."""

    def chosen(x):
        return torch.cond(x.sum(), lambda x: x.sin(), lambda x: x.cos(), (x,)) + 1

    dump(tmp_path, chosen)
    first, *others = sorted((tmp_path / "inference-0").glob("*.mlir"))
    assert '#fuse.torch<"object:' in first.read_text()
    pipeline = "--default-pipeline=scheduled"
    assert fuse_opt.main([str(first), pipeline, "--mlir-print-debuginfo"]) == 0
    assert capsys.readouterr().out == others[-1].read_text()
    for file in (first, others[-1]):
        assert fuse_run.main([str(file)]) == 1
        error = capsys.readouterr().err
        assert "names the object 'true_graph_0', which only the process that compiled the graph has" in error
        assert f"{Path(__file__).name}:{chosen.__code__.co_firstlineno + 1}" in error


#: Options of a compilation, and what the dump says of a pass.
WITH_OPTIONS = (
    (
        {"products": "generated", "hardware": "h100", "user_kernels": "apart", "collectives": "keep"},
        "choose-libraries{hardware=h100 products=generated}",
    ),
    (
        {
            "pipeline": "builtin.module(fold-views,choose-libraries{products=library})",
            "interpret_level": "graph",
        },
        "=library",
    ),
)


@pytest.mark.parametrize(("options", "has"), WITH_OPTIONS, ids=("options", "pipeline"))
def test_a_dump_says_with_which_options_each_pass_ran(tmp_path, options, has):
    """Each dump is what its line of `replay.sh` makes of the one before, byte for byte."""

    def function(x):
        return (x.sin() @ x.mT).softmax(1) + 1

    dump(tmp_path, function, torch.ones(16, 16), **{"interpret_level": "planned", **options})
    folder, again = tmp_path / "inference-0", tmp_path / "again.mlir"
    lines = [shlex.split(s)[1:] for s in (folder / REPLAY).read_text().splitlines() if s.startswith("again ")]
    assert has in (folder / REPLAY).read_text() and len(lines) == len([*folder.glob("*.mlir")]) - 1
    for before, after, pipeline in lines:
        if "{" in pipeline or "pipeline" in options:
            given = [str(folder / before), f"--pass-pipeline={pipeline}", "--mlir-print-debuginfo"]
            assert _opt.run([*given, "-o", str(again)]) == 0
            assert again.read_bytes() == (folder / after).read_bytes(), after


def test_replay_runs_anywhere_and_finds_a_pass_of_another_folder(tmp_path, monkeypatch) -> None:
    """It names the Python that wrote it, and where each pass was found."""
    faults = ROOT / "examples" / "faults"
    monkeypatch.syspath_prepend(str(faults))
    case, folder = ROOT / "test/lit/tools/remarks-by-cost.mlir", tmp_path / "a folder"
    given = [str(case), "--pass-pipeline=builtin.module(scale-early)", "--dump-dir", str(folder)]
    assert _opt.run([*given, "-o", str(tmp_path / "out.mlir")]) == 0
    text = (folder / REPLAY).read_text()
    assert sys.executable in text and f"\nPYTHONPATH={faults}:$PYTHONPATH\nagain " in text
    found = subprocess.run(
        ["sh", str(folder / REPLAY)], cwd=tmp_path, env={"PATH": os.defpath}, capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr
