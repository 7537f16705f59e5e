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
from .hypervisors import Hypervisors


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[FakeCloud]:
    """Serve a cloud; its CA is ``ca.crt`` in ``tmp_path``."""
    yield from served(FakeCloud(), tmp_path)


@pytest.fixture
def nova(tmp_path: Path) -> Iterator[Hypervisors]:
    """Serve a cloud with two hypervisors."""
    for cloud in served(Hypervisors(), tmp_path):
        assert isinstance(cloud, Hypervisors)
        yield cloud


def served(cloud: FakeCloud, tmp_path: Path) -> Iterator[FakeCloud]:
    pair = tls.pair(names=cloud.names())
    (tmp_path / "ca.crt").write_text(pair.certificate)
    with tls.serving(server(cloud, pair, tmp_path)):
        yield cloud


@pytest.fixture
def admin(fake: FakeCloud, tmp_path: Path) -> Any:
    """Connect to it as its administrator."""
    return connected(fake, tmp_path)


@pytest.fixture
def operator(nova: Hypervisors, tmp_path: Path) -> Any:
    """Connect to the one with two hypervisors."""
    return connected(nova, tmp_path)


def connected(fake: FakeCloud, tmp_path: Path) -> Any:
    auth = Password(auth_url=fake.url("identity"), username="admin", password="admins-own", project_name="admin",
                    user_domain_name="default", project_domain_name="default")  # fmt: skip
    session = Session(auth=auth, session=pinned(fake.names()), verify=str(tmp_path / "ca.crt"), timeout=10)
    return Connection(session=session, region_name="RegionOne")
