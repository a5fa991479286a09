"""The one place that decides which MLIR Python bindings are used.

Upstream's package name is ``mlir``; the wheel on PyPI that ships the complete bindings is ``torch-mlir``,
which installs the same
API under ``torch_mlir``.  Everything else in the project imports ``ir``, ``ext`` and the upstream dialects
from here.
"""

import io

try:
    from mlir import ir, passmanager
    from mlir.dialects import _ods_common, arith, cf, ext, func, irdl, math, scf
except ImportError:
    from torch_mlir import ir, passmanager
    from torch_mlir.dialects import _ods_common, arith, cf, ext, func, irdl, math, scf


def _keep_falsy_attribute(self: ext.AttributeDef, attribute: ir.Attribute | None) -> ir.Attribute | None:
    """``ext`` takes a false ``BoolAttr`` and an empty ``ArrayAttr`` for a missing attribute; only None is
    missing.
    """
    if attribute is None and self.default_factory is not None:
        return self.default_factory()
    return attribute


ext.AttributeDef.process_attr = _keep_falsy_attribute

#: The upstream dialects whose ops we make by name or by class, which have to be loaded beforehand.
UPSTREAM_DIALECTS = ("arith", "cf", "func", "irdl", "math", "scf")


def new_context() -> ir.Context:
    """A context that knows all upstream dialects and has loaded ``UPSTREAM_DIALECTS``: all of them take 5 ms.
    Others load when a text names them, when a pass of MLIR makes their ops, or by ``context.dialects[name]``.

    It belongs to one thread at a time: MLIR starts no threads of its own, which take longer than our modules.
    """
    context = ir.Context(load_on_create_dialects=UPSTREAM_DIALECTS)
    context.enable_multithreading(False)
    return context


#: The IRDL definitions of dialects that were loaded before, as bytecode, which is read faster than text.
_DEFINITIONS: dict[type[ext.Dialect], bytes] = {}


def load_dialect(dialect: type[ext.Dialect]) -> None:
    """Loads a dialect into the current context.  ``ext`` writes its definition op by op each time and runs
    passes over it (5 ms); here the second context and those after it parse what the first one had (1 ms).
    """
    if dialect not in _DEFINITIONS:
        dialect.load()
        written = io.BytesIO()
        dialect._mlir_module.operation.write_bytecode(written)
        _DEFINITIONS[dialect] = written.getvalue()
        return
    dialect._mlir_module = ir.Module.parse(_DEFINITIONS[dialect])
    irdl.load_dialects(dialect._mlir_module)
    bindings = _ods_common._cext
    bindings.globals._register_dialect_impl(dialect.DIALECT_NAMESPACE, dialect, replace=True)
    for type_ in dialect.types:
        bindings.register_type_caster(ir.DynamicType.lookup_typeid(type_.type_name), replace=True)(type_)
    for attribute in dialect.attributes:
        found = ir.DynamicAttr.lookup_typeid(attribute.attr_name)
        bindings.register_type_caster(found, replace=True)(attribute)
    for op in dialect.operations:
        op._attach_traits()
        bindings.register_operation(dialect, replace=True)(op)
        bindings.register_op_adaptor(op, replace=True)(op.Adaptor)


__all__ = [
    "arith",
    "cf",
    "ext",
    "func",
    "ir",
    "load_dialect",
    "math",
    "new_context",
    "passmanager",
    "scf",
]
