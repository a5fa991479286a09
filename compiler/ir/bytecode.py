"""Operations as bytecode: all that they say, locations included.  Text takes ten times as long to write."""

import io

from ..mlir import ir


def bytecode_of(op: ir.Operation) -> bytes:
    """The bytecode of an operation; equal operations have equal bytecode."""
    stream = io.BytesIO()
    op.write_bytecode(stream)
    return stream.getvalue()
