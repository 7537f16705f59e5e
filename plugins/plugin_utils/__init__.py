"""What runs on the control node. The first import checks that the node has the packages that the collection needs."""

from .requirements import check

check()
