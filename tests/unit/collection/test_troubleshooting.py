"""What the page of troubleshooting quotes is what the code says."""

from __future__ import annotations

import re

from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION


def test_every_symptom_is_said_somewhere() -> None:
    code = "".join(path.read_text() for path in (COLLECTION / "plugins").rglob("*.py"))
    code = re.sub(r'"\s*\n\s*f?"', "", code)  # a text on several lines
    page = (COLLECTION / "docs/troubleshooting.md").read_text()
    symptoms = [
        text for row in re.findall(r"^\| ([^|]+) \|", page, re.MULTILINE) for text in re.findall(r"`([^`]+)`", row)
    ]
    assert len(symptoms) > 20
    assert [text for text in symptoms if text not in code] == []
