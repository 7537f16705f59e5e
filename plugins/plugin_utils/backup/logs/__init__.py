"""Binary logs of MariaDB, beside the sets: what was committed since the last set.

disk.py: streams of sealed pieces. ship.py: follow a member's logs. mirror.py: their copy in the bucket. replay.py: the
logs that follow a set.
"""
