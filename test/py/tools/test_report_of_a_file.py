"""``fuse-opt --report``: the page of a file, and what it is not written over."""

from pathlib import Path

import pytest
from repository import ROOT

from fuse_mlir.compiler.report.page.page_file import MARK, read_graphs
from fuse_mlir.tools._opt import run

SOFTMAX = str(ROOT / "examples" / "softmax.mlir")


def test_a_file_has_a_page_as_a_program_has(tmp_path: Path) -> None:
    page, result = tmp_path / "out.html", tmp_path / "out.mlir"
    arguments = [SOFTMAX, "--default-pipeline=scheduled", "--hardware=h100", "-o", str(result)]
    assert run([*arguments, "--report", str(page)]) == 0
    (graph,) = read_graphs(page.read_text())
    assert graph["name"] == SOFTMAX and graph["hardware"] == "h100"
    names = [launch["name"] for launch in graph["launches"]]
    assert names and all(f"@{name}(" in result.read_text() for name in names)
    assert all(launch["us"] > 2 and launch["writes"] for launch in graph["launches"])
    assert [*graph["levels"]] == ["input", "scheduled"]
    assert f'"{SOFTMAX}":' in graph["levels"]["scheduled"]["main"]
    assert graph["sources"][SOFTMAX] == Path(SOFTMAX).read_text()
    assert {"Parser", "fuse-vertical"} <= set(graph["timing"])
    assert "fuse-vertical" in {remark["pass"] for remark in graph["remarks"]}
    assert run([*arguments, "--report", str(page)]) == 0  # an older report is replaced
    assert len(read_graphs(page.read_text())) == 1


def test_each_part_is_a_graph_and_a_module_without_a_program_has_no_launch(tmp_path: Path) -> None:
    source, page = tmp_path / "two.mlir", tmp_path / "out.html"
    source.write_text(f"{Path(SOFTMAX).read_text()}\n// -----\nfunc.func private @f()\n")
    assert run([str(source), "--split-input-file", f"--report={page}", "-o", str(tmp_path / "out.mlir")]) == 0
    first, second = read_graphs(page.read_text())
    assert (first["name"], second["name"]) == (f"{source}, part 0", f"{source}, part 1")
    assert (
        first["launches"]
        and second["launches"] == []
        and [*second["levels"]] == ["result"]
        and second["timing"]["seconds"] > 0
    )


@pytest.mark.parametrize(
    ("report", "said"),
    [
        ("mine.html", "--report: '{0}/mine.html' is not a report of fuse-mlir and stays: name another file"),
        ("none/out.html", "--report: there is no folder '{0}/none'"),
        ("in.mlir", "cannot write the report to '{0}/in.mlir': it is the input"),
        ("out.mlir", "cannot write the report to '{0}/out.mlir': it is the output"),
    ],
)
def test_what_is_no_report_stays(
    report: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.html").write_text("mine")
    (tmp_path / "in.mlir").write_text(Path(SOFTMAX).read_text())
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    arguments = [str(tmp_path / "in.mlir"), "-o", str(tmp_path / "out.mlir")]
    assert run([*arguments, "--report", str(tmp_path / report)]) == 2
    assert capsys.readouterr().err == f"fuse-opt: error: {said.format(tmp_path)}\n"
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_pass_that_fails_leaves_the_report_as_it_was(tmp_path: Path) -> None:
    page, source = tmp_path / "out.html", tmp_path / "bad.mlir"
    page.write_text(MARK)
    source.write_text("func.func @main() { return 1 }")
    assert run([str(source), "--report", str(page), "-o", str(tmp_path / "out.mlir")]) == 1
    assert page.read_text() == MARK
