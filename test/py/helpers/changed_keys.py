"""Notices a dict or set that is keyed by operations and asked after one of them has changed.

MLIR's bindings hash an operation by what it holds: attributes, operands, types.  A dict loses one that
changes while it is a key, without a word.  Inside ``unchanged_keys`` operations are hashed by their
addresses, so that the key is found, and the look-up fails.  What lives longer than operations stay as they
are is keyed by values or blocks, which are hashed by address, or by names and numbers.
"""

import contextlib
import ctypes
from collections.abc import Iterator
from typing import Any
from unittest import mock

from fuse_mlir.compiler.mlir import ir


class ChangedKey(AssertionError):
    """A key of a dict or set is an operation that has changed since it was put there."""


_BASE: Any = ir.Operation.__base__
_hash, _equal = _BASE.__hash__, _BASE.__eq__
_address = ctypes.pythonapi.PyCapsule_GetPointer
_address.restype, _address.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_CAPSULE = f"{ir.__name__.partition('.')[0]}.ir.Operation._CAPIPtr".encode()


@contextlib.contextmanager
def unchanged_keys() -> Iterator[None]:
    """Inside, a look-up of an operation raises ``ChangedKey`` where the key has changed."""
    #: Of each object that was hashed, by its identity: itself, and MLIR's hash when it was.
    seen: dict[int, tuple[Any, int]] = {}

    def hashed(op: Any) -> int:
        seen[id(op)] = op, _hash(op)
        return _address(op._CAPIPtr, _CAPSULE)

    def equal(op: Any, other: Any) -> Any:
        same = _equal(op, other)
        if same is True and op is not other:
            first, second = seen.get(id(op)), seen.get(id(other))
            if first is not None and second is not None and first[1] != second[1]:
                raise ChangedKey(f"{op.name} has changed since it was hashed: key by its result or its name")
        return same

    with mock.patch.object(_BASE, "__hash__", hashed), mock.patch.object(_BASE, "__eq__", equal):
        yield
