"""The console's files: kept by browsers for ever, compressed once and not for each browser."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.datastructures import Headers
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles

if TYPE_CHECKING:
    from starlette.types import Scope

SMALLEST = 500  # bytes; what is smaller gains nothing
PACKED = {".js", ".css", ".svg", ".json", ".html", ".txt"}


class Assets(StaticFiles):
    """Files whose names change with what is in them, so that neither a browser nor this need look twice."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory=directory)
        self._packed: dict[str, bytes] = {}

    def file_response(self, full_path: Any, stat_result: Any, scope: Scope, status_code: int = 200) -> Response:
        """The file, compressed where that is asked for and worth it."""
        response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        if Path(full_path).suffix not in PACKED or stat_result.st_size < SMALLEST:
            return response
        response.headers.add_vary_header("Accept-Encoding")
        asked = Headers(scope=scope).get("accept-encoding", "")
        if not isinstance(response, FileResponse) or scope["method"] != "GET" or "gzip" not in asked:
            return response
        said = {name: value for name, value in response.headers.items() if name not in {"content-length", "accept-ranges"}}
        return Response(self._pack(str(full_path)), headers={**said, "Content-Encoding": "gzip"})

    def _pack(self, path: str) -> bytes:
        if path not in self._packed:
            self._packed[path] = gzip.compress(Path(path).read_bytes(), mtime=0)
        return self._packed[path]
