#!/bin/bash
# Brings the schema to this image's version, then makes the administrator, the region and the catalog's first endpoints.
# Both are safe to repeat. The OS_BOOTSTRAP_* variables say what to make.
set -euo pipefail

echo "migrating the schema"
keystone-manage db_sync
echo "bootstrapping the catalog: ${OS_BOOTSTRAP_PUBLIC_URL}"
exec keystone-manage bootstrap
