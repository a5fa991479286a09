"""The pictures of option ``report``: what is drawn, that a launch in one opens, and pages without Bokeh."""

import importlib.util
from pathlib import Path

import pytest
from browser import chromium, opened
from page_data import graph

from fuse_mlir.compiler.report.page import page_file


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


def written(folder: Path, *graphs: dict) -> Path:
    path = folder / "out.html"
    path.write_text(page_file.page(graphs), encoding="utf-8")
    return path


def test_what_is_drawn_is_what_is_held_and_what_took_time(browser, tmp_path, monkeypatch):
    monkeypatch.setattr(page_file, "_library", lambda: "")
    given = graph("forward", [2.5, 30.0, 4.0] + [1.0] * 12)
    given["timing"] = {"seconds": 2.0, "a": {"seconds": 3.0, "x": {"seconds": 1.0}}, "b": {"seconds": 1.0}}
    with opened(browser, written(tmp_path, given)) as page:
        assert page.locator(".picture").count() == 0 and page.locator("table").count() == 3
        boxes = page.evaluate("graph => memoryBoxes(graph, startsOf(graph))", given)
        starts = page.evaluate("graph => startsOf(graph)", given)
        assert starts[:4] == [0, 2.5, 32.5, 36.5] and len(starts) == 16
        for number in range(15):
            alive = [b for b in given["buffers"][1:] if b["first"] <= number <= b["last"]]
            middle = (starts[number] + starts[number + 1]) / 2
            tops = [box["top"] for box in boxes if box["left"] < middle < box["right"]]
            assert max(tops) == pytest.approx(sum(b["bytes"] for b in alive) / 1e6)
        whole, a, x, b = page.evaluate("tree => flameBoxes(tree, 'all', 0, tree.seconds, 0)", given["timing"])
        # parts of threads that ran side by side took 4 s of 2 s
        spans = [(box["name"], box["left"], box["right"]) for box in (whole, a, x, b)]
        assert spans == [("all", 0, 2), ("a", 0, 1.5), ("x", 0, 0.5), ("b", 1.5, 2)]


@pytest.mark.skipif(importlib.util.find_spec("bokeh") is None, reason="no bokeh: the extra 'dev' has it")
def test_a_launch_in_the_picture_opens_and_the_flame_is_drawn_in_sight(browser, tmp_path):
    nothing_held = graph("inference", [2.0], buffers=[])
    nothing_held["launches"][0] |= {"reads": [], "writes": [], "us": None, "bytes": None}
    with opened(browser, written(tmp_path, graph("forward", [10.0, 30.0]), nothing_held)) as page:
        schedule, flame, *others = page.locator(".picture").all()
        schedule.locator("canvas").first.wait_for()
        box = schedule.locator(".bk-Figure").first.bounding_box()
        page.mouse.click(box["x"] + box["width"] * 0.75, box["y"] + 60)
        page.wait_for_selector("dialog[open]")
        assert page.inner_text("dialog h2") == "launch 1: kernel_1"
        page.keyboard.press("Escape")
        for other in (flame, *others):
            other.scroll_into_view_if_needed()
            other.locator("canvas").first.wait_for()
