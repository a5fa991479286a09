"""Records of benchmark runs as sections of a Markdown document.

`python -m fuse_mlir.bench.report --doc docs/performance/tables.md kernels.json models.json` rewrites what
lies between `<!-- bench:kernels -->` and `<!-- /bench:kernels -->`, one section for each suite, and leaves
the rest alone; a section that the document does not have yet is added at its end. Without `--doc` the
sections are printed.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .compile_table import compile_rows, compile_summary
from .schedule_tables import schedule_rows, schedule_summary
from .session import SCHEMA
from .tables import (
    accuracy_cell,
    accuracy_rows,
    host_rows,
    kernel_rows,
    launch_rows,
    loser_lines,
    model_rows,
    summary,
    user_kernel_names,
    user_kernel_rows,
    wild_rows,
)

Run = Mapping[str, Any]

TITLES = {
    "kernels": "Memory-bound graphs",
    "further": "Further memory-bound graphs",
    "contractions": "Products with what is around them",
    "experts": "Layers of experts",
    "attention": "Attention spelled out",
    "structured": "Products with a structure, scans, and small convolutions",
    "wild": "Workloads from outside",
    "wild2": "More workloads from outside",
    "user-kernels": "Models with Triton kernels of their own",
    "templates": "Custom ops with templates",
    "models": "Models",
    "accuracy": "Accuracy",
    "launches": "Kernels per transformer block",
    "host": "What a call costs the host",
    "compile": "Compile time",
    "schedule": "Launches, bytes moved and peak memory",
}
LEGENDS = {
    "kernels": "Median device time in microseconds with a cold L2 cache; in brackets the speed as a fraction "
    "of a copy of the same number of bytes, measured in the same run. `vs x`: how many times as fast as x "
    "the last compiler is; `=` where the intervals p10 to p90 overlap; `!` after the time of a wrong answer.",
    "further": "As above, of graphs and shapes that no rule was written for.",
    "contractions": "As above, of products: few rows times weights of 16, 8 and 4 bits, more rows, short "
    "sums, squares, and the projections of Llama 3 for prompts of 1024, 4096 and 16384 tokens. Names end "
    "with rows, columns and summed elements.",
    "wild": "Device time in microseconds, wall time of one call among calls back to back in brackets. A loss "
    "is timed with its gradients. `=` and `!` mean what they mean for the graphs.",
    "experts": "As above, of layers of experts, and of their three products alone (`products`). Names end "
    "with the experts, how many of them a token takes, and tokens.",
    "attention": "As above, of attention, which products and all that is between them make; `peak vs x`: the "
    "most memory that a call allocates beyond its arguments, over what x allocates.",
    "structured": "As above, of state spaces in chunks, recurrences, batches of small matrices, triangular "
    "and symmetric products, and convolutions that are bound by bytes.",
    "wild2": "As above, of fields and tasks that no rule was written for. `peak vs x`: the most memory that "
    "a call allocates beyond its arguments, over what x allocates.",
    "user-kernels": "Device time in microseconds; in brackets, `=` and `!` as for the graphs. `fuse-apart` "
    "fuses nothing with users' kernels, `by-hand` is the kernel with the model's ops written into it, "
    "launched by Triton. Launches are those of one call, in the order of the columns.",
    "templates": "As above. `inductor` calls the op as it is, `fuse-apart` fuses nothing with the template's "
    "kernel, `-direct` is the model with a plain call of the Helion kernel.",
    "models": "Device time of a step in milliseconds, wall time in brackets. A training step is forward, "
    "loss and backward. `=` and `!` mean what they mean for the graphs.",
    "accuracy": "Each model against float64: `ok` is at most twice the error of eager PyTorch.",
    "launches": "Kernels generated (+ calls of library ops, where known) -> kernels that one call ran.",
    "host": "Microseconds that the host takes to issue one call, the median over bursts of calls, after each "
    "of which the device is waited for; beside the driver's launch of an empty kernel through ctypes.",
    "compile": "Seconds of `torch.compile` and the first step together, cold (empty cache folders) / warm "
    "(the folders that the cold run left), each in a fresh process that has imported torch and the model's "
    "library; medians. `above`: what exceeds `aot_eager`'s figure.",
    "schedule": "Generated kernels + calls of library ops; megabytes that they move, counted from the "
    "schedules by one rule (`bench/schedules.py`), and as each compiler counts itself; peak of allocated "
    "memory in a steady step. `vs`: the last compiler over each of the others.",
}
#: Suites whose figures are summed up.
SUMMARISED = (
    "kernels",
    "further",
    "contractions",
    "experts",
    "attention",
    "structured",
    "wild",
    "wild2",
    "models",
)
#: Suites whose figures are times.
TIMED = (*SUMMARISED, "user-kernels", "templates", "host", "compile")
ROWS: dict[str, Callable[[Sequence[Any], Sequence[str]], list[list[str]]]] = {
    "kernels": kernel_rows,
    "further": kernel_rows,
    "contractions": kernel_rows,
    "experts": wild_rows,
    "attention": wild_rows,
    "structured": wild_rows,
    "wild": wild_rows,
    "wild2": wild_rows,
    "user-kernels": lambda records, backends: user_kernel_rows(records),
    "templates": lambda records, backends: user_kernel_rows(records),
    "models": model_rows,
    "accuracy": lambda records, backends: accuracy_rows(records),
    "launches": launch_rows,
    "host": host_rows,
    "compile": compile_rows,
    "schedule": schedule_rows,
}


def load_run(path: Path) -> Run:
    """A run to publish. Raises ValueError for another schema, a dry run, or times that are not a GPU's."""
    run = json.loads(path.read_text())
    if run.get("schema") != SCHEMA or run.get("suite") not in TITLES:
        raise ValueError(f"{path} is no benchmark run of schema {SCHEMA}")
    if run["small"]:
        raise ValueError(f"{path} is a dry run (--small) and says nothing about speed")
    if run["device"]["type"] != "cuda" and run["suite"] in TIMED:
        raise ValueError(f"{path} holds times of the {run['device']['type']}, not of a GPU")
    return run


def section(run: Run) -> str:
    """The Markdown of one run: where and how, the table, the summary."""
    suite, backends, records = run["suite"], run["backends"], run["results"]
    versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    commit = (run["commit"] or "unknown")[:12] + (" with local changes" if run["modified"] else "")
    lines = [
        f"### {TITLES[suite]}",
        "",
        f"{run['device']['name']}; {versions}; commit {commit}; {run['date'][:10]}.",
        f"`{_command(run)}`",
        "",
        LEGENDS[suite],
        "",
    ]
    if records:
        lines += [markdown_table(ROWS[suite](records, backends)), ""]
    if suite in SUMMARISED:
        lines += [f"- {line}" for line in summary(records, backends)]
    if suite == "wild2":
        lines += [f"- {line}" for line in loser_lines(records, backends)]
    if suite in ("user-kernels", "templates"):
        lines += [f"- {line}" for line in summary(records, user_kernel_names(records))]
    if suite == "compile":
        lines += [f"- {line}" for line in compile_summary(records)]
    if suite == "schedule":
        lines += [f"- {line}" for line in schedule_summary(records, backends)]
    if suite == "accuracy":
        right = sum(accuracy_cell(record) == "ok" for record in records)
        lines.append(f"- {right} of {len(records)} comparisons passed.")
    if run["failed"]:
        lines.append(f"- {len(run['failed'])} with a failure: {', '.join(run['failed'])}.")
    if run["skipped"]:
        lines.append(f"- {len(run['skipped'])} not run for lack of time.")
    return "\n".join(lines).rstrip()


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """Header and rows as a Markdown table."""
    header, *body = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    rule = ["---", *("---:" for _ in header[1:])]
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, rule, *body))


def replace_section(document: str, suite: str, text: str) -> str:
    """`document` with `text` between the suite's marks; they are added at the end if it has none.

    Raises ValueError for marks that do not pair up.
    """
    start, end = f"<!-- bench:{suite} -->", f"<!-- /bench:{suite} -->"
    marks = document.count(start), document.count(end)
    whole = f"{start}\n{text}\n{end}"
    if marks == (0, 0):
        return f"{document.rstrip()}\n\n{whole}\n".lstrip()
    if marks != (1, 1) or document.index(start) > document.index(end):
        raise ValueError(f"the document must hold '{start}' once, and '{end}' once after it")
    return re.sub(f"{re.escape(start)}.*{re.escape(end)}", lambda _: whole, document, flags=re.DOTALL)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or print the sections; returns the exit status, 2 for a run or document that cannot be used."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {__package__}.report", description=__doc__.splitlines()[0]
    )
    parser.add_argument("runs", nargs="+", type=Path, help="JSON files of the benchmark, one for each suite")
    parser.add_argument("--doc", type=Path, help="Markdown file to rewrite; made if missing")
    args = parser.parse_args(arguments)
    try:
        sections = [(run["suite"], section(run)) for run in map(load_run, args.runs)]
        if args.doc is None:
            print("\n\n".join(text for _, text in sections))
            return 0
        document = args.doc.read_text() if args.doc.exists() else "# Performance\n"
        for suite, text in sections:
            document = replace_section(document, suite, text)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    args.doc.write_text(document)
    return 0


def _command(run: Run) -> str:
    """The command without where its file went."""
    words = list(run["command"])
    if "--out" in words:
        at = words.index("--out")
        del words[at : at + 2]
    return " ".join(words)


if __name__ == "__main__":
    sys.exit(main())
