"""OpenStack's keys open what the databases of the same set have, or the set is damaged."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets import service_keys
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.service_keys import CREDENTIALS, KEK, TOKENS
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store
from cryptography.fernet import Fernet

OLD, NEW = (Fernet.generate_key().decode() for _ in range(2))


class Secrets:
    def get(self, path: str) -> dict[str, Any]:
        assert "/namespaces/openstack/secrets/keystone-" in path
        return {"data": {"0": base64.b64encode(NEW.encode()).decode(), "1": base64.b64encode(OLD.encode()).decode()}}


def test_keys_are_read_and_open_what_is_sealed_by_any_of_them(plan: Plan) -> None:
    store, api = open_store(plan.site), Secrets()
    with_kek = replace(plan.openstack.releases[0], name="barbican")
    store.ensure(["barbican/kek"])
    site = replace(plan, openstack=replace(plan.openstack, releases=(with_kek,)))
    keys = service_keys.read(api, site, store)  # type: ignore[arg-type]
    about, text = service_keys.about(keys), json.dumps(keys).encode()
    assert about == {"counts": {TOKENS: 2, CREDENTIALS: 2, KEK: 1}}
    sealed = [(CREDENTIALS, Fernet(OLD).encrypt(b"x").decode()), (KEK, Fernet(keys[KEK]["0"]).encrypt(b"x").decode())]
    faults, told = service_keys.judge(about, text, sealed)
    assert (faults, told.rpartition("; ")[2]) == ([], "2 tried on the databases")
    assert "not restored" in service_keys.judge(about, text, None)[1]
    other = [(CREDENTIALS, Fernet(Fernet.generate_key()).encrypt(b"x").decode())]
    assert service_keys.judge(about, text, other)[0] == [
        "keystone-credential-keys does not open what the database of this set has"
    ]
    assert KEK not in service_keys.read(api, plan, store)  # type: ignore[arg-type]
    for wrong in (b"", b"[]", b'{"keystone-fernet-keys": {"0": "short"}}', b'{"keystone-fernet-keys": {}}'):
        assert service_keys.judge(about, wrong, [])[0]
