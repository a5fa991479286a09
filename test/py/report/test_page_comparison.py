"""What differs between two reports, and the command that writes a page on it."""

from pathlib import Path

import pytest
from browser import chromium, opened

from fuse_mlir.compiler.report.page.comparison import comparison
from fuse_mlir.compiler.report.page.page_file import MARK, page
from fuse_mlir.tools._compare import main


def launch(name: str, line: int, us: float, *nodes: str, folder: str = "/old") -> dict:
    lines = [f"{folder}/model.py:{line}"]
    return {"name": name, "lines": lines, "us": us, "bytes": 100, "held": 8 * line, "nodes": list(nodes)}


def remark(rule: str, number: int, *ops: str) -> dict:
    return {"kind": "missed", "pass": "p", "rule": rule, "ops": list(ops), "text": f"{rule} n={number}"}


def graph(name: str, launches: list[dict], remarks: list[dict] = [], **functions: str) -> dict:  # noqa: B006
    return {
        "name": name,
        "launches": launches,
        "remarks": remarks,
        "timing": {"seconds": 1.0},
        "functions": functions,
    }


BEFORE = [
    graph(
        "forward",
        [launch("mm", 1, 5.0, "mm"), launch("mul", 2, 3.0, "mul"), launch("exp", 3, 4.0, "exp")],
        [remark("cycle", 1, "a", "b"), remark("cycle", 1, "a", "b"), remark("size", 2, "c")],
        mul="IR of mul",
    ),
    graph("backward", [launch("neg", 9, 2.0, "neg")]),
]
AFTER = [
    graph(
        "forward",
        [launch("mm", 1, 5.0, "mm", folder="/new"), launch("fused_0", 2, 4.5, "mul", "exp", folder="/new")],
        [remark("cycle", 7, "a", "b"), remark("size", 2, "d")],
    ),
    graph("inference", [launch("neg", 8, 2.5, "neg")], neg="new IR"),
]


def test_launches_remarks_and_sums():
    forward, other = comparison(BEFORE, AFTER)
    assert forward["same"] == 1  # the folder does not count
    told = [(each["change"], each["name"], each["us"], each["others"]) for each in forward["launches"]]
    assert told == [
        ("removed", "mul", [3.0, None], ["fused_0"]),
        ("removed", "exp", [4.0, None], ["fused_0"]),
        ("added", "fused_0", [None, 4.5], ["mul", "exp"]),
    ]
    changed = [(each["change"], each["text"]) for each in forward["remarks"]]
    assert changed == [("gone", "cycle n=1"), ("gone", "size n=2"), ("added", "size n=2")]
    assert forward["before"] == {"launches": 3, "us": 12.0, "bytes": 300, "peak": 24, "seconds": 1.0}
    assert forward["after"]["us"] == 9.5 and forward["after"]["peak"] == 16
    # what no name brings together belongs together by order
    (neg,) = other["launches"]
    assert (neg["change"], neg["what"], neg["ir"]) == ("changed", ["time", "lines", "IR"], [None, "new IR"])


def test_a_report_is_as_itself_and_a_graph_may_be_alone():
    for each in comparison(BEFORE, BEFORE):
        assert each["launches"] == each["remarks"] == [] and each["before"] == each["after"]
    first, second = comparison(BEFORE, BEFORE[:1])
    assert first["same"] == 3 and second["after"] is None
    assert [each["change"] for each in second["launches"]] == ["removed"]


def test_the_command_writes_a_page_over_no_other_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    a, b, out = (tmp_path / name for name in ("a.html", "b.html", "out.html"))
    a.write_text(page(BEFORE)), b.write_text(page(AFTER))
    arguments = ["compare", str(a), str(b), "-o"]
    assert main([*arguments, str(out)]) == 0 and out.read_text().startswith(MARK)
    told = capsys.readouterr().out.splitlines()
    assert told[0] == (
        "forward: launches 3 -> 2, us 12 -> 9.5, bytes 300 -> 200, peak 24 -> 16; "
        "launches: 1 added, 2 removed, 0 changed"
    )
    with chromium() as browser, opened(browser, out) as shown:
        cells = shown.locator(
            'table[aria-label="launches that differ in graph 0"] tbody tr'
        ).all_inner_texts()
        assert [row.split("\t")[0].strip() for row in cells] == ["added", "removed", "removed"]
        assert "mul (now fused_0)" in " ".join(cells) and "model.py:2" in " ".join(cells)
        shown.focus("#g1-c0")
        shown.keyboard.press("Enter")
        assert "new IR" in shown.inner_text("dialog") and shown.url.endswith("#g1-c0")


@pytest.mark.parametrize(
    ("before", "out", "said"),
    [
        ("none.html", "out.html", "cannot read '{0}/none.html': No such file or directory"),
        ("mine.html", "out.html", "cannot read '{0}/mine.html': it is not a report of fuse-mlir"),
        ("cut.html", "out.html", "cannot read '{0}/cut.html': the data of a graph is damaged"),
        ("both.html", "out.html", "cannot read '{0}/both.html': it compares two reports, and is none itself"),
        ("a.html", "a.html", "-o: '{0}/a.html' is one of the reports to compare"),
        (
            "a.html",
            "mine.html",
            "-o: '{0}/mine.html' is not a report of fuse-mlir and stays: name another file",
        ),
    ],
)
def test_bad_input_is_one_sentence_and_writes_nothing(
    before: str, out: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    text = page(AFTER)
    (tmp_path / "a.html").write_text(text)
    (tmp_path / "mine.html").write_text("mine")
    (tmp_path / "cut.html").write_text(text.replace('class="graph">H4s', 'class="graph">AAA'))
    (tmp_path / "both.html").write_text(text.replace('"versions"', '"compares": [], "versions"'))
    kept = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert main(["compare", str(tmp_path / before), str(tmp_path / "a.html"), "-o", str(tmp_path / out)]) == 2
    assert capsys.readouterr().err == f"fuse_mlir.report: error: {said.format(tmp_path)}\n"
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == kept
