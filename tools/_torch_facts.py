"""What one torch has, as JSON: the schemas of its ops, its higher-order ops, and its settings.

A script of its own: ``torch_differences.py`` runs it with interpreters that have another torch, and this
package's dependencies need not be in them.
"""

import contextlib
import importlib
import inspect
import json
import re
import sys

import torch

#: Modules that register ops or hold settings; one that a version lacks is left out.
MODULES = (
    "torch._higher_order_ops",
    "torch._inductor.lowering",
    "torch.distributed._functional_collectives",
    "torch.distributed._symmetric_memory",
    "torch.nn.attention.flex_attention",
)
CONFIGS = ("torch._dynamo.config", "torch._functorch.config", "torch._inductor.config")
BACKENDS = (
    "cuda",
    "cuda.matmul",
    "cudnn",
    "cudnn.conv",
    "mkldnn",
    "mkldnn.matmul",
    "opt_einsum",
    "cpu",
    "mps",
)


def facts() -> dict[str, object]:
    """version; ops: name.overload -> schema; higher_order: names; settings: names of what may be switched."""
    for module in (*MODULES, *CONFIGS):
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    ops = {}
    for schema in torch._C._jit_get_all_schemas():
        name = schema.name.replace("::", ".")
        ops[f"{name}.{schema.overload_name or 'default'}"] = str(schema)
    return {
        "version": torch.__version__,
        "ops": ops,
        "higher_order": sorted(str(name) for name in torch._ops._higher_order_ops),
        "settings": sorted(_settings()),
    }


def _settings() -> set[str]:
    found = {f"torch.compile({name})" for name in inspect.signature(torch.compile).parameters}
    for module in CONFIGS:
        config = importlib.import_module(module)
        found |= {f"{module}.{name}" for name in config._config}
    for backend in BACKENDS:
        holder: object = torch.backends
        for part in backend.split("."):
            holder = getattr(holder, part, None)
        names = {*dir(holder), *_asked(holder)}
        found |= {f"torch.backends.{backend}.{name}" for name in names if not name.startswith("_")}
    found |= {f"torch.{name}" for name in dir(torch) if name.startswith(("set_", "use_"))}
    return found


def _asked(holder: object) -> set[str]:
    """The names that the ``__getattr__`` of a holder of switches compares with."""
    answers = getattr(type(holder), "__getattr__", None)
    return set(re.findall(r"""name == ["'](\w+)""", inspect.getsource(answers))) if answers else set()


if __name__ == "__main__":
    json.dump(facts(), sys.stdout)
