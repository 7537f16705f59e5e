"""A member of RabbitMQ that was frozen: the record of the partition goes, as the odd member starts anew by itself."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Image
from .test_services import CHARTS, _owned, _run

# Three members on one host, each with ports of its own; a supervisor stands for the kubelet.
_MEMBERS = r"""
set -u
export RABBITMQ_USE_LONGNAME=false REJOIN_PAUSE=1 RABBITMQ_ADMIN_USERNAME=admin
member() {  # number
  local here=/var/lib/rabbitmq/$1
  mkdir -p $here/log $here/mnesia; chmod 0700 $here
  {
    printf 'listeners.tcp.1 = 127.0.0.1:%s\nmanagement.tcp.port = %s\n' $((5672 + $1)) $((15672 + $1))
    printf 'cluster_partition_handling = pause_minority\nload_definitions = /mnt/definitions.json\n'
    printf 'cluster_formation.peer_discovery_backend = classic_config\n'
    for each in 1 2 3; do printf 'cluster_formation.classic_config.nodes.%s = rabbit%s@localhost\n' $each $each; done
  } > $here/rabbitmq.conf
  export RABBITMQ_NODENAME=rabbit$1@localhost RABBITMQ_DIST_PORT=$((25672 + $1))
  export RABBITMQ_CONFIG_FILE=$here/rabbitmq.conf
  export RABBITMQ_MNESIA_BASE=$here/mnesia RABBITMQ_LOG_BASE=$here/log RABBITMQ_LOGS=- RABBITMQ_ADMIN_PASSWORD=word
  export RABBITMQ_ADVANCED_CONFIG_FILE=/mnt/advanced.config RABBITMQ_ENABLED_PLUGINS_FILE=/mnt/enabled_plugins
  export RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS='+sbwt none +sbwtdcpu none +sbwtdio none'
  while :; do
    sh -c 'sed "s#/etc/rabbitmq/rabbitmq.conf#$RABBITMQ_CONFIG_FILE#" /mnt/rejoin.py > $0/rejoin.py
      python3 $0/rejoin.py & exec rabbitmq-server' $here >> $here/out 2>&1
  done
}
ctl() { local node=rabbit$1@localhost; shift; rabbitmqctl --quiet --node $node "$@" 2>/dev/null; }
wait_for() {
  for _ in $(seq 90); do "$@" && return; sleep 1; done
  echo "waited for: $*"; tail -n 25 /var/lib/rabbitmq/?/out; exit 1
}
listening() { (exec 3<>/dev/tcp/127.0.0.1/$1) 2>/dev/null; }
running() { [ "$(ctl 1 eval 'length(rabbit_nodes:list_running()).')" = 3 ]; }
recorded() { for each in 1 2 3; do ctl $each eval 'length(rabbit_node_monitor:partitions()).'; done | grep -qv '^0$'; }
clean() { running && ! recorded; }
member 1 & wait_for listening 25673  # the first is the oldest: it looks for the others then
member 2 & member 3 &
wait_for running
frozen=$(ctl 2 eval 'os:getpid().' | tr -d '"')
kill -STOP $frozen; sleep 25; kill -CONT $frozen
for _ in $(seq 60); do recorded && echo "a partition is on record" && break; sleep 0.2; done
wait_for clean
grep -h 'this member starts anew' /var/lib/rabbitmq/?/out
echo "whole again"
"""


@pytest.mark.long
def test_a_member_that_was_frozen_starts_anew_until_no_partition_is_on_record(
    image: Callable[[str], Image], tmp_path: Path
) -> None:
    tmp_path.chmod(0o755)
    data = _owned(tmp_path / "data", 999)
    cookie = data / ".erlang.cookie"
    cookie.write_text("cookie-of-a-test", encoding="utf-8")
    cookie.chmod(0o400)
    os.chown(cookie, 999, 999)
    mounts = _owned(tmp_path / "mnt", 999)
    (mounts / "rejoin.py").write_text((CHARTS / "rabbitmq/files/rejoin.py").read_text())
    (mounts / "enabled_plugins").write_text("[rabbitmq_management].")
    (mounts / "advanced.config").write_text("[{kernel, [{net_ticktime, 8}]}].\n")
    admin = {"name": "admin", "password": "word", "tags": ["administrator"]}
    (mounts / "definitions.json").write_text(json.dumps({"users": [admin], "vhosts": [{"name": "/"}]}))
    said = _run(
        image("rabbitmq"), _MEMBERS, uid=999, mounts={"/var/lib/rabbitmq": data, "/mnt": mounts},
        env={"HOME": "/var/lib/rabbitmq"},
    )  # fmt: skip
    assert "a partition is on record" in said, said
    assert "this member starts anew" in said, said
    assert said.splitlines()[-1] == "whole again", said
