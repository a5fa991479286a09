"""What a new interpreter prints."""

import os
import subprocess
import sys
from pathlib import Path


def python(code: str, **environment: str) -> str:
    """What a new interpreter prints."""
    # The shell's path by which this process found the package comes along.
    paths = os.pathsep.join(p for p in (*sys.path, str(Path(__file__).parent)) if p)
    settings = os.environ | {"PYTHONPATH": paths} | environment
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=settings)
    assert done.returncode == 0, done.stderr
    return done.stdout
