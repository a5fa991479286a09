"""Where the repository and its lit tests lie."""

from pathlib import Path

ROOT = Path(__file__).parents[3]
LIT = ROOT / "test" / "lit"
