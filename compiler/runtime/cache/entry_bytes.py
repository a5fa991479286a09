"""The form of an entry: magic, sha256 of the rest, the entry's name, a newline, the contents.

The checksum detects damage; the name detects an entry in another's place.  Neither protects against an
attacker, which is the purpose of the folder's owner and mode (``owned_files.py``).
"""

import hashlib

_MAGIC = b"FUSEENTRY1\n"
_START = len(_MAGIC) + 32


def to_entry(name: str, body: bytes) -> bytes:
    """The bytes of the entry ``name`` that stores ``body``."""
    named = name.encode() + b"\n" + body
    return _MAGIC + hashlib.sha256(named).digest() + named


def from_entry(name: str, data: bytes) -> bytes:
    """The contents of the entry ``name``.  Raises ValueError where a byte is missing, added or changed, and
    where the bytes are those of another entry.
    """
    named, start = data[_START:], name.encode() + b"\n"
    if not data.startswith(_MAGIC):
        raise ValueError("it does not begin as an entry does")
    if hashlib.sha256(named).digest() != data[len(_MAGIC) : _START]:
        raise ValueError("its bytes do not match their checksum")
    if not named.startswith(start):
        raise ValueError("it was stored under another name")
    return named[len(start) :]
