"""Resources of the site file's `cloud:` in a living cloud: one engine, a table of kinds, and the way back (export)."""
