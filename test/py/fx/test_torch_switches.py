"""Switches of torch's compiler that ask for other numbers are honoured or refused by name."""

import re
from typing import Any

import pytest
import torch
from torch._inductor import config as inductor_config

import fuse_mlir
from fuse_mlir.compiler.base.options import OptionError, Options
from fuse_mlir.compiler.fx import torch_state
from fuse_mlir.compiler.fx.torch_state import GRAPHS_ONLY, HONOURED, REFUSED, with_torch_switches


class Policy:
    """Stands for a CUDAGraphPolicy."""


ASKING: dict[str, list[Any]] = {
    "batch_invariant": [True],
    "numerics": ["strict", "strict_pointwise", "strict_reduction"],
    "strict_signed_zero": [True],
    "eager_numerics.disable_ftz": [True],
    "eager_numerics.use_pytorch_libdevice": [True],
}


def has(name: str) -> bool:
    return name in inductor_config._config


def test_every_refused_switch_is_tested() -> None:
    assert ASKING.keys() == REFUSED.keys()
    assert ASKING_OF_GRAPHS.keys() == GRAPHS_ONLY.keys()


@pytest.mark.parametrize("name, value", [(name, value) for name in ASKING for value in ASKING[name]])
def test_a_switch_is_refused_by_name(name: str, value: Any) -> None:
    if not has(name):
        pytest.skip(f"torch {torch.__version__} has no torch._inductor.config.{name}")
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: x.exp(), backend=fuse_mlir.backend)
    with inductor_config.patch({name: value}):
        with pytest.raises(
            Exception, match=re.escape(f"torch._inductor.config.{name} is {value!r}")
        ) as raised:
            compiled(torch.zeros(3))
        assert isinstance(raised.value.__cause__ or raised.value, OptionError) or "OptionError" in str(
            raised.value
        )
    assert compiled(torch.zeros(3)).tolist() == [1, 1, 1]  # set back, it runs


ASKING_OF_GRAPHS: dict[str, Any] = {
    "cudagraph_policy": Policy(),
    "triton.cudagraph_trees_generation_cloning": "user_visible",
    "triton.cudagraph_or_error": True,
}


@pytest.mark.parametrize("name", ASKING_OF_GRAPHS)
def test_a_switch_of_cuda_graphs_is_refused_where_they_are_recorded(name: str) -> None:
    if not has(name):
        pytest.skip(f"torch {torch.__version__} has no torch._inductor.config.{name}")
    with inductor_config.patch({name: ASKING_OF_GRAPHS[name]}):
        assert with_torch_switches(Options()) == Options()
        with pytest.raises(OptionError, match=re.escape(f"torch._inductor.config.{name} is")):
            with_torch_switches(Options(cudagraphs=True))


def test_defaults_ask_for_nothing() -> None:
    for options in (Options(), Options(cudagraphs=True), Options(deterministic=True)):
        assert with_torch_switches(options) == options


@pytest.mark.parametrize("name", HONOURED)
def test_an_honoured_switch_sets_its_option(name: str) -> None:
    for value in HONOURED[name][0]:
        with inductor_config.patch({name: value}):
            options = with_torch_switches(Options())
        assert options.text() != Options().text()  # so it is in keys
        assert {option: getattr(options, option) for option in HONOURED[name][1]} == dict(HONOURED[name][1])


def test_casts_are_emulated() -> None:
    def double_rounding(x: torch.Tensor) -> torch.Tensor:
        return (x * 1.01 + 3) * 1.7 - x

    x = torch.linspace(-3, 3, 4096).bfloat16()
    torch._dynamo.reset()
    with inductor_config.patch(emulate_precision_casts=True):
        result = torch.compile(double_rounding, backend=fuse_mlir.backend)(x)
    assert torch.equal(result, double_rounding(x))
    torch._dynamo.reset()
    assert not torch.equal(torch.compile(double_rounding, backend=fuse_mlir.backend)(x), result)


def test_a_switch_that_torch_lacks_asks_for_nothing(monkeypatch) -> None:
    monkeypatch.setattr(torch_state, "REFUSED", {"of_tomorrow": (frozenset({False}), "")})
    assert with_torch_switches(Options()) == Options()
