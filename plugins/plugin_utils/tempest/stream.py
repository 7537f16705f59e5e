"""Read a subunit stream and print each test that ended as a line of JSON. Runs in Tempest's own environment.

    tempest run --subunit | python stream.py COPY

COPY gets the stream as it is.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any, BinaryIO

_REASON = "reason"  # the attachment that says why a test was skipped
_MOST = 6000  # characters of a failure that are kept: its end


class Copied:
    """A stream that is written to a file while it is read."""

    def __init__(self, source: BinaryIO, copy: BinaryIO) -> None:
        self._source, self._copy = source, copy

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        found = self._source.read(size)
        self._copy.write(found)
        return found

    def fileno(self) -> int:
        """Return the source's descriptor."""
        return self._source.fileno()


def line(test: dict[str, Any]) -> dict[str, Any]:
    """Return a test as plain data."""
    details = {name: content.as_text().strip() for name, content in test["details"].items() if _is_text(content)}
    begin, end = test["timestamps"]
    faults = [text for name, text in details.items() if re.match("traceback", name)]
    why = details.get(_REASON, "") if test["status"] == "skip" else "\n".join(faults or details.values())
    return {
        "test": test["id"],
        "status": test["status"],  # success, fail, skip, xfail, uxsuccess, inprogress
        "seconds": round((end - begin).total_seconds(), 2) if begin and end else 0.0,
        "why": why[-_MOST:],
    }


def _is_text(content: Any) -> bool:
    return bool(content.content_type.type == "text")


def main() -> None:
    """Read standard input until its end."""
    import subunit  # type: ignore[import-not-found]  # Tempest's environment has both, this project's has not
    import testtools  # type: ignore[import-not-found]

    with open(sys.argv[1], "wb") as copy:  # noqa: PTH123  # nothing of ours can be imported here
        source = Copied(sys.stdin.buffer, copy)

        def ended(test: dict[str, Any]) -> None:
            if test["status"] != "exists":
                print(json.dumps(line(test)), flush=True)

        result = testtools.StreamToDict(ended)
        result.startTestRun()
        try:
            subunit.ByteStreamToStreamResult(source, non_subunit_name="stdout").run(result)
        finally:
            result.stopTestRun()


if __name__ == "__main__":
    main()
