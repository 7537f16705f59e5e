#!/bin/bash
# Links the image's static files into the pod's own directory, compiles and compresses style sheets and scripts there, then
# becomes its arguments.
set -euo pipefail

django-admin collectstatic --noinput --link --verbosity 0
django-admin compress --force --verbosity 0
exec "$@"
