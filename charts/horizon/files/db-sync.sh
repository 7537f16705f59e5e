#!/bin/bash
# Makes the tables of the sessions, or brings them up to date, and forgets sessions that have ended.
set -euo pipefail

django-admin migrate --noinput
django-admin clearsessions
