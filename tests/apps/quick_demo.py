"""The command `jobtrail` with a demonstration whose weather comes every second, for a test that waits for several units."""

from __future__ import annotations

import sys

from jobtrail.cli import main
from jobtrail.cli.operate.demo import part

if __name__ == "__main__":
    live = part("demo.live")
    live.EVERY, live.RADAR_AGAIN = 1.0, 2
    sys.exit(main())
