#!/bin/sh
# Probes of a pod whose service runs in one copy at a time (elected.py). Usage: elected-probe.sh alive | ready CHECK...
# Alive: it gave a sign of life not long ago. Ready: the service's own check, and without one where it waits.
set -eu
LIMIT=20 # seconds; a sign comes every two
what=$1
shift
case $what in
  alive)
    sign=$(stat -c %Y /tmp/elected-alive) || exit 1
    age=$(($(date +%s) - sign))
    [ "$age" -le "$LIMIT" ] || { echo "no sign of life for $age s"; exit 1; }
    ;;
  ready)
    [ -e /tmp/elected-alive ] || { echo "not there yet"; exit 1; }
    [ ! -e /tmp/elected-running ] || [ $# -eq 0 ] || exec "$@"
    ;;
  *) exit 2 ;;
esac
