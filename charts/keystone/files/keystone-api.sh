#!/bin/bash
# Runs Keystone under Apache. start: waits for the keys the setup jobs write, then becomes Apache. stop: ends gracefully.
set -euo pipefail

[ -r /etc/apache2/envvars ] && { set +u; . /etc/apache2/envvars; set -u; }

start() {
  # The kubelet brings the keys into a running pod within a minute; without them every login would fail.
  local deadline=$((SECONDS + 180)) repository
  for repository in /etc/keystone/fernet-keys /etc/keystone/credential-keys; do
    until [ -s "$repository/0" ]; do
      if [ $SECONDS -gt $deadline ]; then
        echo "no keys in $repository: did the job that writes them finish?" >&2
        exit 1
      fi
      sleep 0.5
    done
  done
  rm -f /var/run/apache2/apache2.pid
  exec apache2 -DFOREGROUND
}

case ${1:-start} in
  start) start ;;
  stop) apache2 -k graceful-stop ;;
  *) echo "usage: $0 start|stop" >&2; exit 2 ;;
esac
