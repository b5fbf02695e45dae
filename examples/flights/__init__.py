"""Real data into a small warehouse: hourly weather by airport and month, and three files."""

from .source import WEATHER, months_of, open_text, rows_of
from .tasks import COLUMNS, FILES, QUEUE, import_file, make_app, sync_weather
from .warehouse import Warehouse

__all__ = [
    "COLUMNS",
    "FILES",
    "QUEUE",
    "WEATHER",
    "Warehouse",
    "import_file",
    "make_app",
    "months_of",
    "open_text",
    "rows_of",
    "sync_weather",
]
