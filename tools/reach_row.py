"""A row of the table in docs/versions.md: ``python -m fuse_mlir.tools.reach_row FOLDER``.

``./run reach`` calls it with the interpreter that ran the tests. FOLDER holds the logs of the stages:
``py.log``, ``lit.log`` and ``demo.log``.
"""

import datetime
import platform
import re
import sys
from importlib import metadata
from pathlib import Path

_PYTEST = re.compile(r"^(?=.*\b(?:passed|failed|error|skipped)).*\bin \d[\d.]*s\b.*$", re.MULTILINE)
_COUNT = re.compile(r"\b(\d+) (passed|failed|errors?|skipped|xfailed)\b")
_LIT = re.compile(r"^\s*(Passed|Failed|Unresolved|Unsupported)\s*:\s*(\d+)", re.MULTILINE)


def row(folder: Path) -> tuple[str, bool]:
    """The row, and whether all stages passed."""
    stages = [_py(_text(folder, "py")), _lit(_text(folder, "lit")), _demo(_text(folder, "demo"))]
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    versions = metadata.version("torch"), metadata.version("triton"), platform.python_version()
    return f"| {' | '.join((*versions, *(said for said, _ in stages), day))} |", all(
        good for _, good in stages
    )


def main(arguments: list[str] | None = None) -> int:
    """Prints the row; the exit code is 1 where a stage failed."""
    given = sys.argv[1:] if arguments is None else arguments
    if len(given) != 1 or not Path(given[0]).is_dir():
        print("usage: reach_row FOLDER, which holds py.log, lit.log and demo.log", file=sys.stderr)
        return 2
    text, good = row(Path(given[0]))
    print(text)
    return 0 if good else 1


def _text(folder: Path, stage: str) -> str:
    file = folder / f"{stage}.log"
    return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""


def _py(log: str) -> tuple[str, bool]:
    """pytest's last line: "3 failed, 9388 passed, 16 errors in 900.1s"."""
    summaries = _PYTEST.findall(log)
    counts = _COUNT.findall(summaries[-1]) if summaries else []
    kinds = [kind for _, kind in counts]
    good = "passed" in kinds and not any(kind.startswith(("failed", "error")) for kind in kinds)
    return ", ".join(f"{int(count):,} {kind}" for count, kind in counts) or "did not run", good


def _lit(log: str) -> tuple[str, bool]:
    """lit's summary, a line for each result with its count."""
    counts = [(name, int(count)) for name, count in _LIT.findall(log)]
    good = any(name == "Passed" for name, _ in counts) and not any(
        name in ("Failed", "Unresolved") for name, _ in counts
    )
    return ", ".join(f"{count:,} {name.lower()}" for name, count in counts) or "did not run", good


def _demo(log: str) -> tuple[str, bool]:
    """The demo says PASS or FAIL of each step."""
    said = re.findall(r"^(PASS|FAIL)\b", log, re.MULTILINE)
    good = bool(said) and "FAIL" not in said
    return ("passed" if good else "failed" if said else "did not run"), good


if __name__ == "__main__":
    sys.exit(main())
