"""The exceptions of the parts of ``kubeadm_node``."""

from __future__ import annotations


class NodeError(Exception):
    """A node that cannot be converged: what is wrong, where, why it matters, what to do.

    The text never holds a secret.
    """

    def __init__(self, what: str, *, where: str, why: str, remedy: str) -> None:
        """Keep the text, a line each."""
        super().__init__(f"{what}\n  where:  {where}\n  why:    {why}\n  remedy: {remedy}")


class UnwellError(NodeError):
    """A service was started and does not run."""
