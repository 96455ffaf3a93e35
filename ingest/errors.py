"""What ingest refuses, as one tree. A broken line is a value instead (`ingest.events.Rejected`).

IngestError
├── UnusableArguments     a path, format, zone or time that cannot be what the user meant
├── UnreadableDump        a file that gives nothing: not a dump, no permission, or its reader fails
├── WarehouseBusy         another ingest holds the warehouse
└── WarehouseUnusable     the warehouse cannot be written, or is of another release
"""

from __future__ import annotations


class IngestError(Exception):
    """Says what is wrong, where, and what to do next, in one sentence or two."""


class UnusableArguments(IngestError):
    """A path, format, zone or time that cannot be what the user meant."""


class UnreadableDump(IngestError):
    """A file that gives nothing."""


class WarehouseBusy(IngestError):
    """Another ingest holds the warehouse."""


class WarehouseUnusable(IngestError):
    """The warehouse cannot be written, or was made by another release."""
