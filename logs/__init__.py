"""Loggers that hold one kind of text each, so that ``TORCH_LOGS`` can ask for it alone.

    TORCH_LOGS="fuse_mlir"                one line for each graph
    TORCH_LOGS="+fuse_mlir.logs.remarks"  why things were, and were not, fused; also `missed`,
                                          `schedule` and `plan`
    TORCH_LOGS="+fuse_mlir"               all of these, and the module that runs

``TORCH_LOGS`` takes names of modules, so each logger has a module of its name, which holds nothing else.
"""

import logging


def wanted(log: logging.Logger) -> int:
    """The level at which a long text is written to one of these loggers, 0 where nobody reads it: DEBUG, or
    INFO where this logger is on and ``fuse_mlir`` is off (``TORCH_LOGS="fuse_mlir.logs.remarks"``).
    """
    if log.isEnabledFor(logging.DEBUG):
        return logging.DEBUG
    alone = log.isEnabledFor(logging.INFO) and not logging.getLogger("fuse_mlir").isEnabledFor(logging.INFO)
    return logging.INFO if alone else 0
