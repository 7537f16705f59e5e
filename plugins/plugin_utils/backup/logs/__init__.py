"""Binary logs of MariaDB, beside the sets: what was committed since the last set.

disk.py: streams of sealed pieces. ship.py: follow a member's logs. replay.py: the logs that follow a set. job.py: what
the playbooks do with them.
"""
