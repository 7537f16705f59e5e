"""Horizon: the dashboard."""

from .record import PublicApi, ServiceRecord

SERVICE = ServiceRecord(
    name="horizon",
    needs=("keystone",),
    uses=("database", "cache"),
    unmet=("dashboard-first", "a dashboard without APIs shows errors only"),
    api=PublicApi(
        type="dashboard",
        host="dashboard",
        health="/auth/login/",
        port=80,
        node_port=31000,
        backend="horizon-int",
        in_catalog=False,
    ),
)
