#!/bin/bash
# Probes of one Galera member. readiness: it is part of the primary component and in step with it; a former writer lets
# its clients go there. liveness: the server answers and Galera takes queries; a member that receives a copy of the data
# answers nobody, and is left alone. release MS SECONDS: for leave.py; for so long, or until none is left, clients that
# are idle for MS are let go, and those that are left counted.
# upgrade: for start.py; this member's system tables become those of its server's series, and of no other member.
set -euo pipefail

sql() {
  mariadb --defaults-file=/etc/mysql/admin_user.cnf --protocol=socket --socket=/var/run/mysqld/mysqld.sock \
    --connect-timeout=5 --skip-column-names --batch --delimiter='//' --execute "$1"
}
status() { sql "SHOW STATUS WHERE Variable_name = '$1'" | cut -f2; }

# Galera reads its certificate once. The kubelet puts a renewed one behind this link.
renew() {
  local now seen=/tmp/certificate
  now=$(readlink /run/secrets/galera/..data)
  [ "$now" = "$(cat $seen 2>/dev/null)" ] && return
  sql "SET GLOBAL wsrep_provider_socket_ssl_reload = ON" && echo "$now" > $seen
}

# The Service `mariadb` leads to the writer alone, but connections that a former writer has stay, and read rows that are
# older than what their process has just written by another. Idle ones end here: oslo.db tries each before it uses it,
# and one that it has just tried is left alone. leave.py spares it longer at first: when busy, its query comes late.
clients="FROM information_schema.processlist WHERE host NOT IN ('', 'localhost')"
# The server itself looks and ends them: by the time another program came back to it, one may be in a statement again.
# InnoDB tells of transactions what it told the last time, until nobody has asked for 100 ms: so MS and pause are more.
release() {  # milliseconds seconds
  sql "BEGIN NOT ATOMIC
    DECLARE remaining INT;
    DECLARE last DATETIME(3) DEFAULT SYSDATE(3) + INTERVAL $2 SECOND;
    DECLARE CONTINUE HANDLER FOR 1094 BEGIN END;  -- it has ended meanwhile
    looking: LOOP
      FOR one IN (SELECT id $clients AND command = 'Sleep' AND time_ms >= $1
                  AND id NOT IN (SELECT trx_mysql_thread_id FROM information_schema.innodb_trx)) DO
        KILL one.id;
      END FOR;
      SELECT COUNT(*) INTO remaining $clients;
      IF remaining = 0 OR SYSDATE(3) >= last THEN LEAVE looking; END IF;
      DO SLEEP(0.15);
    END LOOP;
    SELECT remaining;
  END"
}

# The file holds the pod's label; it is there with several members alone. The kubelet is up to a minute late with it.
writes() { [ ! -e /run/pod/writer ] || [ "$(cat /run/pod/writer)" = true ]; }

case ${1:-} in
  readiness)
    # What start.py waits for, or why it refuses: the event of a failed probe is what a failure card shows.
    [ ! -e /tmp/waiting ] || { cat /tmp/waiting; exit 1; }
    [ "$(status wsrep_cluster_status)" = Primary ] || { echo "not in the primary component"; exit 1; }
    [ "$(status wsrep_local_state_comment)" = Synced ] || { echo "not in step with the cluster"; exit 1; }
    [ ! -e /tmp/upgrading ] || { echo "mariadb-upgrade: $(tail -n 1 /tmp/upgrading)"; exit 1; }
    writes || release 500 0 > /dev/null || echo "clients of a former writer stay until the next probe"
    ;;
  liveness)
    # Still looking for its cluster, or being filled: start.py and the server end by themselves when that fails.
    [ ! -e /tmp/waiting ] || exit 0
    [ ! -e /var/lib/mysql/sst_in_progress ] || exit 0
    [ "$(status wsrep_ready)" = ON ] || { echo "Galera takes no queries"; exit 1; }
    renew || echo "Galera keeps its former certificate"
    ;;
  upgrade)
    until [ "$(status wsrep_local_state_comment)" = Synced ]; do sleep 1; done 2>/dev/null
    until mariadb-upgrade --defaults-file=/etc/mysql/admin_user.cnf --protocol=socket --skip-write-binlog \
      --socket=/var/run/mysqld/mysqld.sock 2>&1 | tee /tmp/upgrading; do sleep 10; done
    rm /tmp/upgrading
    ;;
  release)
    release "${2:?milliseconds that a client is idle}" "${3:?seconds to look}"
    ;;
  *)
    echo "usage: $0 readiness|liveness|upgrade|release MS SECONDS" >&2
    exit 2
    ;;
esac
