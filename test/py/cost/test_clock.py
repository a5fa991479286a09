"""There is one clock, all fitted numbers stand in tables, and estimates grow with the work."""

import ast
from dataclasses import fields, replace
from pathlib import Path

import pytest
from repository import ROOT

from fuse_mlir.compiler.analysis.contraction.plan import ContractionPlan, contraction_plan
from fuse_mlir.compiler.analysis.contraction.surroundings import Moved
from fuse_mlir.compiler.analysis.contraction.tiles import ProductForm
from fuse_mlir.compiler.cost.clock import microseconds, seconds
from fuse_mlir.compiler.cost.devices import hardware_named, models
from fuse_mlir.compiler.cost.rates import Rate, Rates, Regime, named_rates
from fuse_mlir.compiler.cost.transfers import Transfer
from fuse_mlir.compiler.cost.work import LAUNCH, START, Work

H200 = hardware_named("h200")
COST = ROOT / "compiler" / "cost"
#: What only the clock may read: attributes that nothing but a GPU has, and others where they are a GPU's.
PEAKS = {"slots_per_second", "flops_per_second", "tensor_tflops"}
PRICES = {"bandwidth", "clock", "launch", "start", "link"}
#: Whose attributes those are.
OF_A_GPU = {"gpu", "hardware", "model"}
#: Numbers that nobody fits.
TRIVIAL = {0.0, 0.5, 1.0, 2.0, 1e3, 1e6, 1e-6}
#: The half of the compiler that estimates and decides by it.
DECIDING = ("contraction", "fusion", "program", "tiling", "user_fusion", "cost")


def sources(*folders: Path) -> dict[str, ast.Module]:
    files = [file for folder in folders for file in sorted(folder.rglob("*.py"))]
    return {str(file.relative_to(ROOT)): ast.parse(file.read_text(encoding="utf-8")) for file in files}


def prices_read(tree: ast.AST) -> list[str]:
    """Where a GPU's rates become time: the attributes that are read."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            of = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
            if node.attr in PEAKS or (node.attr in PRICES and of in OF_A_GPU):
                found.append(f"line {node.lineno}: {of}.{node.attr}")
    return found


def fitted(tree: ast.AST) -> list[str]:
    """Literals of floats that are no trivial numbers."""
    literals = [n for n in ast.walk(tree) if isinstance(n, ast.Constant) and type(n.value) is float]
    return [f"line {n.lineno}: {n.value}" for n in literals if n.value not in TRIVIAL]


def test_no_clock_stands_outside_of_the_cost_package() -> None:
    read = sources(ROOT / "compiler", ROOT / "passes", ROOT / "tools")
    outside = {name: prices_read(tree) for name, tree in read.items() if not name.startswith("compiler/cost")}
    assert {name: found for name, found in outside.items() if found} == {}


def test_no_fitted_number_stands_outside_of_its_table() -> None:
    analysis = [ROOT / "compiler" / "analysis" / folder for folder in DECIDING]
    read = sources(*analysis, ROOT / "passes") | {
        f"compiler/cost/{name}": ast.parse((COST / name).read_text(encoding="utf-8"))
        for name in ("attention.py", "clock.py", "devices.py", "rates.py", "slots.py", "work.py")
    }
    found = {name: fitted(tree) for name, tree in read.items() if fitted(tree)}
    # GELU's cubic term, and a number that tells a product's type
    assert found.keys() <= {"passes/products/product_kernel.py", "passes/base/kernels.py"}, found


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("def us(n, hardware): return n / (hardware.bandwidth * 1e3)", 1),
        ("def us(self): return self.hardware.launch + 1.0", 1),
        ("launch = row.launch.estimate", 0),
        ("programs = hardware.sm_count", 0),
    ],
)
def test_a_clock_is_found(code: str, found: int) -> None:
    assert len(prices_read(ast.parse(code))) == found


def test_a_fitted_number_is_found() -> None:
    assert fitted(ast.parse("REACHED = 0.83\nHALF = 0.5\nROWS = 4")) == ["line 1: 0.83"]


@pytest.mark.parametrize("name", models())
def test_every_rate_has_a_unit_and_a_source(name: str) -> None:
    gpu = hardware_named(name)
    rates = dict(named_rates(gpu.rates))
    assert len(rates) > 80
    for rate in rates.values():
        assert rate.unit and rate.source.suite and rate.source.gpu and len(rate.source.date) == 10
    own = {rate.source.gpu.lower() for rate in rates.values()} == {name}
    assert own or gpu.rates_of or name == "h200"


def test_a_rate_is_a_number() -> None:
    rate = H200.rates.margins.short
    assert isinstance(rate, Rate) and rate == 0.87 and f"{rate}" == "0.87" and type(rate * 2) is float
    changed = H200.rates.but({"margins.short": 0.5, "blocks.step.cache": 60.0})
    assert (changed.margins.short, changed.blocks.step.cache) == (0.5, 60.0)
    assert changed.margins.long == H200.rates.margins.long
    for name in ("margins.wrong", "margins", "margins.short.more", ""):
        with pytest.raises(ValueError, match=f"no rate is named '{name}'"):
            H200.rates.but({name: 0.5})


def regimes(rates: Rates) -> dict[str, Regime]:
    """Every regime of a GPU by its dotted name."""
    tables = {table.name: vars(getattr(rates, table.name)) for table in fields(rates)}
    found = {f"{name}.{field}": value for name, table in tables.items() for field, value in table.items()}
    return {name: value for name, value in found.items() if isinstance(value, Regime)}


REGIMES = regimes(H200.rates)


def test_regimes_that_nobody_measured_say_so() -> None:
    unmeasured = {name for name, regime in REGIMES.items() if not regime.measured}
    assert unmeasured == {"streaming.peak", "streaming.rows", "streaming.columns"}


@pytest.mark.parametrize("name", REGIMES)
def test_more_work_takes_no_less_time(name: str) -> None:
    work = Work(
        1 << 20, 1 << 20, 1 << 24, 1 << 30, "bf16", Transfer("all-reduce", 1 << 20, 8), 1 << 20, 8, 1.0
    )
    for gpu in map(hardware_named, models()):
        regime = regimes(gpu.rates)[name]
        base = microseconds(work, gpu, regime)
        assert 0 < base == pytest.approx(seconds(work, gpu, regime) * 1e6)
        assert microseconds(replace(work, launches=1), gpu, regime) == base + gpu.launch
        for more in ({"read": 1 << 30}, {"written": 1 << 30}, {"slots": 1 << 36}, {"flops": 1 << 44},
                     {"cached": 1 << 30}, {"steps": 1000}, {"busy": 1e4},
                     {"transfer": Transfer("all-reduce", 1 << 30, 8)}):  # fmt: skip
            assert microseconds(replace(work, **more), gpu, regime) >= base


def test_terms_that_hide_each_other_count_once() -> None:
    streaming, megabyte = H200.rates.streaming, Work(4_800_000)
    both = replace(megabyte, slots=132 * 128 * 1700)
    assert microseconds(both, H200, streaming.peak) == pytest.approx(1.0)
    assert microseconds(both, H200, streaming.fused) == pytest.approx(2.0)
    assert microseconds(LAUNCH, H200, streaming.rows) == 2.0
    assert microseconds(START, H200, H200.rates.collectives.ring) == 30.0
    assert microseconds(Work(-4_800_000, slots=-1), H200, streaming.fused) < -0.99  # what is saved


def form(m: int, n: int, k: int, batch: int = 1, element: str = "bf16", turned: bool = False) -> ProductForm:
    return ProductForm(m, n, k, batch, element, turned=turned)


def bare(plan: ContractionPlan, more: int = 0) -> Moved:
    f, wide = plan.form, 4 if plan.form.element == "f32" else 2
    moved = wide * f.batch * (f.m * f.k + f.k * f.n + f.m * f.n) + more
    return Moved(moved, moved, 1, moved)


KINDS = {
    "blocks": form(4096, 4096, 4096),
    "few rows": form(2, 14336, 4096),
    "one row in f32": form(1, 14336, 4096, element="f32"),
    "weights once": form(16, 14336, 4096),
    "small": form(8, 8, 8, 4096),
    "matrices": form(32, 32, 32, 4096),
    "vectors": form(128, 1, 128, 4096),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("gpu", models())
def test_estimates_of_products_grow_with_bytes(kind: str, gpu: str) -> None:
    plan = contraction_plan(KINDS[kind], hardware_named(gpu))
    times = [bare(plan, more) for more in (0, 1 << 20, 1 << 26, 1 << 32)]
    for estimate in (plan.kernel_microseconds, plan.library_microseconds):
        found = [estimate(moved) for moved in times]
        assert found == sorted(found) and found[0] < found[-1]


#: Borders of regimes: rows, columns, summed elements and batch on both sides of each, and by how much the
#: estimates of a kernel and of a call jump there today: the larger time over the smaller one, in bf16 on an
#: H200.  Jumps that are real: a block more of rows or columns (128/129 and 256/257), and 16 rows in a batch,
#: of which a program multiplies four matrices at once, but not one of 17.  All others say that two regimes
#: disagree about neighbours.  None may grow; one that falls is written down here.
BORDERS = {
    "4/5 rows of 14336 x 4096 weights": ((4, 14336, 4096), (5, 14336, 4096), 1.022, 1.165),
    "4/5 rows of 4096 x 14336 weights": ((4, 4096, 14336), (5, 4096, 14336), 1.022, 1.156),
    "4/5 rows of 1024 x 1024 weights": ((4, 1024, 1024), (5, 1024, 1024), 1.380, 1.729),
    "16/17 rows of weights": ((16, 14336, 4096), (17, 14336, 4096), 1.000, 1.001),
    "64/65 rows of weights": ((64, 14336, 4096), (65, 14336, 4096), 1.000, 1.039),
    "16/17 columns": ((65536, 16, 64), (65536, 17, 64), 1.005, 1.004),
    "128/129 columns": ((65536, 128, 512), (65536, 129, 512), 1.472, 1.001),
    "128/129 rows": ((128, 4096, 4096), (129, 4096, 4096), 1.390, 1.126),
    "256/257 columns": ((65536, 256, 512), (65536, 257, 512), 1.463, 1.108),
    "4/5 summed elements": ((65536, 16, 4), (65536, 16, 5), 1.224, 1.318),
    "16/17 summed elements": ((65536, 16, 16), (65536, 16, 17), 1.061, 1.222),
    "16/17 columns of a small matrix": ((1000000, 16, 16), (1000000, 17, 16), 1.616, 1.929),
    "16/17 rows in a batch": ((16, 16, 16, 65536), (17, 16, 16, 65536), 9.141, 3.196),
    "32/33 rows in a batch": ((32, 32, 32, 16384), (33, 32, 32, 16384), 2.658, 1.985),
    "1/2 columns in a batch": ((64, 1, 64, 16384), (64, 2, 64, 16384), 1.953, 1.496),
    "1/2 products in a batch": ((4096, 64, 64, 1), (4096, 64, 64, 2), 1.025, 1.053),
}


@pytest.mark.parametrize("border", BORDERS)
def test_estimates_jump_no_more_at_borders_of_regimes_than_they_did(border: str) -> None:
    below, above, *most = BORDERS[border]
    plans = [contraction_plan(form(*sizes), H200) for sizes in (below, above)]
    for jump, estimate in zip(most, ("kernel_microseconds", "library_microseconds"), strict=True):
        first, second = (getattr(plan, estimate)(bare(plan)) for plan in plans)
        assert max(first / second, second / first) == pytest.approx(jump, abs=1e-3)
