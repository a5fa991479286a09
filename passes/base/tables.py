"""Tables of measurements that passes read: JSON files that a search of ``mode="max-autotune"`` wrote."""

import json
from pathlib import Path

from ...compiler.mlir import ir
from ..pass_base import PassError


def read_table(name: str, path: str, module: ir.Module) -> dict[str, object]:
    """The object in the file ``path``.  Raises PassError for the pass ``name`` where it holds none."""
    where = module.operation.location
    try:
        table = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PassError(f"{name}: {path} is no table: {error}", where) from None
    if not isinstance(table, dict):
        raise PassError(f"{name}: {path} is no table: expected an object", where)
    return table
