"""The logger ``fuse_mlir.logs.plan``: the launch plan of each graph, as the Python that runs."""

import logging

log = logging.getLogger(__name__)
