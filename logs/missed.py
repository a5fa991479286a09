"""The logger ``fuse_mlir.logs.missed``: the missed fusions of each graph, the one that costs most first."""

import logging

log = logging.getLogger(__name__)
