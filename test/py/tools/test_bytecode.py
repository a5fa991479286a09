"""MLIR's bytecode, read and written by the tools: what is damaged is one sentence, and no other module."""

import os
import random
from pathlib import Path

import pytest
from repository import ROOT

from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.tools import _bytecode, fuse_opt
from fuse_mlir.tools._bytecode import DamagedBytecode, sealed_bytecode, text_of

MODULE = ir.Module.parse((ROOT / "examples" / "softmax.mlir").read_text(), make_context())
TEXT = MODULE.operation.get_asm(enable_debug_info=True)
OURS = sealed_bytecode(TEXT)


def of_mlir() -> bytes:
    """The same as MLIR itself writes it."""
    end = OURS.index(0, 5)
    return OURS[:5] + b"MLIR24.0.0git"[: end - 5].ljust(end - 5, b"-") + OURS[end:]


def test_a_module_comes_back_with_its_locations_whoever_wrote_it() -> None:
    assert text_of(OURS) == text_of(of_mlir()) == TEXT
    assert ir.Module.parse(OURS, make_context()).operation.get_asm(enable_debug_info=True) == TEXT


def test_every_changed_byte_is_noticed() -> None:
    """A change where the checksum is looked for leaves bytecode of somebody else, with the same module."""
    mark = range(5, 5 + len(b"fuse:"))
    for at in range(5, len(OURS)):
        changed = OURS[:at] + bytes([OURS[at] ^ 1]) + OURS[at + 1 :]
        if at in mark:
            continue
        with pytest.raises(DamagedBytecode, match="checksum"):
            text_of(changed)
    for end in range(20, len(OURS), 50):
        with pytest.raises(DamagedBytecode):
            text_of(OURS[:end])
    assert text_of(OURS[:6] + b"?" + OURS[7:]) == TEXT


def test_damaged_bytecode_of_others_is_one_sentence_or_a_module(tmp_path: Path, capfd) -> None:
    data, draw = of_mlir(), random.Random(0)
    path = tmp_path / "m.mlirbc"
    for number in range(9):
        at = draw.randrange(20, len(data))
        wrong = data[:at] if number % 3 == 0 else data[:at] + bytes([draw.randrange(256)]) + data[at + 1 :]
        path.write_bytes(wrong)
        code = fuse_opt.main([str(path), "--verify-each=off"])
        said = capfd.readouterr().err
        assert code in (0, 1) and " raised " not in said and "a bug of" not in said
        if "cannot read" in said:
            assert said.count("\n") == 1


def test_a_reader_that_ends_the_process_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As MLIR's does for some bytes: an assertion of its fails."""
    monkeypatch.setattr(_bytecode, "_read", lambda data: os.abort())
    with pytest.raises(DamagedBytecode, match="does not survive it"):
        text_of(of_mlir())
