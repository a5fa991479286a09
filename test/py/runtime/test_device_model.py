"""Which hardware model a device has, and which devices are refused."""

from types import SimpleNamespace
from unittest import mock

import pytest
import torch
from made_up_gpu import CARDS, card, made_up_gpu

import fuse_mlir
from fuse_mlir.compiler.base.errors import UnsupportedDevice
from fuse_mlir.compiler.cost.devices import capability_hardware, hardware_named, models, with_settings
from fuse_mlir.compiler.cost.hardware import Hardware
from fuse_mlir.compiler.driver.program_cache import program_key
from fuse_mlir.compiler.frontend.importer import state
from fuse_mlir.compiler.runtime.gpu import device_model

#: The capability of each made-up card.
CAPABILITIES = {
    "NVIDIA H200": (9, 0),
    "NVIDIA H100 80GB HBM3": (9, 0),
    "NVIDIA H100 80GB HBM3 MIG 1g.10gb": (9, 0),
    "NVIDIA H800": (9, 0),
    "NVIDIA H20": (9, 0),
    "NVIDIA A100-SXM4-80GB": (8, 0),
    "NVIDIA RTX A1000": (8, 6),
    "NVIDIA A10G": (8, 6),
    "NVIDIA L4": (8, 9),
    "NVIDIA GeForce RTX 4090": (8, 9),
    "NVIDIA GeForce RTX 4090 Laptop GPU": (8, 9),
    "NVIDIA GeForce RTX 4080": (8, 9),
    "NVIDIA L40S": (8, 9),
    "NVIDIA B200": (10, 0),
    "NVIDIA GeForce RTX 5090": (12, 0),
}


def model_of(name: str, given: str | None = None) -> Hardware:
    with made_up_gpu(name, CAPABILITIES[name]):
        return hardware_named(device_model.hardware_name(0, given))


def test_every_card_has_a_capability() -> None:
    assert CARDS.keys() == CAPABILITIES.keys()


def test_a_card_with_figures_is_its_preset() -> None:
    assert model_of("NVIDIA H200") is hardware_named("h200")
    assert model_of("NVIDIA H100 80GB HBM3") is hardware_named("h100")
    assert model_of("NVIDIA H800") is hardware_named("h100")
    assert model_of("NVIDIA A100-SXM4-80GB") is hardware_named("a100")


@pytest.mark.parametrize("name", CARDS)
def test_limits_are_those_of_the_device(name: str) -> None:
    for given in (None, "h200", "generic"):
        found, told = model_of(name, given), card(name, CAPABILITIES[name])
        assert found.sm_count == told.multi_processor_count
        assert found.shared_bytes == told.shared_memory_per_block_optin
        assert found.l2_bytes == told.L2_cache_size
        assert found.registers == told.regs_per_multiprocessor
        assert found.descriptors == (told.major >= 9)


@pytest.mark.parametrize(
    ("name", "model", "bandwidth", "tflops"),
    [
        ("NVIDIA L4", "l4", 300, 121),
        ("NVIDIA L40S", "l40s", 864, 362),
        ("NVIDIA GeForce RTX 4090", "rtx4090", 1008, 165),
        ("NVIDIA GeForce RTX 5090", "rtx5090", 1792, 210),
        ("NVIDIA B200", "b200", 8000, 2250),
    ],
)
def test_a_card_that_nobody_measured_has_its_data_sheet(
    name: str, model: str, bandwidth: int, tflops: int
) -> None:
    found = model_of(name)
    assert (found.name, found.bandwidth, found.tensor_tflops) == (model, bandwidth, tflops)
    assert found is hardware_named(model) and found.rates_of == "h100"


@pytest.mark.parametrize(
    ("capability", "name", "shared"),
    [(80, "a100", 163), (86, "generic", 99), (87, "generic", 163), (89, "l4", 99), (90, "h100", 227),
     (100, "b200", 227), (103, "generic", 227), (120, "rtx5090", 99), (121, "generic", 99)],
)  # fmt: skip
def test_a_capability_has_the_smallest_of_its_models(capability: int, name: str, shared: int) -> None:
    found = capability_hardware(capability)
    assert (found.name.split(":")[0], found.shared_bytes) == (name, shared * 1024)
    assert found.descriptors == (capability >= 90)


def test_a_part_of_a_name_is_no_model() -> None:
    found = model_of("NVIDIA RTX A1000")
    assert (found.name.split(":")[0], found.bandwidth) == ("generic", 192)
    assert model_of("NVIDIA H20").name.startswith("generic:")


def test_a_slice_has_the_figures_of_its_gpu_and_its_own_limits() -> None:
    found = model_of("NVIDIA H100 80GB HBM3 MIG 1g.10gb")
    assert found.name == f"h100:l2_bytes={6 << 20}:sm_count=16"
    assert found.bandwidth == hardware_named("h100").bandwidth


@pytest.mark.parametrize(
    ("name", "bandwidth", "tflops"),
    [
        ("NVIDIA GeForce RTX 4080", 717, 195),  # 717 GB/s, 195 TFLOP/s that are summed in float16
        ("NVIDIA GeForce RTX 4090 Laptop GPU", 576, 159),
        ("NVIDIA A10G", 600, 140),
    ],
)
def test_figures_of_other_cards_are_derived_from_their_clocks(name: str, bandwidth: int, tflops: int) -> None:
    found = model_of(name)
    assert (found.bandwidth, found.tensor_tflops) == (bandwidth, tflops)


def test_a_driver_that_tells_no_clock_leaves_the_generic_figures() -> None:
    told = card("NVIDIA GeForce RTX 4080", (8, 9))
    told.clock_rate = told.memory_clock_rate = 0
    del told.memory_bus_width
    with mock.patch.object(torch.cuda, "get_device_properties", lambda device=None: told):
        found = hardware_named(device_model.hardware_name(0))
    generic = hardware_named("generic")
    assert (found.bandwidth, found.clock, found.sm_count) == (generic.bandwidth, generic.clock, 76)


def test_the_name_of_a_model_is_its_text() -> None:
    for model in (*map(hardware_named, models()), *(model_of(name) for name in CARDS)):
        assert hardware_named(model.name) == model == hardware_named(model.name.upper())
    changed = with_settings(hardware_named("a100"), {"clock": 1.25, "descriptors": True, "sm_count": 108})
    assert changed.name == "a100:clock=1.25:descriptors=true" and hardware_named(changed.name) == changed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("h300", "unknown hardware 'h300': expected one of a100, b200, generic, h100, "),
        ("h100:cores=4", "hardware 'h100' has no 'cores': expected one of sm_count, "),
        ("h100:words=a", "hardware 'h100' has no 'words'"),
        ("h100:sm_count", "the hardware's 'sm_count' is a int, got ''"),
        ("h100:sm_count=0", "the hardware's 'sm_count' is more than 0, got 0"),
        ("h100:clock=nan", "the hardware's 'clock' is more than 0, got nan"),
        ("h100:descriptors=1", "the hardware's 'descriptors' is a bool, got '1'"),
    ],
)
def test_a_wrong_text_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        hardware_named(text)


def double(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def test_a_device_of_rocm_is_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with made_up_gpu("NVIDIA H200"):
        monkeypatch.setattr(torch.version, "hip", "6.4")
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda device=None: "AMD Instinct MI300X")
        with pytest.raises(Exception, match="no kernels are made for the device 'AMD Instinct MI300X': this"):
            torch.compile(double, backend=fuse_mlir.backend)(torch.ones(4))


def test_an_old_gpu_is_refused_in_one_sentence() -> None:
    told = "its compute capability is 7.5, less than 8.0"
    with made_up_gpu("NVIDIA L4", (7, 5)), pytest.raises(UnsupportedDevice, match=told):
        device_model.target_of(0)


def test_an_element_that_a_gpu_does_not_convert_is_torchs(monkeypatch: pytest.MonkeyPatch) -> None:
    def narrowed(x: torch.Tensor) -> torch.Tensor:
        return (x * 2).to(torch.float8_e4m3fn)

    graphs: list[fuse_mlir.CompiledGraph] = []
    x = torch.randn(16, 16)
    for arch, fallbacks in ((80, ["aten._to_copy.default"]), (89, [])):
        monkeypatch.setattr(state, "capability_of", lambda device, arch=arch: arch)
        torch._dynamo.reset()
        options = {"on_compiled": graphs.append}
        found = torch.compile(narrowed, backend=fuse_mlir.backend, options=options)(x)
        assert torch.equal(found.float(), narrowed(x).float())
        assert [each.target for each in graphs[-1].fallbacks] == fallbacks


def test_fused_roundings_are_an_option() -> None:
    from fuse_mlir.compiler.base.options import Options
    from fuse_mlir.compiler.runtime.kernels.cubin import CompileRequest, Target

    source = SimpleNamespace(text="", num_warps=4, num_stages=1)
    keys = {CompileRequest.of(source, Target(90), fused).key("") for fused in (True, False)}
    assert len(keys) == 2
    gm = torch.fx.symbolic_trace(double)
    with made_up_gpu():
        texts = {program_key(gm, (), Options.of({"fp_fusion": fused}), "cuda:0") for fused in (True, False)}
    assert len(texts) == 2
