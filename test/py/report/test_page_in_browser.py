"""The page of option ``report`` in headless Chromium: what it shows, the keyboard, links, and no errors."""

from pathlib import Path
from unittest import mock

import pytest
from browser import chromium, opened
from page_data import graph, missed

from fuse_mlir.compiler.report.page import page_file


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "out.html"
    graphs = [
        graph("forward", [2.5, 30.0, 4.0], missed=[missed(2.25, "a", "b")]),
        graph(
            "backward", [3.0, 10.0, 1200.0, 200.0], missed=[missed(7.5, "mm", "<i>"), missed(3.0, "c", "d")]
        ),
        graph("inference", []),
    ]
    with mock.patch.object(page_file, "_library", lambda: ""):  # test_page_pictures.py has it
        path.write_text(page_file.page(graphs), encoding="utf-8")
    return path


def rows(page, label: str) -> list[list[str]]:
    """The cells of a table, row by row."""
    return [
        [cell.inner_text().strip() for cell in row.query_selector_all("td")]
        for row in page.query_selector_all(f'table[aria-label="{label}"] tbody tr')
    ]


def test_the_page_begins_with_what_costs_most_and_links_to_it(browser, report):
    with opened(browser, report) as page:
        longest, dearest = (card.inner_text().split("\n") for card in page.query_selector_all(".first > div"))
        assert [line for line in longest if line][:3] == [
            "The launch that takes longest",
            "1.20 ms",
            "launch 2: kernel_2",
        ]
        assert "graph 1 (backward) at model.py:3" in " ".join(longest)
        assert "7.50 us" in dearest and "mm + <i>" in dearest
        page.click(".first > div:nth-child(2) a")
        assert page.url.endswith("#g1-m0") and page.evaluate("document.activeElement.id") == "g1-m0"
        page.click(".first > div:nth-child(1) a")
        page.wait_for_selector("dialog[open]")
        assert "func.func private @kernel_2() <b>" in page.inner_text("dialog")
        assert [row[0] for row in rows(page, "launches of graph 1")] == ["2", "3", "1", "0"]
        assert "torch runs the graph as a whole" in page.inner_text("#g2")


def test_ir_stands_beside_the_lines_that_it_comes_from(browser, report):
    with opened(browser, report) as page:
        page.evaluate("location.hash = '#g1-l2'")
        page.wait_for_selector("dialog[open]")
        shown = page.inner_text("dialog .ir")
        assert (
            "call @kernel_2() : () -> f32" in shown and "math.exp %1 : f32" in shown and "loc(" not in shown
        )
        assert "kernel_1" not in shown
        wanted = page.locator("dialog .wanted")
        assert wanted.all_inner_texts() == ["3line 3 <i>"] and "line 8 <i>" in page.inner_text(
            "dialog .source"
        )
        assert "line 9 <i>" not in page.inner_text("dialog .source")
        wanted.focus()
        lit = page.locator("dialog .ir .lit").all_inner_texts()
        assert len(lit) == 2 and "call @kernel_2" in lit[0] and "math.exp" in lit[1]
        page.select_option("dialog select", "graph")
        assert "nothing of it at this level" in page.inner_text("dialog .ir")
        page.evaluate("location.hash = '#g1-l1'")
        page.select_option("dialog select", "graph")
        assert "call @add" in page.inner_text("dialog .ir") and "private @add()" in page.inner_text(
            "dialog .ir"
        )


def test_the_call_of_a_torch_op_is_found_in_its_sub_graph(browser, tmp_path):
    given = graph("forward", [3.0])
    given["launches"][0] |= {"name": "aten.mm.default", "kind": "torch", "nodes": ["mm_1"]}
    call = '  %0 = call @mm() : () -> f32 loc("mm_1"("/home/me/model.py":1:0))'
    given["levels"] = {
        "graph": {"main": "no call", "then.main": call, "then.mm": "func.func private @mm()", "mm": "no"}
    }
    path = tmp_path / "out.html"
    with mock.patch.object(page_file, "_library", lambda: ""):
        path.write_text(page_file.page([given]))
    with opened(browser, path) as page:
        page.focus("#g0-l0")
        page.keyboard.press("Enter")
        shown = page.inner_text("dialog .ir").split()
        assert "@mm()" in shown and "no" not in shown


def test_what_kernels_take_is_a_column_and_their_code_unfolds(browser, tmp_path):
    kernel = {
        "warps": 4,
        "shared": 2048,
        "registers": 255,
        "stack": 16,
        "ptx": ".entry a\n<b>",
        "sass": "EXIT ;",
    }
    path = tmp_path / "out.html"
    path.write_text(page_file.page([graph("forward", [3.0, 2.5], kernels={"kernel_1": kernel})]))
    with opened(browser, path) as page:
        assert [row[5:7] for row in rows(page, "launches of graph 0")] == [["", ""], ["255", "16 B"]]
        page.focus("#g0-l1")
        page.keyboard.press("Enter")
        assert "255 registers a thread, 16 B of stack a thread" in page.inner_text("dialog")
        ptx = page.locator("dialog summary", has_text="PTX (2 lines)")
        assert page.locator("dialog pre").count() == 0
        ptx.press("Enter")
        assert page.inner_text("dialog pre") == ".entry a\n<b>"


def test_columns_of_numbers_sort_as_numbers(browser, report):
    with opened(browser, report) as page:
        head = page.locator('table[aria-label="launches of graph 1"] th button', has_text="estimate")
        head.press("Enter")
        assert [row[1] for row in rows(page, "launches of graph 1")] == [
            "1.20 ms",
            "200 us",
            "10.0 us",
            "3.00 us",
        ]
        head.press("Enter")
        assert [row[0] for row in rows(page, "launches of graph 1")] == ["0", "1", "3", "2"]
        memory = page.locator('table[aria-label="memory of graph 1"] th button', has_text="allocated")
        memory.press("Enter")
        assert [row[1] for row in rows(page, "memory of graph 1")] == ["64 B", "32 B", "16 B", "8 B"]


def test_the_keyboard_walks_opens_and_closes(browser, report):
    with opened(browser, report) as page:
        active = "document.activeElement.id"
        page.focus("#g1-l2")
        page.keyboard.press("ArrowDown")
        assert page.evaluate(active) == "g1-l3"
        page.keyboard.press("End")
        assert page.evaluate(active) == "g1-l0"
        page.keyboard.press("ArrowUp")
        page.keyboard.press("Enter")
        assert page.url.endswith("#g1-l1") and page.inner_text("dialog h2") == "launch 1: kernel_1"
        page.keyboard.press("Escape")
        assert page.query_selector("dialog[open]") is None and page.evaluate(active) == "g1-l1"
        page.wait_for_url(lambda url: "#" not in url, timeout=5000)
        page.keyboard.press("Tab")  # one row of a table is in the order of Tab
        assert (
            page.evaluate("!!document.activeElement.closest('table[aria-label=\"launches of graph 1\"]')")
            is False
        )


def test_an_address_opens_its_launch_and_text_is_never_markup(browser, report, tmp_path):
    with opened(browser, report, scheme="dark", width=420) as page:
        page.evaluate("location.hash = '#g0-l1'")
        page.wait_for_selector("dialog[open]")
        assert page.query_selector("dialog b, #main i") is None
        assert page.evaluate("document.documentElement.scrollWidth") <= 420
        picture = page.screenshot(path=tmp_path / "shown.png")
        assert (
            len(picture) > 10_000
            and page.evaluate("getComputedStyle(document.body).colorScheme") == "light dark"
        )
