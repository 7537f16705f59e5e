"""A cloud that openstacksdk talks to, by names this machine does not know."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.connection import pinned
from ansible_collections.groundup.cloud.tests.unit import tls
from keystoneauth1.identity.v3 import Password
from keystoneauth1.session import Session
from openstack.connection import Connection

from .fake import FakeCloud, server


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[FakeCloud]:
    """Serve a cloud; its CA is ``ca.crt`` in ``tmp_path``."""
    cloud = FakeCloud()
    pair = tls.pair(names=cloud.names())
    (tmp_path / "ca.crt").write_text(pair.certificate)
    with tls.serving(server(cloud, pair, tmp_path)):
        yield cloud


@pytest.fixture
def admin(fake: FakeCloud, tmp_path: Path) -> Any:
    """Connect to it as its administrator."""
    auth = Password(auth_url=fake.url("identity"), username="admin", password="admins-own", project_name="admin",
                    user_domain_name="default", project_domain_name="default")  # fmt: skip
    session = Session(auth=auth, session=pinned(fake.names()), verify=str(tmp_path / "ca.crt"), timeout=10)
    return Connection(session=session, region_name="RegionOne")
