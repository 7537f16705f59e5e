"""What the contract tests share: example sites, their plans, helm, rendered charts, the facts of the real charts."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.actions import LOADER
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import with_values
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import ReleasePlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import RECORDS, of_kind
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.parts import merge

from .keys import read as keys_of

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(__file__).parent / "data"
# rack-metal has the cloud of rack: tests/unit/plan/test_shipped.py holds it to that.
SITES = {
    path.parent.name: path
    for path in sorted((ROOT / "inventories").glob("*/site.yml"))
    if path.parent.name != "rack-metal"
}
Render = Callable[[ReleasePlan, Path], str]


@pytest.fixture(scope="session", params=list(SITES))
def plan(request: pytest.FixtureRequest) -> Plan:
    """The plan of every example site, with every service that is deployed."""
    data = yaml.safe_load(SITES[request.param].read_text())
    data["openstack"]["services"] = [record.name for record in of_kind("service")]
    return with_values(make_plan(build_site(data)))


class Facts(dict[str, Any]):
    """By chart; a chart without them fails with the command that derives them."""

    def __missing__(self, chart: str) -> Any:
        pytest.fail(
            f"there is no data/charts/{chart}.json, the facts of the real chart. Run derive.py: "
            f"cd tests; ../ci/run python -m contract.derive VALUES OBJECTS {chart} (docs/add-a-release.md, step 5)"
        )


@pytest.fixture(scope="session")
def facts() -> Any:
    """Facts of the real charts, by chart: ``keys`` and types of their values, ``objects``, those ``relied_on``."""
    return Facts((path.stem, keys_of(path)) for path in (DATA / "charts").glob("*.json"))


@pytest.fixture(scope="session")
def keys(facts: Any) -> Any:
    """Key paths and types of the real charts' values, by chart."""
    return Facts((chart, fact["keys"]) for chart, fact in facts.items())


@pytest.fixture(scope="session")
def helm() -> Path:
    """The helm that supply provides, or one that is on the PATH."""
    found = shutil.which("helm")
    return Path(found) if found else supply.tool("helm")


def plain(value: Any) -> Any:
    """Return ``value`` with every secret's reference replaced by a word that tells which secret it is."""
    if isinstance(value, dict):
        if set(value) == {"$secret"}:
            return "secret" + value["$secret"].replace("/", "").replace("-", "")
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


@pytest.fixture(scope="session")
def render(helm: Path) -> Render:
    """A function that renders a release with a chart and returns the text."""

    def spelled(release: ReleasePlan, chart: Path) -> Any:
        spell = RECORDS[release.name].dialect if release.name in RECORDS else None
        if not spell or chart.is_relative_to(CHARTS):
            return release.values
        said = subprocess.run([helm, "show", "values", chart], capture_output=True, text=True, check=True).stdout
        return spell(dict(release.values), yaml.safe_load(said))

    def run(release: ReleasePlan, chart: Path) -> str:
        done = subprocess.run(
            [helm, "template", release.name, chart, "--namespace", release.namespace, "--values", "-"],
            # As the rollout gives them. JSON of just n times 4,096 bytes Helm 4.2.3 takes for no values at all.
            input=yaml.safe_dump(plain(spelled(release, chart))),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


CHARTS = ROOT / "charts"
BUILT_IN = sorted({path.parent.parent.name for path in CHARTS.glob("*/templates/*.yaml")})


def chart_values(name: str) -> Any:
    """Return the values of a built-in chart, over those it imports from the library chart."""
    own = yaml.safe_load((CHARTS / name / "values.yaml").read_text())
    chart = yaml.safe_load((CHARTS / name / "Chart.yaml").read_text())
    library = yaml.safe_load((CHARTS / "groundup-lib/values.yaml").read_text())
    return merge(library["service"], own) if "import-values" in chart["dependencies"][0] else own


def objects(text: str) -> list[dict[str, Any]]:
    """Return the objects in what helm rendered."""
    return [item for item in yaml.load_all(text, Loader=LOADER) if item]


@pytest.fixture(scope="session")
def real_charts() -> Path:
    """The directory of packaged OpenStack-Helm charts that GROUNDUP_OSH_CHARTS names."""
    where = os.environ.get("GROUNDUP_OSH_CHARTS")
    if not where:
        pytest.skip("GROUNDUP_OSH_CHARTS is not set: no OpenStack-Helm charts to render (docs/charts.md)")
    directory = Path(where)
    if not list(directory.glob("*.tgz")):
        pytest.skip(f"GROUNDUP_OSH_CHARTS={where} holds no packaged chart (docs/charts.md)")
    return directory


def chart_in(directory: Path, name: str) -> Path:
    """Return the newest package of chart ``name`` in ``directory``."""
    return sorted(directory.glob(f"{name}-[0-9]*.tgz"))[-1]


def name_of(item: dict[str, Any]) -> str:
    """Return kind and name of an object."""
    return f"{item['kind']}/{item['metadata']['name']}"


@pytest.fixture(scope="session")
def texts(plan: Plan, render: Render) -> dict[str, str]:
    """What the built-in charts make of the site's releases, by release."""
    return {release.name: render(release, CHARTS / release.chart) for release in plan.openstack.releases}


@pytest.fixture(scope="session")
def rendered(texts: dict[str, str]) -> dict[str, list[dict[str, Any]]]:
    """The objects in it."""
    return {name: objects(text) for name, text in texts.items()}
