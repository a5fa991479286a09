"""What a failed assertion of a kernel raises, at every level."""

from ....ir.kernel import INDEX_CHECK
from ....mlir import ir
from ...errors import DeviceAssertError, IndexAssertError, place_text


def assertion_error(op: ir.Operation, message: str) -> DeviceAssertError:
    """The error of a ``fuse.device_assert``, ``cf.assert`` or ``tt.assert``.  A lowered one's message ends
    with a place of its location, for Triton; the error names all places itself.
    """
    kind = IndexAssertError if INDEX_CHECK in op.attributes else DeviceAssertError
    for place in place_text(str(op.location)).split(", "):
        message = message.removesuffix(f" (at {place})")
    return kind(message, op.location)
