"""The record of `sharded.py` as a section of a Markdown document.

`python -m fuse_mlir.bench.sharded_table sharded.json --doc docs/performance/tables.md` rewrites what lies
between `<!-- bench:sharded -->` and `<!-- /bench:sharded -->`, as `report.py` does for suites.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..compiler.cost.devices import hardware_named
from ..compiler.cost.transfers import Transfer
from .report import markdown_table, replace_section

TITLES = {
    "fsdp": "Llama of 8 layers (width 2048, 4096 tokens), parameters sharded over two processes",
    "tensor": "two of these layers, products and sequence split over two processes",
}
LEGEND = (
    "A step is forward and backward, bfloat16, in milliseconds: device time (10% to 90%), what the host "
    "takes to issue it, the times of NCCL's kernels, which also wait for the other process, and what of "
    "them runs while no other kernel does. `backward`: the exposed share of the backward's communication. "
    "`idle`: no kernel runs. `calls`: kernels of NCCL in a step. From communication to calls, the "
    "profiler has slowed the host. `peak`: of allocated memory, in megabytes. `error`: of the gradients, "
    "against float32."
)
_HEADER = (
    "way", "step", "host", "communication", "exposed", "backward", "idle", "calls", "peak", "error",
)  # fmt: skip


def row(entry: Mapping[str, Any]) -> list[str]:
    """One way to run a case."""
    if "ms" not in entry:
        return [f"`{entry['way']}`", entry.get("skipped", "failed"), *[""] * (len(_HEADER) - 2)]
    found = [
        f"`{entry['way']}`",
        f"{entry['ms']:.1f} ({entry['p10']:.1f} to {entry['p90']:.1f})",
        f"{entry['host_ms']:.1f}",
    ]
    if "communication_ms" in entry:
        share = entry["backward_exposed_ms"] / max(entry["backward_communication_ms"], 1e-9)
        found += [f"{entry[key]:.1f}" for key in ("communication_ms", "exposed_ms")]
        found += [f"{100 * share:.0f}%", f"{entry['idle_ms']:.1f}", f"{entry['collectives']:.0f}"]
    else:
        found += [""] * 5
    return [*found, f"{entry['peak_mb']:.0f}", f"{entry['error']:.4f}"]


def link_rows(links: Sequence[Mapping[str, Any]], hardware: str) -> list[list[str]]:
    """Single collectives, measured and by the model."""
    link = hardware_named(hardware).link
    rows = [["collective", "tensors", "megabytes", "measured", "model", "start, host", "wait, host"]]
    for entry in links:
        modelled = Transfer(entry["pattern"], entry["bytes"], entry["ranks"]).seconds(link) * 1e6
        rows.append(
            [
                entry["pattern"],
                f"{entry['tensors']}",
                f"{entry['bytes'] / 2**20:.3g}",
                f"{entry['us']:.0f}",
                f"{modelled:.0f}",
                f"{entry['start_us']:.0f}",
                f"{entry['wait_us']:.0f}",
            ]
        )
    return rows


def section(record: Mapping[str, Any], hardware: str) -> str:
    """The Markdown of a record. Raises ValueError for one that was not taken on GPUs."""
    if record["device"] == "cpu":
        raise ValueError("the record holds times of the CPU, not of GPUs")
    lines = [
        "### Training over two processes",
        "",
        f"{record['processes']} {record['device']} of one host; torch {record['torch']}; commit "
        f"{record['commit']}{'; ' + record['date'] if 'date' in record else ''}.",
        "`python -m fuse_mlir.bench.sharded`",
        "",
        LEGEND,
        "",
    ]
    for case, title in TITLES.items():
        entries = [entry for entry in record["cases"] if entry["case"] == case]
        rows = [list(_HEADER), *map(row, entries)]
        lines += [f"{title[0].upper()}{title[1:]}:", "", markdown_table(rows), ""]
    lines += [
        "Single collectives, in microseconds:",
        "",
        markdown_table(link_rows(record["links"], hardware)),
    ]
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line; the exit status."""
    parser = argparse.ArgumentParser("fuse_mlir.bench.sharded_table", description="The table of sharded.py.")
    parser.add_argument("record", type=Path)
    parser.add_argument("--doc", type=Path, help="Markdown file to rewrite")
    parser.add_argument("--hardware", default="h200", help="whose model of links stands beside the times")
    arguments = parser.parse_args(argv)
    try:
        text = section(json.loads(arguments.record.read_text()), arguments.hardware)
        if arguments.doc is None:
            print(text)
            return 0
        arguments.doc.write_text(replace_section(arguments.doc.read_text(), "sharded", text))
    except (OSError, ValueError) as error:
        parser.error(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
