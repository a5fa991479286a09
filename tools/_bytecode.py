"""MLIR's bytecode, as the tools read and write it.

MLIR's reader trusts its input: of changed bytes it makes another module, or it ends the process.  So what is
written here holds a checksum of itself, in the field that names the producer, which every reader skips.
Bytecode without one, as mlir-opt writes it, is first read in a process of its own.
"""

import base64
import contextlib
import faulthandler
import hashlib
import multiprocessing
import os

from ..compiler.base.diagnostics import collecting
from ..compiler.ir.bytecode import bytecode_of
from ..compiler.ir.context import make_context
from ..compiler.mlir import ir

_MAGIC = b"ML\xefR"
#: The magic, and the version as one byte.
_START = 5
#: How the producer begins in what is written here; the checksum follows.
_MARK = b"fuse:"


class DamagedBytecode(ValueError):
    """Bytecode that cannot be read.  The message says why."""


def is_bytecode(data: bytes) -> bool:
    """Whether a file holds bytecode, and not text."""
    return data.startswith(_MAGIC)


def sealed_bytecode(text: str, *, allow_unregistered: bool = False) -> bytes:
    """The bytecode of the module that ``text`` says, which the parser has accepted."""
    context = make_context()
    context.allow_unregistered_dialects = allow_unregistered
    data = bytecode_of(ir.Module.parse(text, context).operation)
    end = data.index(0, _START)
    assert end - _START > len(_MARK) + 6, "MLIR's name leaves no room for a checksum"
    return data[:_START] + _sealed(data, end) + data[end:]


def text_of(data: bytes) -> str:
    """The module of bytecode as text, with its locations.  Raises ``DamagedBytecode``."""
    end = data.find(0, _START)
    if data[_START:end].startswith(_MARK):
        if data[_START:end] != _sealed(data, end):
            raise DamagedBytecode("its checksum is another than when it was written")
    else:
        _try_apart(data)
    return _read(data)


def _sealed(data: bytes, end: int) -> bytes:
    """The producer, up to ``end``, with the checksum of all else."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(data[:_START] + data[end:]).digest())
    return (_MARK + digest)[: end - _START]


def _try_apart(data: bytes) -> None:
    """Reads the module in a child process, which a wrong byte may end."""
    child = multiprocessing.get_context("fork").Process(target=_try, args=(data,))
    child.start()
    child.join()
    if child.exitcode:
        raise DamagedBytecode("MLIR's reader does not survive it")


def _try(data: bytes) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # on which MLIR says why it ends
    faulthandler.disable()
    with contextlib.suppress(DamagedBytecode):  # it is raised once more, by the parent
        _read(data)


def _read(data: bytes) -> str:
    context = make_context()
    context.allow_unregistered_dialects = True  # whether they may be is asked where the text is parsed
    with collecting(context) as found:
        try:
            module = ir.Module.parse(data, context)
        except (ir.MLIRError, ValueError):
            said = "; ".join(item.message for item in found.items)
            raise DamagedBytecode(said or "MLIR's reader says nothing of it") from None
    return module.operation.get_asm(enable_debug_info=True)
