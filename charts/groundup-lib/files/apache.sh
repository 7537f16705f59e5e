#!/bin/bash
# Runs an API under Apache. start FILE...: waits for the files, then becomes Apache. stop: ends gracefully.
set -euo pipefail

[ -r /etc/apache2/envvars ] && { set +u; . /etc/apache2/envvars; set -u; }

start() {
  # The kubelet brings what jobs write into a running pod within a minute.
  local deadline=$((SECONDS + 180)) file
  for file in "$@"; do
    until [ -s "$file" ]; do
      if [ $SECONDS -gt $deadline ]; then
        echo "no $file: did the job that writes it finish?" >&2
        exit 1
      fi
      sleep 0.5
    done
  done
  rm -f /var/run/apache2/apache2.pid
  exec apache2 -DFOREGROUND
}

# What Apache is answering is answered to its end: the kubelet's signal comes when this returns, and ends Apache at once.
stop() {
  local server
  server=$(<"${APACHE_PID_FILE:-/var/run/apache2/apache2.pid}")
  sleep 5 # until every node sends new requests elsewhere
  apache2 -k graceful-stop
  while kill -0 "$server" 2>/dev/null; do sleep 0.5; done
}

case ${1:-} in
  start) shift; start "$@" ;;
  stop) stop ;;
  *) echo "usage: $0 start [FILE...] | stop" >&2; exit 2 ;;
esac
