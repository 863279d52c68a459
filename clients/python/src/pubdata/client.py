"""Asks the server: key, parameters, and another try where the server says when."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import quote

import httpx

from .answers import Answer, Listing
from .operations import Operations
from .problems import Problem

# Statuses that say after how many seconds to ask again, and how often to do so.
_BUSY = (429, 503)
_TRIES = 4


class Client(Operations):
    """A client of one server. Close it, or use it as a context manager."""

    def __init__(self, base_url: str, key: str | None = None, *, timeout: float = 30.0, transport: httpx.BaseTransport | None = None) -> None:
        headers = {"X-API-Key": key} if key else {}
        self._http = httpx.Client(base_url=base_url.rstrip("/"), headers=headers, timeout=timeout, transport=transport)

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def download(self, path: str) -> bytes:
        """The file at a path that an answer names, such as the `parquet` of a part, or its `csv`."""
        return self._send("GET", path, {}, None).content

    def _answer(self, method: str, path: str, values: dict[str, str], query: dict[str, Any], body: Any = None) -> Answer[Any]:
        return Answer(self._ask(method, path, values, query, body))

    def _document(self, path: str, values: dict[str, str], query: dict[str, Any]) -> Any:
        return self._ask("GET", path, values, query, None)

    def _listing(self, path: str, values: dict[str, str], query: dict[str, Any], records: str | None) -> Listing[Any]:
        def next_page(cursor: str) -> dict[str, Any]:
            # The cursor says which release; another word on it is refused.
            filters = {name: value for name, value in query.items() if name not in ("release", "as_of")}
            return self._ask("GET", path, values, filters | {"cursor": cursor}, None)

        return Listing(self._ask("GET", path, values, query, None), records, next_page)

    def _ask(self, method: str, path: str, values: dict[str, str], query: dict[str, Any], body: Any) -> dict[str, Any]:
        path = path.format_map({name: quote(str(value), safe="") for name, value in values.items()})
        parameters = {name: _text(value) for name, value in query.items() if value is not None}
        answer: dict[str, Any] = self._send(method, path, parameters, body).json()
        return answer

    def _send(self, method: str, path: str, parameters: dict[str, str], body: Any) -> httpx.Response:
        for attempt in range(1, _TRIES + 1):
            # Parameters would take the place of those in the path, even none of them.
            answer = self._http.request(method, path, params=parameters or None, json=body)
            if answer.status_code == 200:
                return answer
            problem = _problem(answer)
            if answer.status_code not in _BUSY or attempt == _TRIES:
                raise problem
            time.sleep(problem.retry_after or 1.0)
        raise AssertionError("the last try returns or raises")


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(str(word) for word in value)
    return str(value)


def _problem(answer: httpx.Response) -> Problem:
    seconds = answer.headers.get("Retry-After", "")
    retry_after = float(seconds) if seconds.isdigit() else None
    try:
        return Problem(answer.json(), retry_after)
    except (ValueError, KeyError, TypeError):
        # Something between here and the server has answered.
        said = {"status": answer.status_code, "code": "no_problem_document", "title": answer.reason_phrase, "detail": answer.text[:200]}
        return Problem(said, retry_after)
