"""What the tests of the documentation read: its pages, their blocks, and a way to run one."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

import warm

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```\s*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    page: Path
    number: int
    info: str
    text: str

    @property
    def name(self):
        return f"{self.page.relative_to(ROOT)}:{self.number}"


def blocks(page):
    found = enumerate(_FENCE.finditer(page.read_text(encoding="utf-8")), 1)
    return [Block(page, number, one["info"].strip(), one["text"]) for number, one in found]


def expected_output(page, block):
    """The text of a ``text output`` block that is the next one of the page, or None."""
    following = [one for one in blocks(page) if one.number == block.number + 1]
    return following[0].text if following and following[0].info in {"text output", "text"} else None


def run(text, folder):
    """Run a block in an empty folder as a program of its own; nothing of our environment's settings reaches it."""
    script = folder / "example.py"
    script.write_text(text, encoding="utf-8")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("JOBTRAIL_")}
    environment |= {"PYTHONPATH": str(ROOT / "src"), "PYTHONIOENCODING": "utf-8"}
    return warm.run("example.py", cwd=folder, env=environment)
