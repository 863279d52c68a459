"""What is answered, and lists that go on over their pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    import pandas
    import polars

    from .types import Meta, Notice

T = TypeVar("T")


class Answer(Generic[T]):
    """One answer: its `data`, and what is said of them in `meta`."""

    def __init__(self, body: dict[str, Any]) -> None:
        self.data: T = body["data"]
        self.meta: Meta = body["meta"]

    @property
    def release_id(self) -> str:
        """The release that the whole answer came from."""
        return self.meta["release"]["release_id"]

    @property
    def notices(self) -> list[Notice]:
        """What to keep in mind."""
        return self.meta["notices"]


class Listing(Answer[T]):
    """The first page of a list. Iterating over it yields the records of all pages, each asked for when it is reached."""

    def __init__(self, body: dict[str, Any], records: str | None, next_page: Callable[[str], dict[str, Any]]) -> None:
        super().__init__(body)
        self._records, self._next_page = records, next_page

    def __iter__(self) -> Iterator[dict[str, Any]]:
        page: Answer[Any] = self
        while True:
            yield from page.data if self._records is None else page.data[self._records]
            cursor = page.meta["page"]["next_cursor"]
            if cursor is None:
                return
            page = Answer(self._next_page(cursor))

    def to_polars(self) -> polars.DataFrame:
        """All pages as a frame; what is nested is a struct."""
        import polars

        return polars.DataFrame(list(self), infer_schema_length=None)

    def to_pandas(self) -> pandas.DataFrame:
        """All pages as a frame; what is nested has columns with dots."""
        import pandas

        return pandas.json_normalize(list(self))
