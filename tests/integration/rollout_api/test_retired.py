"""A release that was taken out of the site file is seen, kept, and removed by consent, against a real API server."""

from __future__ import annotations

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.types import GateRefusedError

from .conftest import SECRET, Site
from .test_rollout import states

CONFIG = "/api/v1/namespaces/NS/configmaps/old-etc"
CLAIMS = "/api/v1/namespaces/NS/persistentvolumeclaims"


def there(site: Site) -> bool:
    return site.api.find(CONFIG.replace("NS", site.namespace)) is not None


def test_a_release_that_is_no_longer_in_the_plan_is_named_kept_and_removed_by_consent(site: Site) -> None:
    old, kept = site.release("old", stateful=True), site.release("kept")
    site.rollout(old, kept).apply()
    claims = site.api.get(CLAIMS.replace("NS", site.namespace))["items"]

    predicted = site.rollout(kept).check()
    assert states(predicted) == {"kept": "unchanged", "old": "kept"}
    assert not predicted.changed
    result = site.rollout(kept).apply()
    assert states(result) == {"kept": "unchanged", "old": "kept"}
    assert (result.changed, there(site)) == (False, True)
    assert any("no longer in the site file, kept: old" in line for line in site.lines)

    predicted = site.rollout(kept, remove=("old",)).check()
    assert (predicted.changed, there(site)) == (True, True)
    assert predicted.diffs[-1].counts["ConfigMap"] == {"remove": 1}
    removed = site.rollout(kept, remove=("old",)).apply()
    assert states(removed) == {"kept": "unchanged", "old": "removed"}
    assert (removed.changed, there(site)) == (True, False)
    text = "\n".join(site.lines)
    assert "stays: volume claims data-old-server-0" in text
    assert SECRET not in text
    left = site.api.get(CLAIMS.replace("NS", site.namespace))["items"]
    assert [claim["metadata"]["uid"] for claim in left] == [claim["metadata"]["uid"] for claim in claims] != []

    again = site.rollout(kept, remove=("old",)).apply()
    assert states(again) == {"kept": "unchanged"}
    assert not again.changed


def test_a_release_that_is_in_the_plan_is_not_removed_and_nothing_is_after_a_failure(site: Site) -> None:
    site.rollout(site.release("old"), site.release("kept")).apply()
    with pytest.raises(GateRefusedError, match="kept is in the site file"):
        site.rollout(site.release("kept"), remove=("kept",)).apply()
    result = site.rollout(site.release("kept", fail="no"), remove=("old",)).apply()
    assert (result.failed, there(site)) == (True, True)


def test_also_the_last_release_of_a_site_is_seen_and_removed(site: Site) -> None:
    site.rollout(site.release("old")).apply()
    assert states(site.rollout().check()) == {"old": "kept"}
    assert states(site.rollout(remove=("old",)).apply()) == {"old": "removed"}
    assert not there(site)


def test_what_somebody_else_installed_in_the_namespace_is_not_ours_to_name(site: Site) -> None:
    site.rollout(site.release("old")).apply()
    records = f"/api/v1/namespaces/{site.namespace}/secrets"
    record = f"{records}/sh.helm.release.v1.old.v1"
    site.puppet.patch(record, {"metadata": {"labels": {"groundup.cloud/render": None}}})
    assert states(site.rollout(site.release("kept")).check()) == {"kept": "waiting"}
