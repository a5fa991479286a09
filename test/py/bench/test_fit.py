"""Fitting the rates of a GPU, on times that a formula makes."""

import importlib.util
import sys
from pathlib import Path

import pytest

from fuse_mlir.bench.fit import Point, file_of, fitted_line, main, rates_of
from fuse_mlir.compiler.cost.devices import hardware_named
from fuse_mlir.compiler.cost.rates import Rate

SIZES = (1e7, 1e8, 3e8, 1e9)


def times(starts: float, rate: float) -> list[Point]:
    return [Point(size, starts + size / rate) for size in SIZES]


def test_a_line_is_found_again() -> None:
    line = fitted_line(times(7.0, 3e6))
    assert line.starts == pytest.approx(7.0) and line.rate == pytest.approx(3e6)
    noisy = [p._replace(time=p.time * (1.01 if n % 2 else 0.99)) for n, p in enumerate(times(7.0, 3e6))]
    assert fitted_line(noisy).rate == pytest.approx(3e6, rel=0.03)


@pytest.mark.parametrize("points", [[Point(1e7, 5.0), Point(1e8, 4.0)], [Point(1e7, 5.0)]])
def test_times_that_do_not_grow_are_refused(points: list[Point]) -> None:
    with pytest.raises(ValueError, match="times do not grow with bytes"):
        fitted_line(points)


def test_rates_are_parts_of_the_gpu_s_figures() -> None:
    h200 = hardware_named("h200")
    points = {
        "streaming.pointwise": times(3.0, 0.9 * 4.8e6),
        "few_rows.call": times(2.0 + 7.3, 0.944 * 4.8e6),
        "few_rows.kernel": times(1.0, 0.92 * 4.8e6),
    }
    assert rates_of(h200, points, 2 * 8192**3 / 990e6 / 0.8) == {
        "streaming.pointwise.bandwidth": 0.9,
        "few_rows.call.bandwidth": 0.944,
        "few_rows.call.starts": 7.3,
        "few_rows.kernel.bandwidth": 0.92,
        "few_rows.kernel.starts": 0.0,
        "calls.block.multiply": 0.8,
    }


def test_the_file_is_one_of_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rates = {"few_rows.call.starts": 6.5, "calls.block.multiply": 0.7}
    text = file_of(hardware_named("l4"), "mine", "h100", "word", (8, 9), rates, "A GPU", "2026-11-28")
    (tmp_path / "mine.py").write_text(text)
    name = "fuse_mlir.compiler.cost.gpus.mine"
    spec = importlib.util.spec_from_file_location(name, tmp_path / "mine.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    gpu, l4 = module.GPU, hardware_named("l4")
    assert (gpu.name, gpu.sm_count, gpu.bandwidth, gpu.words) == ("mine", 58, l4.bandwidth, ("word",))
    assert gpu.rates.few_rows.call.starts == 6.5 and gpu.rates.calls.block.multiply == 0.7
    assert isinstance(gpu.rates.few_rows.call.starts, Rate)
    assert gpu.rates.margins == hardware_named("h100").rates.margins
    assert max(map(len, text.splitlines())) <= 110


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["h200"], "exists; remove it to fit the GPU anew"),
        (["My-GPU"], "expected a name in lower case"),
        (["mine", "--like", "abacus"], "unknown hardware 'abacus'"),
    ],
)
def test_what_cannot_be_written_is_refused(arguments: list[str], said: str, capsys) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    assert said in capsys.readouterr().err
