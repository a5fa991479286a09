"""The state of the card as nvidia-smi reports it: clocks, heat, power, reasons for slowing down. Nothing is
set.
"""

import shutil
import subprocess
from dataclasses import dataclass

import torch

_FIELDS = ("clocks.sm", "clocks.max.sm", "clocks.mem", "temperature.gpu", "power.draw")
#: The newer and the older name of the same bit mask.
_REASONS = ("clocks_event_reasons.active", "clocks_throttle_reasons.active")
#: Bits of the mask that make a measurement worthless.
THROTTLING = {
    0x04: "power cap",
    0x08: "hardware slowdown",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "power brake",
}


@dataclass(frozen=True)
class Clocks:
    """One reading. sm, sm_max, memory: MHz; temperature: degrees Celsius; power: W; None if not reported."""

    sm: float | None
    sm_max: float | None
    memory: float | None
    temperature: float | None
    power: float | None
    throttled: tuple[str, ...] = ()


def read_clocks(device: torch.device) -> Clocks | None:
    """The present reading of a GPU; None for a CPU, or where nvidia-smi is missing or does not answer."""
    if device.type != "cuda" or shutil.which("nvidia-smi") is None:
        return None
    card = card_id(device)
    for reasons in _REASONS:
        query = ",".join((*_FIELDS, reasons))
        command = [
            "nvidia-smi",
            f"--id={card}",
            f"--query-gpu={query}",
            "--format=csv,noheader,nounits",
        ]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return None
        if done.returncode == 0:
            return parse_clocks(done.stdout)
    return None


def card_id(device: torch.device) -> str:
    """How nvidia-smi knows the GPU: by its UUID, as its index there may differ from the index here."""
    uuid = getattr(torch.cuda.get_device_properties(device), "uuid", None)
    return f"GPU-{uuid}" if uuid is not None else str(device.index or 0)


def parse_clocks(line: str) -> Clocks | None:
    """A reading from the line "sm, max sm, memory, temperature, power, mask"; None for other columns."""
    columns = [column.strip() for column in line.strip().split(",")]
    if len(columns) != len(_FIELDS) + 1:
        return None
    *numbers, mask = columns
    sm, sm_max, memory, temperature, power = map(_number, numbers)
    return Clocks(sm, sm_max, memory, temperature, power, _reasons(mask))


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _reasons(mask: str) -> tuple[str, ...]:
    try:
        bits = int(mask, 16)
    except ValueError:
        return ()
    return tuple(reason for bit, reason in THROTTLING.items() if bits & bit)
