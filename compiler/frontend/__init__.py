"""From torch to MLIR: what AOTAutograd is given (``autograd``), the import (``importer``), ops (``ops``)."""
