"""Restore parts of a backup set.

decide.py: what stands against it, and what replaces what. journal.py: which restore is under way. state.py, etcd.py,
mariadb.py: one part each. compare.py: the cloud against reality afterwards. job.py: the steps of module backup_set.
"""
