"""The command line of the tools that run a user's script: ``minify`` and ``bisect``."""

import argparse
from pathlib import Path


def parser(tool: str, what: str) -> argparse.ArgumentParser:
    """``[--out FOLDER] script.py [arguments]``."""
    made = argparse.ArgumentParser(f"python -m fuse_mlir.{tool}", description=what)
    made.add_argument(
        "--out",
        default=f"fuse_{tool}",
        metavar="FOLDER",
        help="what is found is written there; it must be new",
    )
    made.add_argument("script", help="a Python script that compiles with this backend")
    made.add_argument("arguments", nargs=argparse.REMAINDER, help="the script's own arguments")
    return made


def new_folder(name: str) -> Path | str:
    """The folder, which is not there yet; else what is wrong with it."""
    folder = Path(name)
    return f"--out names '{name}', which exists: name a new folder" if folder.exists() else folder
