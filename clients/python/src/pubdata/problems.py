"""What fails: RFC 9457 problem details as an exception."""

from __future__ import annotations

from typing import Any

from .operations import ADVICE


class Problem(Exception):
    """A request that failed. Rely on `code`; the texts may change."""

    def __init__(self, body: dict[str, Any], retry_after: float | None = None) -> None:
        self.status: int = body["status"]
        self.code: str = body["code"]
        self.title: str = body["title"]
        self.detail: str = body["detail"]
        self.errors: list[dict[str, str]] = body.get("errors", [])
        self.candidates: list[str] = body.get("candidates", [])
        self.request_id: str | None = body.get("request_id")
        self.retry_after = retry_after
        super().__init__(f"{self.code}: {self.detail} (request {self.request_id})")

    @property
    def advice(self) -> str | None:
        """What to do about it."""
        return ADVICE.get(self.code)
