"""Nova's scripts: the probe of what only talks to the queue, and the job of its schemas and cells."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from .conftest import CHARTS, script

connected = script("groundup-lib/files/connected.py")
db_sync = script("nova/files/db-sync.py")
data_migrations = script("nova/files/data-migrations.py")
# The kernel's table: header, a listener on 5672, a connection from 5672 to elsewhere, and one to 5672 elsewhere.
TABLE = """\
  sl  local_address rem_address   st tx_queue
   0: 00000000:1628 00000000:0000 0A 00000000:00000000
   1: 0101A8C0:1628 0201A8C0:9C40 01 00000000:00000000
   2: 0101A8C0:9C41 0201A8C0:1628 {state} 00000000:00000000
"""


@pytest.mark.parametrize(("state", "is_open"), [("01", True), ("02", False), ("08", False)])
def test_only_an_open_connection_to_the_queue_counts(state: str, is_open: bool) -> None:
    assert connected.connected(TABLE.format(state=state).splitlines(), 5672) is is_open


def test_no_script_has_the_name_of_a_module_others_import() -> None:
    """A script's own directory is where Python looks first: a queue.py there would be `queue` to its neighbours."""
    names = {path.stem for path in CHARTS.glob("*/files/*.py")}
    assert not names & sys.stdlib_module_names


class Nova:
    """As much of Nova as the job talks to."""

    def __init__(self, cells: dict[str, str], refuses: str = "") -> None:
        self.cells, self.refuses, self.done = cells, refuses, list[Any]()

    def command(self, name: str) -> Any:
        def run(*arguments: str, **more: str) -> int:
            self.done.append((name, *arguments, *more.values()))
            return int(name == self.refuses)

        return run

    def modules(self) -> dict[str, Any]:
        def commands(*names: str) -> Any:
            return lambda: SimpleNamespace(**{name.partition(".")[2]: self.command(name) for name in names})

        manage = SimpleNamespace(
            ApiDbCommands=commands("api.sync"),
            DbCommands=commands("db.sync"),
            CellV2Commands=commands("cell.map_cell0", "cell.update_cell", "cell.create_cell"),
        )
        known = [SimpleNamespace(name=name, uuid=uuid) for name, uuid in self.cells.items()]
        objects = SimpleNamespace(
            register_all=lambda: None, CellMapping=SimpleNamespace(CELL0_UUID="zero"),
            CellMappingList=SimpleNamespace(get_all=lambda _context: known),
        )  # fmt: skip
        config = SimpleNamespace(parse_args=lambda _argv: None, CONF=None)
        context = SimpleNamespace(get_admin_context=lambda: None)
        return {
            "nova": SimpleNamespace(config=config, context=context, objects=objects),
            "nova.cmd": SimpleNamespace(manage=manage),
            "oslo_log": SimpleNamespace(log=SimpleNamespace(setup=lambda *_: None)),
        }


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> Any:
    def run(nova: Nova) -> list[Any]:
        for name, module in nova.modules().items():
            made = ModuleType(name)
            made.__dict__.update(vars(module))
            monkeypatch.setitem(sys.modules, name, made)
        monkeypatch.setenv("CELL0_CONNECTION", "url0")
        db_sync.main()
        return nova.done

    return run


def test_schemas_are_migrated_and_cells_mapped_in_their_order(job: Any) -> None:
    assert job(Nova({})) == [
        ("api.sync",), ("cell.map_cell0", "url0"), ("cell.update_cell", "zero", "cell0", "none:///", "url0"),
        ("cell.create_cell", "cell1"), ("db.sync",),
    ]  # fmt: skip


def test_a_cell_that_is_mapped_gets_todays_connections(job: Any) -> None:
    assert ("cell.update_cell", "uuid1", "cell1") in job(Nova({"cell0": "zero", "cell1": "uuid1"}))


def test_what_nova_refuses_ends_the_job(job: Any) -> None:
    with pytest.raises(SystemExit, match="migrating the schemas of the cells: ended with code 1"):
        job(Nova({}, refuses="db.sync"))


class Known:
    """A service's record."""

    def __init__(self, binary: str, version: int, *, up: bool = True, forced_down: bool = False) -> None:
        self.binary, self.host, self.version, self.up = binary, "there", version, up and not forced_down
        self.forced_down = forced_down


NEW = [Known("nova-conductor", 74), Known("nova-scheduler", 74)]


@pytest.mark.parametrize(
    ("services", "code", "ends"),
    [
        (NEW, 0, ["data"]),  # a new cloud
        ([*NEW, Known("nova-compute", 74)], 0, ["data"]),
        ([*NEW, Known("nova-compute", 74)], 2, ["data", "code 2"]),
        ([*NEW, Known("nova-compute", 72)], 0, []),
        ([*NEW, Known("nova-compute", 72, up=False)], 0, []),  # it comes back as it was
        ([*NEW, Known("nova-compute", 74), Known("nova-compute", 72, forced_down=True)], 0, []),  # evacuated: the same
        ([*NEW, Known("nova-conductor", 72)], 0, []),
        ([*NEW, Known("nova-conductor", 72, up=False)], 0, ["data"]),  # of a pod that has ended
    ],
)
def test_data_are_migrated_once_the_last_service_is_new(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, services: list[Known], code: int, ends: list[str]
) -> None:
    done, said = list[str](), tmp_path / "said"
    monkeypatch.setattr(data_migrations, "SAID", said)

    def migrations() -> int:
        done.append("data")
        return code

    def oldest(_context: None, binaries: list[str], *, require_all: bool) -> int:
        assert require_all
        counted = (one for one in services if one.binary in binaries and not one.forced_down)  # as Nova's own query
        return min((one.version for one in counted), default=0)

    modules = Nova({}).modules()
    service = SimpleNamespace(SERVICE_VERSION=74, get_minimum_version_all_cells=oldest)
    modules["nova.objects"] = SimpleNamespace(service=service)
    modules["nova"].objects = SimpleNamespace(
        register_all=lambda: None, service=service, ServiceList=SimpleNamespace(get_all=lambda _context: services)
    )
    modules["nova"].servicegroup = SimpleNamespace(API=lambda: SimpleNamespace(service_is_up=lambda one: one.up))
    modules["nova.cmd"].manage.DbCommands = lambda: SimpleNamespace(online_data_migrations=migrations)
    for name, module in modules.items():
        made = ModuleType(name)
        made.__dict__.update(vars(module))
        monkeypatch.setitem(sys.modules, name, made)
    try:
        data_migrations.main()
    except SystemExit as error:
        done.append(str(error)[-6:])
    assert done == ends
    assert (said.read_text() if said.exists() else "") == ("" if code else "74" if ends else "not yet")
