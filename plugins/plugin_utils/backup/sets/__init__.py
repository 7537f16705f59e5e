"""Backup sets: etcd, Kubernetes' keys, MariaDB and the controller's state of one site, sealed, of one time.

seal.py, disk.py: a set on disk. etcd.py, mariadb.py, state.py: what is read. take.py: one backup. read_test.py: its
restore test.
"""
