"""The picture of collectives beside the other calls: what runs when, and that the docs
have the current one.
"""

import runpy
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fuse_mlir.compiler.analysis.program.streams import Span
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.report.streams_svg import draw_streams

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def example():
    return runpy.run_path(str(ROOT / "examples/streams.py"))


def test_the_docs_have_the_current_picture(example):
    assert (ROOT / "docs/streams.svg").read_text() == example["picture"]()


def test_a_stream_does_one_thing_at_a_time(example):
    with make_context(), ir.Location.unknown():
        spans = example["spans"](ir.Module.parse(example["program"]()))
    names = [span.name for span in spans]
    assert [names.count(name) for name in ("gather", "mm", "wait")] == [4, 4, 4]
    for collective in (False, True):
        stream = [span for span in spans if (span.stream == "collectives") == collective]
        assert all(a.end <= b.begin + 1e-12 for a, b in pairwise(stream))


def test_bars_lie_where_their_times_are():
    spans = [Span("calls", "mm<0>", 0.0, 4e-6), Span("collectives", "gather", 1e-6, 2e-6)]
    text = draw_streams({"one & only": spans, "none": []})
    bars = [r for r in ElementTree.fromstring(text).findall("{*}rect") if r.find("{*}title") is not None]
    assert [(r.get("x"), r.get("width")) for r in bars] == [("90.0", "800.0"), ("290.0", "200.0")]
    assert "one &amp; only: 4 us, of them 0 us exposed" in text and "mm&lt;0&gt;" in text
