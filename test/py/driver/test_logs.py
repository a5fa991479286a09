"""The loggers of one kind of text each, as torch's switch turns them on."""

import logging
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

import fuse_mlir
from fuse_mlir import logs

LOGGERS = {path.stem for path in Path(logs.__file__).parent.glob("*.py")} - {"__init__"}
#: What each logger writes of ``compiled``, and no other does.
TEXTS = {
    "missed": "inference: missed fusions, by what they cost on the hardware model generic:\n",
    "remarks": "inference: remarks:\n",
    "schedule": "inference: launch 0: ",
    "plan": "inference: the program that launches it:\n",
}
LINE = "kernels -> 1 launches"

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


@pytest.fixture
def torch_logs() -> Iterator[None]:
    """torch's settings of logs, put back behind the test."""
    yield
    torch._logging.set_logs()


def compiled() -> None:
    torch._dynamo.reset()
    torch.compile(lambda x: x.exp().sum(0).sort()[0], backend=fuse_mlir.backend, options={"output": "fx"})(
        torch.randn(3, 40)
    )


def test_each_logger_has_a_module_of_its_name() -> None:
    assert TEXTS.keys() == LOGGERS
    for name in LOGGERS:
        assert find_spec(f"fuse_mlir.logs.{name}") is not None
        assert import_module(f"fuse_mlir.logs.{name}").log.name == f"fuse_mlir.logs.{name}"


@pytest.mark.parametrize(
    ("modules", "line", "texts"),
    [
        ({"fuse_mlir": logging.INFO}, True, ()),
        ({"fuse_mlir": logging.DEBUG}, True, tuple(TEXTS)),
        ({"fuse_mlir.logs.remarks": logging.INFO}, False, ("remarks",)),
        ({"fuse_mlir.logs.plan": logging.DEBUG}, False, ("plan",)),
        ({"fuse_mlir": logging.INFO, "fuse_mlir.logs.schedule": logging.DEBUG}, True, ("schedule",)),
        ({"fuse_mlir.logs": logging.INFO}, False, tuple(TEXTS)),
    ],
)
def test_a_logger_writes_its_text_once_where_it_is_asked(modules, line, texts, torch_logs, capsys) -> None:
    torch._logging.set_logs(modules=modules)
    compiled()
    said = capsys.readouterr().err
    assert (LINE in said) is line
    assert {name: said.count(text) for name, text in TEXTS.items()} == {
        name: int(name in texts) for name in TEXTS
    }
