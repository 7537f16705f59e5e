"""A site file that is refused."""

from __future__ import annotations

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import SiteError, make_plan, parse_site

LAB = """\
plugin: groundup.cloud.site
site: lab
domain: lab.test
profile: lab
machines:
  seed: {count: 1}
  control: {count: 1}
"""


def refused(text: str | bytes) -> SiteError:
    """Return the error that ``text`` is refused with."""
    with pytest.raises(SiteError) as caught:
        make_plan(parse_site(text if isinstance(text, bytes) else text.encode(), file="site.yml"))
    error = caught.value
    assert error.file == "site.yml"
    assert all(problem.reason and problem.remedy for problem in error.problems)
    assert "Traceback" not in str(error)
    return error
