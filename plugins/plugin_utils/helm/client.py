"""Run helm. Values are passed on standard input: never on disk, never in an argument."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from ...module_utils._base import yaml_text
from ...module_utils._base.run import direct
from ..plan import chart_files
from ..plan.types import ReleasePlan
from ..process import Finished, Processes, bypassing
from .types import ChartError

RENDER_LABEL = "groundup.cloud/render"  # on Helm's record of a release: digest of its render
# Revisions of a release that stay: each is a Secret with all its passwords. The deployed one always stays, and healing
# needs the one before a revision that was cut short.
HISTORY = "2"
_OCI = "oci://"
_PULLED = re.compile(r"\A(?:(?:Pulled|Digest): .*\n)+")  # what helm prints before the output of a chart from a registry


class Helm:
    """helm 4 against one cluster.

    ``binary``: path of helm. ``kubeconfig``: path of the cluster's kubeconfig. ``charts``: where charts come from, as
    in the site file: a directory, a repository URL or ``oci://``. ``lock``: file descriptor each helm keeps open.
    """

    def __init__(
        self, *, binary: Path, kubeconfig: Path, charts: str, processes: Processes, lock: int | None = None
    ) -> None:
        self._binary = binary
        self._kubeconfig = kubeconfig
        self._charts = charts
        self._processes = processes
        self._inherit = () if lock is None else (lock,)

    def template(
        self, release: ReleasePlan, values: Mapping[str, Any], *, kube_version: str, api_versions: Iterable[str]
    ) -> str:
        """Render ``release`` for this cluster; return the manifest with its hooks. Raises ChartError."""
        argv = [
            "template", release.name, *self._chart(release), "--namespace", release.namespace,
            "--values", "-", "--skip-tests", "--kube-version", kube_version,
            *(f"--api-versions={version}" for version in api_versions),
        ]  # fmt: skip
        done = self._run(argv, charts=_place(release), stdin=_dump(values), timeout=120)
        if done.code:
            raise ChartError(
                f"chart {release.chart} {release.version} does not render: {why(done)}",
                where=f"release {release.name}, charts from {_place(release) or self._charts}",
                why="what cannot be rendered cannot be installed",
                remedy="correct the value or the template it names; the plan's values are in plan.json",
            )
        if release.chart.startswith(_OCI):
            self._refuse_other_version(release)
        return _PULLED.sub("", done.stdout)

    def _refuse_other_version(self, release: ReleasePlan) -> None:
        """Refuse a chart that its digest fixed to another version than the site file says: Helm does not compare."""
        done = self._run(["show", "chart", *self._chart(release)], charts=release.chart, timeout=120)
        said = yaml_text.load(_PULLED.sub("", done.stdout)) if not done.code else {}
        if not chart_files.same_version(str(said.get("version", "")), release.version):
            raise ChartError(
                f"{release.chart} has version {said.get('version', 'none')}, not {release.version}",
                where=f"release {release.name}",
                why="another chart than was meant would be rolled out",
                remedy=f"correct openstack.extra_releases.{release.name}: version or digest",
            )

    def defaults(self, release: ReleasePlan) -> dict[str, Any]:
        """Return the chart's default values. Raises ChartError."""
        done = self._run(["show", "values", *self._chart(release)], timeout=120)
        if done.code:
            raise ChartError(
                f"chart {release.chart} {release.version} does not say its values: {why(done)}",
                where=f"release {release.name}, charts from {self._charts}",
                why="charts of one version call some of them by other names",
                remedy="correct openstack.charts in the site file, or package the chart again (docs/charts.md)",
            )
        return yaml_text.load(_PULLED.sub("", done.stdout))

    def upgrade(
        self, release: ReleasePlan, values: Mapping[str, Any], *, digest: str, timeout: int, cancel: Any = None
    ) -> Finished:
        """Install or upgrade ``release``; return when its hooks are done, without waiting for readiness.

        `--wait` would deadlock: pods wait for jobs, and the jobs are hooks that Helm starts only after the pods.
        ``timeout``: seconds per hook. ``cancel``: an event that ends it.
        """
        argv = [
            "upgrade", "--install", release.name, *self._chart(release), "--namespace", release.namespace,
            "--create-namespace", "--values", "-", "--reset-values", "--timeout", f"{timeout}s",
            "--history-max", HISTORY, "--labels", f"{RENDER_LABEL}={digest}",
            "--force-conflicts", "--server-side=true", "--hide-notes",
        ]  # fmt: skip
        return self._run(argv, charts=_place(release), stdin=_dump(values), cancel=cancel)

    def uninstall(self, name: str, *, namespace: str) -> Finished:
        """Uninstall a release, or finish an interrupted uninstall. Volume claims of StatefulSets stay."""
        return self._run(["uninstall", name, "--namespace", namespace, "--ignore-not-found"], timeout=300)

    def _run(
        self, argv: Sequence[str], *, charts: str = "", stdin: str = "", timeout: float | None = None,
        cancel: Any = None,
    ) -> Finished:  # fmt: skip
        env = {
            **_environment(charts or self._charts, self._kubeconfig),
            "KUBECONFIG": str(self._kubeconfig),
            "HELM_DRIVER": "secret",
        }
        return self._processes.run(
            [str(self._binary), *argv], stdin=stdin, env=env, inherit=self._inherit, timeout=timeout, cancel=cancel
        )

    def _chart(self, release: ReleasePlan) -> list[str]:
        return chart_arguments(self._charts, release.chart, release.version)


def _place(release: ReleasePlan) -> str:
    """Return where the chart of a release of the site's own is, "" for ours."""
    return release.chart if release.is_extra else ""


def _environment(charts: str, kubeconfig: Path) -> dict[str, str]:
    """Return this process' environment; its proxies are for a repository of charts, never for the cluster."""
    if "://" not in charts:
        return direct(os.environ)
    try:
        clusters = (yaml.safe_load(kubeconfig.read_bytes()) or {}).get("clusters") or []
    except (OSError, yaml.YAMLError):  # helm says what is wrong with it
        clusters = []
    return bypassing(os.environ, [urlsplit(one["cluster"]["server"]).hostname or "" for one in clusters])


def chart_arguments(charts: str, chart: str, version: str) -> list[str]:
    """Return helm's arguments for a chart from ``charts`` or one of the site's own. Raises ChartError without it."""
    if chart.startswith(_OCI):
        return [chart, "--version", version]
    if charts.startswith(_OCI) and "/" not in chart:
        return [f"{charts.rstrip('/')}/{chart}", "--version", version]
    if charts.startswith(("http://", "https://")) and "/" not in chart:
        return [chart, "--repo", charts, "--version", version]
    if found := chart_files.find(Path(charts), chart, version):
        return [str(found)]
    if "/" in chart:
        raise ChartError(
            f"there is no chart of version {version} at {chart}",
            where="openstack.extra_releases",
            why="the release is made from it",
            remedy="correct chart or version; the playbook groundup.cloud.plan says which",
        )
    raise ChartError(
        f"chart {chart} {version} is not there: neither {chart}-{version}.tgz nor a folder {chart}/ of that version",
        where=charts,
        why="the release is made from it",
        remedy="correct openstack.charts or the chart's version in the site file",
    )


def _dump(values: Mapping[str, Any]) -> str:
    return yaml.dump(dict(values), Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper), default_flow_style=False)


def why(done: Finished) -> str:
    """Return helm's own error, on one line."""
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith("error")]
    return " ".join((errors or lines)[-3:]) or f"helm ended with code {done.code} and said nothing"
