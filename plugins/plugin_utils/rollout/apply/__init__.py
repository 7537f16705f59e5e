"""Deploy one release: heal, upgrade, watch, wait until it is ready."""
