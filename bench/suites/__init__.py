"""The table of suites: each makes tasks from settings, and a table from their records."""

from functools import partial

from ..cases_attention import ATTENTION
from ..cases_contractions import FEW_ROWS
from ..cases_experts import EXPERTS
from ..cases_further import FURTHER
from ..cases_products import PRODUCTS
from ..cases_structured import STRUCTURED
from ..graph import graph_table
from ..tables import wild_table
from ..wild import WILD
from ..wild2 import WILD2
from . import accuracy, compile, host_cost, kernels, launches, models, schedule, templates, user_kernels
from .settings import Settings, Suite

CONTRACTIONS = graph_table((*FEW_ROWS.values(), *PRODUCTS.values()))

SUITES: dict[str, Suite] = {
    "kernels": Suite(kernels.tasks, kernels.line, kernels.table),
    "further": Suite(partial(kernels.tasks, graphs=FURTHER), kernels.line, kernels.table),
    "contractions": Suite(partial(kernels.tasks, graphs=CONTRACTIONS), kernels.line, kernels.table),
    "experts": Suite(partial(kernels.tasks, graphs=EXPERTS), kernels.line, wild_table),
    "attention": Suite(partial(kernels.tasks, graphs=ATTENTION), kernels.line, wild_table),
    "structured": Suite(partial(kernels.tasks, graphs=STRUCTURED), kernels.line, wild_table),
    "wild": Suite(partial(kernels.tasks, graphs=WILD), kernels.line, wild_table),
    "wild2": Suite(partial(kernels.tasks, graphs=WILD2), kernels.line, wild_table),
    "models": Suite(models.tasks, models.line, models.table),
    "accuracy": Suite(accuracy.tasks, accuracy.line, accuracy.table),
    "launches": Suite(launches.tasks, launches.line, launches.table),
    "host": Suite(host_cost.tasks, host_cost.line, host_cost.table),
    "compile": Suite(compile.tasks, compile.line, compile.table),
    "user-kernels": Suite(user_kernels.tasks, user_kernels.line, user_kernels.table),
    "templates": Suite(templates.tasks, templates.line, templates.table),
    "schedule": Suite(schedule.tasks, schedule.line, schedule.table),
}

__all__ = ["SUITES", "Settings", "Suite"]
