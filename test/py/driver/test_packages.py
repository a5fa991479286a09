"""Packages: exported programs compiled into a file, read in another process, damaged, called wrongly."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
from made_up_gpu import made_up_gpu
from new_process import python
from torch.export import Dim, ExportedProgram, export
from torch.export.pt2_archive._package import load_pt2

import fuse_mlir
from fuse_mlir.compiler.base.errors import PackageCall, PackageDamaged, PackageError, PackageMismatch
from fuse_mlir.compiler.driver.packages import loading, write
from fuse_mlir.compiler.driver.packages.archive import weights_beside
from fuse_mlir.compiler.driver.portable import stored_graph
from fuse_mlir.compiler.runtime.plans.externs import Extern, Named
from fuse_mlir.compiler.runtime.plans.plan import Plan, moved


class Counter(torch.nn.Module):
    """Parameters, a buffer that is written, a constant, two names for one tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)
        self.register_buffer("calls", torch.zeros(8))
        self.register_buffer("also", self.linear.weight.detach()[0])
        self.offset = torch.arange(8.0)

    def forward(self, x: torch.Tensor, *, scale: float | None = None) -> tuple[dict[str, torch.Tensor], int]:
        self.calls.add_(1)
        y = self.linear(x).tanh() + self.calls + self.offset * self.also
        return {"y": y, "sum": y.sum(0)}, x.shape[0]


def counted(model: torch.nn.Module | None = None) -> ExportedProgram:
    shapes = {"x": {0: Dim("rows", min=2, max=64)}, "scale": None}
    return export(model or Counter(), (torch.randn(4, 8),), {"scale": None}, dynamic_shapes=shapes)


@pytest.fixture(scope="module")
def model() -> Counter:
    torch.manual_seed(0)
    return Counter()


@pytest.fixture(scope="module")
def on_cpu(model: Counter, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fuse_mlir.package(counted(model), tmp_path_factory.mktemp("package") / "counter.pt2")


@pytest.fixture(scope="module")
def on_gpu(model: Counter, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For two targets, with a GPU that is made up."""
    folder = tmp_path_factory.mktemp("package")
    options = {"cache_dir": str(folder / "cache")}
    with made_up_gpu():
        path = folder / "counter.pt2"
        return fuse_mlir.package(counted(model), path, targets=["sm_90", "sm_80"], options=options)


@contextlib.contextmanager
def made_up(target: str = "sm_90") -> Iterator[list[str]]:
    """Loads what a made-up GPU runs; its tensors lie on the CPU."""
    place = mock.patch.object(loading, "_place", lambda *_: (torch.device("cpu"), target))
    with made_up_gpu() as launched, place:
        yield launched


# ---- what is packaged runs ---------------------------------------------------------------------------------


def test_a_package_runs_as_the_program_does(model: Counter, on_cpu: Path) -> None:
    loaded = fuse_mlir.load(on_cpu)
    model.calls.zero_()
    for rows in (6, 2, 64):
        x = torch.randn(rows, 8)
        (ours, count), (theirs, _) = loaded(x, scale=None), model(x)
        assert count == rows and list(ours) == ["y", "sum"]
        for name, result in ours.items():
            torch.testing.assert_close(result, theirs[name].detach())
            assert not result.requires_grad
    assert loaded.weights["calls"].tolist() == [3.0] * 8
    weight, also = loaded.weights["linear.weight"], loaded.weights["also"]
    assert weight.untyped_storage().data_ptr() == also.untyped_storage().data_ptr()
    columns = torch.randn(8, 6).t()  # other strides than those that were exported
    torch.testing.assert_close(loaded(columns, scale=None)[0]["y"], model(columns)[0]["y"].detach())
    assert [launch.kind for launch in loaded.launches] == ["torch", "kernel"] and loaded.remarks.items


def test_what_a_program_writes_stays_in_its_process_and_in_its_tensor(tmp_path: Path) -> None:
    """Weights lie in pages of the file.  Two of equal bytes are stored once, and are two tensors."""

    class Counters(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("calls", torch.zeros(8))
            self.register_buffer("rows", torch.zeros(8))
            self.register_buffer("none", torch.zeros(0))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.calls.add_(1)
            self.rows.add_(x.shape[0])
            return x + self.calls + self.rows

    path = fuse_mlir.package(export(Counters(), (torch.zeros(3, 8),)), tmp_path / "p.pt2", weights="beside")
    before = [place.read_bytes() for place in (path, weights_beside(path))]
    one, other = fuse_mlir.load(path), fuse_mlir.load(path)
    for count in (1, 2):
        assert one(torch.zeros(3, 8)).unique().tolist() == [count * 4.0]
    assert one.weights["calls"].tolist() == [2.0] * 8 and one.weights["rows"].tolist() == [6.0] * 8
    assert not other.weights["calls"].any() and not other.weights["rows"].any()
    assert [place.read_bytes() for place in (path, weights_beside(path))] == before
    fuse_mlir.package(export(Counters(), (torch.ones(3, 8),)), path, weights="beside", overwrite=True)
    assert other(torch.zeros(3, 8)).unique().tolist() == [4.0]  # a package that is replaced stays readable


def test_a_process_runs_kernels_of_a_package_without_mlir_and_triton(on_gpu: Path, on_cpu: Path) -> None:
    code = f"""
import sys, torch, fuse_mlir
from made_up_gpu import made_up_gpu
from unittest import mock
from fuse_mlir.compiler.driver.packages import loading
for target in ("sm_90", "sm_80"):
    with made_up_gpu() as launched, mock.patch.object(
        loading, "_place", lambda *_: (torch.device("cpu"), target)
    ):
        loaded = fuse_mlir.load({str(on_gpu)!r})
        result, count = loaded(torch.ones(5, 8), scale=None)
    print(launched, count, result["y"].shape)
print(sorted({{"mlir", "torch_mlir", "triton"}} & {{name.partition(".")[0] for name in sys.modules}}))
fuse_mlir.load({str(on_cpu)!r})
print([name for name in sys.modules if name.startswith(("fuse_mlir.compiler.rewrites.", "torch._dynamo"))])
"""
    *ran, loaded, compilers = python(code, OMP_NUM_THREADS="1").splitlines()
    assert len(ran) == 2 and all("torch.Size([5, 8])" in line and " 5 " in line for line in ran)
    assert (loaded, compilers) == ("[]", "[]")


def test_each_target_has_kernels_of_its_own(on_gpu: Path) -> None:
    seen: list[Any] = []
    for target in ("sm_90", "sm_80"):
        with (
            made_up(target),
            mock.patch.object(stored_graph, "load_plan", lambda plan, kernels, *_: seen.append(kernels)),
        ):
            fuse_mlir.load(on_gpu)
    assert [{kernel.cubin.arch for kernel in kernels.values()} for kernels in seen] == [{90}, {80}]


def test_torch_reads_the_archive(on_cpu: Path) -> None:
    assert not load_pt2(str(on_cpu)).exported_programs


def test_several_programs_share_weights_which_may_lie_beside(model: Counter, tmp_path: Path) -> None:
    class Half(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = model.linear

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.linear(x) / 2

    x = torch.randn(3, 8)
    programs = {"all": counted(model), "half": export(Half(), (x,))}
    path = fuse_mlir.package(programs, tmp_path / "two.pt2", weights="beside")
    half = fuse_mlir.load(path, "half")
    torch.testing.assert_close(half(x), (model.linear(x) / 2).detach())
    with pytest.raises(PackageError, match="several programs: name one of all, half"):
        fuse_mlir.load(path)
    with pytest.raises(PackageError, match="no program 'none', but all, half"):
        fuse_mlir.load(path, "none")
    zeros = {name: torch.zeros_like(tensor) for name, tensor in half.weights.items()}
    assert not fuse_mlir.load(path, "half", weights=zeros)(x).any()
    for changed, message in (
        ({}, "the weight linear.weight is missing"),
        ({"linear.bias": torch.zeros(9)}, r"linear.bias is torch.float32 \[9\]"),
        ({"linear.weight": torch.zeros(8, 8).t()}, r"strides \(1, 8\).*expected .*strides \(8, 1\)"),
    ):
        given = zeros | changed if changed else {}
        with pytest.raises(PackageError, match=message):
            fuse_mlir.load(path, "half", weights=given)
    (tmp_path / "two.pt2.weights").unlink()
    with pytest.raises(PackageError, match=r"two.pt2.weights: it cannot be read"):
        fuse_mlir.load(path, "half")


def test_a_plan_moves_to_another_device() -> None:
    extern = Extern("e", "aten.zeros.default", 0, (Named("device:cuda:0"), Named("dtype:float32")))
    there = moved(Plan("cuda:0", (), (extern,), ()), "cuda:1")
    assert there.device == "cuda:1" and there.device_index == 1
    assert there.externs[0].arguments == (Named("device:cuda:1"), Named("dtype:float32"))
    assert moved(there, "cuda:1") is there


# ---- damage ------------------------------------------------------------------------------------------------


def positions(data: bytes) -> list[int]:
    """Bytes of every part, of headers, and of the directory."""
    return sorted({*range(0, len(data), max(1, len(data) // 150)), *range(len(data) - 60, len(data), 3)})


def test_a_changed_byte_is_found_or_changes_nothing(on_gpu: Path, tmp_path: Path) -> None:
    data, path = on_gpu.read_bytes(), tmp_path / "damaged.pt2"
    with made_up():
        whole = fuse_mlir.load(on_gpu)
        refused = 0
        for position in positions(data):
            path.write_bytes(data[:position] + bytes([data[position] ^ 0x40]) + data[position + 1 :])
            try:
                loaded = fuse_mlir.load(path)
            except PackageError:
                refused += 1
                continue
            for name, weight in whole.weights.items():
                assert torch.equal(weight, loaded.weights[name]), position
            assert loaded.launches == whole.launches and loaded.remarks == whole.remarks, position
    assert refused > 40


@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 0.9, 0.999])
def test_a_cut_package_is_refused(on_cpu: Path, tmp_path: Path, share: float) -> None:
    data, path = on_cpu.read_bytes(), tmp_path / "cut.pt2"
    path.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(PackageDamaged, match="the directory of the archive is damaged"):
        fuse_mlir.load(path)


def test_another_file_is_refused(tmp_path: Path) -> None:
    torch.save({"a": 1}, tmp_path / "other.pt2")
    with pytest.raises(PackageError, match=r"it is no package of fuse_mlir.package"):
        fuse_mlir.load(tmp_path / "other.pt2")
    with pytest.raises(PackageError, match=r"it cannot be read: No such file"):
        fuse_mlir.load(tmp_path / "none.pt2")
    (tmp_path / "script.py").write_text("print('a package is meant')")
    with pytest.raises(PackageError, match=r"script.py: it is no package of fuse_mlir.package") as caught:
        fuse_mlir.load(tmp_path / "script.py")
    assert not isinstance(caught.value, PackageDamaged)


# ---- what does not fit -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda f: f(torch.ones(3, 8)), r"the argument list: expected \(\*, scale=\*\), got \(\*\)"),
        (lambda f: f([1, 2], y=3), r"the argument list: expected .*, got \(\[\*, \*\], y=\*\)"),
        (lambda f: f(torch.ones(3, 8), scale=2.0), "scale: expected None, got 2.0"),
        (lambda f: f(torch.ones(1, 8), scale=None), r"\[s\d+, 8\] with 2 <= s\d+ <= 64, got .*\[1, 8\]"),
        (lambda f: f(torch.ones(65, 8), scale=None), r"got torch.float32 \[65, 8\]"),
        (lambda f: f(torch.ones(3, 9), scale=None), r"got torch.float32 \[3, 9\]"),
        (lambda f: f(torch.ones(3, 8, dtype=torch.float64), scale=None), r"got torch.float64 \[3, 8\]"),
        (
            lambda f: f(torch.ones(3, 8, device="meta"), scale=None),
            "expected a tensor on cpu, got .* on meta",
        ),
        (lambda f: f(3, scale=None), "x: expected .*, got 3"),
    ],
)
def test_a_wrong_call_is_refused(on_cpu: Path, call: Callable[..., Any], message: str) -> None:
    with pytest.raises(PackageCall, match=message):
        call(fuse_mlir.load(on_cpu))


def test_an_argument_that_is_written_keeps_its_place(tmp_path: Path) -> None:
    class Write(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            x.add_(y)
            return x * 2

    path = fuse_mlir.package(export(Write(), (torch.ones(4, 4), torch.ones(4, 4))), tmp_path / "w.pt2")
    loaded, x, y = fuse_mlir.load(path), torch.ones(4, 4), torch.full((4, 4), 2.0)
    assert torch.equal(loaded(x, y), torch.full((4, 4), 6.0)) and torch.equal(x, torch.full((4, 4), 3.0))
    with pytest.raises(PackageCall, match=r"x: expected strides \(4, 1\), since the program writes to it"):
        loaded(x.t(), y)
    with pytest.raises(PackageCall, match=r"x: expected memory of its own.* overlap with y"):
        loaded(x, x)


@pytest.mark.parametrize(
    ("device", "found"), [("cuda", "a machine without CUDA"), ("meta", "this is meta")], ids=["cuda", "meta"]
)
def test_another_device_is_refused(on_cpu: Path, device: str, found: str) -> None:
    with (
        mock.patch.object(torch.cuda, "is_available", lambda: False),
        pytest.raises(PackageMismatch, match=f"made for the targets cpu, .*{found}"),
    ):
        fuse_mlir.load(on_cpu, device=device)


def test_another_version_of_torch_is_refused(on_cpu: Path) -> None:
    with (
        mock.patch.object(torch, "__version__", "2.99.1"),
        pytest.raises(PackageMismatch, match=r"made for torch \d.*, and this is torch 2.99.1"),
    ):
        fuse_mlir.load(on_cpu)


class WritesShared(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("all", torch.zeros(4))
        self.register_buffer("first", self.all[:2])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.first.add_(1)
        return self.all + x


class Sparse(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.to_sparse().to_dense()


class View(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[0]


@pytest.mark.parametrize(
    ("program", "given", "message"),
    [
        (lambda: export(View(), (torch.ones(2, 2),)), {}, "a result is an argument or a view of one"),
        (lambda: export(WritesShared(), (torch.ones(4),)), {}, "an input that is written shares memory"),
        (lambda: export(Sparse(), (torch.ones(2, 2),)), {}, "torch runs the whole program model: "),
        (lambda: counted().run_decompositions(), {}, "it is decomposed"),
        (lambda: {"a/b": counted()}, {}, "expected exported programs by plain names"),
        (lambda: {}, {}, "there is no program"),
        (Counter, {}, "'model' is Counter|expected exported programs"),
        (counted, {"targets": ["sm_75"]}, "'sm_75' is no target: expected cpu or sm_80 and later"),
        (counted, {"targets": ["gfx942"]}, "'gfx942' is no target"),
        (counted, {"targets": ["sm_90"]}, "the program model is on a CPU: export it on a GPU for sm_90"),
        (counted, {"targets": "sm_90"}, r"targets is the text 'sm_90': expected a list, such as \['sm_90'\]"),
        (counted, {"weights": "outside"}, "expected inside, beside or none"),
    ],
)
def test_what_cannot_be_packaged_is_refused(
    program: Callable[[], Any], given: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(PackageError, match=message):
        fuse_mlir.package(program(), tmp_path / "p.pt2", **given)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_has_to_be_there(tmp_path: Path) -> None:
    with pytest.raises(PackageError, match=f"p.pt2: there is no folder '{tmp_path / 'none'}'"):
        fuse_mlir.package(counted(), tmp_path / "none" / "p.pt2")


def test_no_file_is_written_over(on_cpu: Path, tmp_path: Path) -> None:
    path = tmp_path / "p.pt2"
    path.write_text("mine")
    with pytest.raises(PackageError, match=r"it exists already: name another path or pass overwrite=True"):
        fuse_mlir.package(counted(), path)
    with pytest.raises(PackageError, match=r"damaged|no package"):
        fuse_mlir.package(counted(), path, overwrite=True)
    assert path.read_text() == "mine" and list(tmp_path.iterdir()) == [path]
    beside = tmp_path / "q.pt2.weights"
    beside.write_text("mine, too")
    with pytest.raises(PackageError, match=r"q.pt2.weights: it exists already"):
        fuse_mlir.package(counted(), tmp_path / "q.pt2", weights="beside")
    assert beside.read_text() == "mine, too" and sorted(tmp_path.iterdir()) == [path, beside]
    beside.unlink()
    path.write_bytes(on_cpu.read_bytes())
    assert fuse_mlir.load(fuse_mlir.package(counted(), path, overwrite=True)).weights
    assert list(tmp_path.iterdir()) == [path] and write.ONLY == "model"
