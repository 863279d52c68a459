"""A thin typed client of the API: one method for each operation, lists that follow their cursors, problems as exceptions."""

from .answers import Answer, Listing
from .client import Client
from .problems import Problem

__all__ = ["Answer", "Client", "Listing", "Problem"]
