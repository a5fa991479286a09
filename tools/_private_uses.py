"""The uses of names of torch, Triton and the bindings that may go without notice, read from sources.

Such a name has a part with an underscore in front, or is one of Triton's or of an experimental module: all
of Triton but its language is its compiler, whose names change between versions. The sources are parsed,
nothing is imported. Four kinds of uses are found:

- an import, and a chain of attributes that begins at one: ``torch._C._get_sdp_priority_order``;
- a chain that begins at a name for one: ``aten = torch.ops.aten``;
- settings handed to the ``patch`` of a module of settings: ``config.patch(donated_buffer=False)``;
- an attribute of some object, by syntax or by ``getattr``, that this package does not define: ``op._schema``.
  Of it only the last part is known: ``*._schema``.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence

PACKAGES = ("torch", "triton", "mlir", "torch_mlir", "helion", "transformers")

_UNSTABLE = ("triton.", "torch.fx.experimental.", "torch_mlir.dialects.ext.", "mlir.dialects.ext.")
_STABLE = ("triton.language", "triton.jit")
_OF_PYTHON = frozenset({"_actions"})  #: attributes of objects of the standard library


def private_uses(sources: Mapping[str, str]) -> dict[str, list[str]]:
    """Name -> the modules of ``sources`` (module -> text) that use it, both sorted."""
    nodes = {module: list(ast.walk(ast.parse(text))) for module, text in sources.items()}
    own = {name for of_module in nodes.values() for name in _defined(of_module)} | _OF_PYTHON
    found: dict[str, set[str]] = {}
    for module, of_module in nodes.items():
        for name in _names(of_module, own):
            found.setdefault(name, set()).add(module)
    return {name: sorted(found[name]) for name in sorted(found)}


def is_private(name: str) -> bool:
    """Whether a name such as ``torch._C.TensorBase`` may go without notice."""
    if name.partition(".")[0] not in PACKAGES or name.startswith(_STABLE):
        return False
    return name.startswith(_UNSTABLE) or any(_hidden(part) for part in name.split("."))


def _hidden(part: str) -> bool:
    return part.startswith("_") and not (part.startswith("__") and part.endswith("__")) and part != "_"


def _names(nodes: Sequence[ast.AST], own: Iterable[str]) -> Iterator[str]:
    aliases = _aliases(nodes)
    inner = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and not node.level:
            yield from filter(is_private, (f"{node.module}.{alias.name}" for alias in node.names))
        elif isinstance(node, ast.Import):
            yield from filter(is_private, (alias.name for alias in node.names))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            parts = node.value.split(".")
            if len(parts) > 1 and all(part.isidentifier() for part in parts) and is_private(node.value):
                yield node.value
        elif isinstance(node, ast.Attribute):
            name = _resolved(node, aliases)
            if name is None:
                if _hidden(node.attr) and node.attr not in own:
                    yield f"*.{node.attr}"
            elif id(node) not in inner and is_private(name):
                yield name
        elif isinstance(node, ast.Call):
            yield from _names_of_call(node, aliases, own)


def _names_of_call(call: ast.Call, aliases: Mapping[str, str], own: Iterable[str]) -> Iterator[str]:
    """Settings that are patched, and attributes that are asked for by text."""
    called = _resolved(call.func, aliases)
    if called is not None and called.endswith(".patch"):
        texts = [keyword.arg for keyword in call.keywords if keyword.arg]
        keys = [key.value for node in call.args for key in ast.walk(node) if isinstance(key, ast.Constant)]
        texts += [key for key in keys if isinstance(key, str)]
        yield from (f"{called.removesuffix('.patch')}.{text}" for text in texts)
    if isinstance(call.func, ast.Name) and call.func.id in ("getattr", "hasattr", "setattr"):
        owner, name = call.args[0], call.args[1]
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            base = _resolved(owner, aliases)
            if base is not None and is_private(f"{base}.{name.value}"):
                yield f"{base}.{name.value}"
            elif base is None and _hidden(name.value) and name.value not in own:
                yield f"*.{name.value}"


def _aliases(nodes: Sequence[ast.AST]) -> dict[str, str]:
    """Local name -> the full name of what an import, or an assignment, binds to it."""
    known: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            known.update((a.asname, a.name) if a.asname else (a.name.split(".")[0],) * 2 for a in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            known.update((a.asname or a.name, f"{node.module}.{a.name}") for a in node.names)
    for node in nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            pairs = [(node.targets[0], node.value)]
            if isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(node.targets[0].elts, node.value.elts, strict=False))
            for target, value in pairs:
                name = _resolved(value, known) if isinstance(value, ast.Attribute) else None
                if isinstance(target, ast.Name) and name is not None and target.id not in known:
                    known[target.id] = name
    return known


def _resolved(node: ast.expr, aliases: Mapping[str, str]) -> str | None:
    """The full name of a chain of attributes that begins at an import of one of PACKAGES."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    base = aliases.get(node.id) if isinstance(node, ast.Name) else None
    if base is None or base.partition(".")[0] not in PACKAGES:
        return None
    return ".".join((base, *reversed(parts)))


def _defined(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """The names of functions, classes, variables and attributes that a module binds."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _of_self(node):
            yield node.attr


def _of_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
