"""What holds of every launch plan that runs, whoever made it.

Each variable is defined once, before it is used, and is not used after it was freed; what is freed is there,
once.  Kernels, extern ops and functions are declared, and get as many arguments as they take, tensors where
they take tensors.  An extern op names an operator that a plan may call (``torch_names.py``).  A name is
safe in Python source: ``python_source.py`` prints what is validated here.
"""

import keyword
import re
from collections.abc import Iterable
from typing import NoReturn

from ..errors import PlanError, RunError
from ..torch_names import resolve, torch_object
from .externs import Arg, Argument, Dict, Extern, List, Named, Tuple
from .plan import MAIN, Plan, PlanFunction
from .python_text import identifier
from .steps import CallFunction, Step, walk
from .validate_steps import DEEPEST, DEVICE, VARIABLE, Declared, validate_function

#: The types of a kernel's parameters.
PARAMETERS = frozenset(
    ("ptr", "i1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64")
)
_FUNCTION = re.compile(r"(?:graph|control_flow)_\w+", re.ASCII)


def validate(plan: Plan) -> None:
    """Raises PlanError for a plan that must not run."""
    _Validator(plan).run()


class _Validator:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.declared = Declared(
            {kernel.name: kernel.parameters for kernel in plan.kernels},
            {extern.name: extern for extern in plan.externs},
            {function.name: function for function in plan.functions},
        )
        self.checked: set[str] = set()  #: functions that are valid

    def fail(self, message: str) -> NoReturn:
        raise PlanError(message, "the plan")

    def run(self) -> None:
        plan = self.plan
        if not DEVICE.fullmatch(plan.device):
            self.fail(f"'{plan.device}' is no device of a plan")
        self._unique("kernel", plan.kernels)
        self._unique("extern op", plan.externs)
        self._unique("function", plan.functions)
        for kernel in plan.kernels:
            for parameter in kernel.parameters:
                if parameter not in PARAMETERS:
                    self.fail(f"the kernel '{kernel.name}' takes a '{parameter}', which no kernel can")
        for extern in plan.externs:
            self._extern(extern)
        if not plan.functions or plan.main.name != MAIN or plan.main.kind != "graph":
            self.fail(f"the last function of a plan is the graph '{MAIN}'")
        for function in plan.functions[:-1]:
            if not _FUNCTION.fullmatch(function.name):
                self.fail(f"'{function.name}' is no name of a sub-graph or of control flow")
        for function in plan.functions:
            self._function(function, ())

    def _unique(self, kind: str, declared: Iterable[object]) -> None:
        """Names have to differ as parts of Python names, too."""
        known: set[str] = set()
        for item in declared:
            name = identifier(item.name)  # type: ignore[attr-defined]
            if name in known:
                self.fail(f"there are two {kind}s of the name '{name}'")
            if not re.fullmatch(r"\w+", name, re.ASCII):
                self.fail(f"'{name}' is no name of a {kind}")
            known.add(name)

    # --- extern ops

    def _extern(self, extern: Extern) -> None:
        try:
            resolve(extern.op)
        except RunError as error:
            self.fail(error.message)
        for argument in extern.arguments:
            self._argument(extern, argument, 0)
        for name, argument in extern.keywords:
            if not VARIABLE.fullmatch(name) or keyword.iskeyword(name):
                self.fail(f"'{name}' is no name of an argument")
            self._argument(extern, argument, 0)
        results, operands = range(extern.results), range(extern.operands)
        if extern.leaves is not None and (
            len(extern.leaves) != extern.results or min(extern.leaves, default=0) < 0
        ):
            self.fail(f"{extern.op} gives {extern.results} results of the leaves {list(extern.leaves)}")
        wrong = [n for n in extern.mutated if n not in operands]
        wrong += [o for r, o in extern.aliases if r not in results or o not in operands]
        if wrong:
            self.fail(f"{extern.op} has no operand or result {wrong[0]}")

    def _argument(self, extern: Extern, argument: Argument, depth: int) -> None:
        """An argument inside ``depth`` others."""
        if depth > DEEPEST:
            self.fail(f"arguments of {extern.op} nest deeper than {DEEPEST}")
        if isinstance(argument, Arg) and not 0 <= argument.number < extern.operands:
            self.fail(f"{extern.op} takes operand {argument.number} of {extern.operands}")
        elif isinstance(argument, Named) and not _is_known(argument.text):
            self.fail(f"'{argument.text}' names nothing of torch")
        elif isinstance(argument, List | Tuple):
            for item in argument.items:
                self._argument(extern, item, depth + 1)
        elif isinstance(argument, Dict):
            for _, item in argument.items:
                self._argument(extern, item, depth + 1)

    # --- functions

    def _function(self, function: PlanFunction, around: tuple[str, ...]) -> None:
        """Checks a function and those that it calls.  ``around``: the functions that are being checked."""
        if function.name in around:
            self.fail(f"the function '{function.name}' calls itself")
        if function.name in self.checked:
            return
        for step in _calls(function.steps):
            called = self.declared.functions.get(step.function)
            if called is None:
                self.fail(f"there is no function '{step.function}'")
            self._function(called, (*around, function.name))
        validate_function(function, self.declared)
        self.checked.add(function.name)


def _is_known(text: str) -> bool:
    """Whether torch has what a ``Named`` argument names; an object is known where the plan is bound."""
    kind, _, name = text.partition(":")
    if kind in ("object", "device"):
        return kind == "object" or DEVICE.fullmatch(name) is not None or name == "meta"
    try:
        torch_object(text, {}, None)
    except RunError:
        return False
    return True


def _calls(steps: Iterable[Step]) -> Iterable[CallFunction]:
    return (step for step in walk(tuple(steps)) if isinstance(step, CallFunction))
