"""Writes the generated pages in docs/: ``python -m fuse_mlir.tools.gen_docs [--check]``."""

import sys
from pathlib import Path

from ._docs import documents


def main(arguments: list[str] | None = None) -> int:
    """Writes the pages that differ.  With ``--check`` it only names them, and the exit code is 1 if there are
    any.
    """
    given = sys.argv[1:] if arguments is None else arguments
    if given not in ([], ["--check"]):
        print("usage: gen_docs [--check]", file=sys.stderr)
        return 2
    stale = 0
    for path, text in documents(Path(__file__).resolve().parents[1] / "docs").items():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale += 1
        if given:
            print(f"docs/{path.name} is not what the docstrings say: run python -m fuse_mlir.tools.gen_docs")
        else:
            path.write_text(text, encoding="utf-8")
            print(f"wrote docs/{path.name}")
    return 1 if given and stale else 0


if __name__ == "__main__":
    sys.exit(main())
