"""Time against sizes: what is recorded, and that the drawing shows it."""

import json
from xml.dom import minidom

import pytest

from fuse_mlir.bench import growth
from fuse_mlir.bench.growth_svg import chart


def points_of(line) -> list[tuple[float, float]]:
    return [tuple(map(float, p.split(","))) for p in line.getAttribute("points").split()]


def test_the_command_records_and_draws(tmp_path, capsys):
    out, svg = tmp_path / "g.json", tmp_path / "g.svg"
    options = ["--device", "cpu", "--small", "--samples", "2", "--only", "operations", "--backends", "fuse"]
    assert growth.main([*options, "--out", str(out), "--svg", str(svg)]) == 0
    [family] = json.loads(out.read_text())["families"]
    assert [p["size"] for p in family["points"]] == [1, 2]
    first, second = family["points"]
    assert first["bytes"] == second["bytes"] == 2 * 8 * growth.COLUMNS * 2
    assert first["us"].keys() == {"copy", "fuse"} and min(first["us"].values()) > 0
    assert len(minidom.parse(str(svg)).getElementsByTagName("polyline")) == 2


def test_a_time_that_grows_as_its_size_is_a_straight_line():
    points = [{"size": n, "us": {"copy": 2.0, "x": 3.0 * n}} for n in (1, 10, 100)]
    document = minidom.parseString(chart([{"name": "a", "unit": "u", "points": points}], "t"))
    copy, x = map(points_of, document.getElementsByTagName("polyline"))
    assert copy[0][1] == copy[2][1]
    (x0, y0), (x1, y1), (x2, y2) = x
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.11) and y0 - y1 == pytest.approx(y1 - y2, abs=0.11)
    assert y2 < y0 and x0 < x2
