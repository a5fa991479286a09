"""What a kernel does to the memory of one of its pointer arguments."""

from .dataclass import dataclass


@dataclass(frozen=True)
class PointerEffects:
    """What a kernel does to the memory of one pointer argument.

    atomic: an atomic op reads and writes it.  escapes: its address is stored in memory.  unknown: it may be
    read and written in a way that is not seen; ``read`` and ``written`` are then true.
    """

    read: bool = False
    written: bool = False
    atomic: bool = False
    escapes: bool = False
    unknown: bool = False

    def __or__(self, other: "PointerEffects") -> "PointerEffects":
        return PointerEffects(
            self.read or other.read,
            self.written or other.written,
            self.atomic or other.atomic,
            self.escapes or other.escapes,
            self.unknown or other.unknown,
        )


UNKNOWN = PointerEffects(read=True, written=True, unknown=True)
