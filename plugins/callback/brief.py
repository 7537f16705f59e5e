"""Ansible's default output, with short messages for failures of this collection."""

from __future__ import annotations

DOCUMENTATION = r"""
name: brief
type: stdout
short_description: Ansible's default output, with short failures for this collection
version_added: 0.1.0
author: The groundup.cloud developers (@groundup-cloud)
description:
  - Modules of this collection print what an operator needs while they run, such as findings and failure cards. When one
    fails, this callback adds only its message. The whole result, the place of the task and Ansible's other output come
    with C(-v).
  - A task that prints while it runs has its name above its output. For any other long task, name and elapsed time are
    printed periodically.
  - Hosts that were set aside during the run are listed in a table at its end, with layer, reason and remedy.
  - When a run has several layers, each begins with its number among the layers that the site has.
  - Retries of a task that waits (C(until)) are printed only with C(-v).
  - Plays without a task that runs, and roles' options that are as they must be, are printed only with C(-v).
  - Of a play with the variable C(groundup_document), standard output is what its tasks print, and nothing else. What
    failed is on standard error. With the value C(check), so it is in a dry run; with the name of an extra variable,
    when that is given.
  - Everything else is as in P(ansible.builtin.default#callback), with the same options.
extends_documentation_fragment:
  - default_callback
  - result_format_callback
requirements:
  - Set as C(stdout_callback).
"""

from contextlib import ExitStack
from typing import Any

from ansible import constants, context
from ansible.plugins.callback.default import CallbackModule as Default

from ..plugin_utils.commands import explained, runnable
from ..plugin_utils.errors import GroundupError
from ..plugin_utils.layers.aside import table
from ..plugin_utils.layers.position import LayerCount
from ..plugin_utils.progress import reminder

OURS = "groundup.cloud."
ROLLOUT = f"{OURS}rollout"  # its result says how to reach the cloud
_JUDGED = frozenset(
    OURS + name for name in ("plan", "status", "drift", "failure", "usage")
)  # unreachable: something could not be asked
_DOCUMENT = "groundup_document"  # variable of a play whose standard output is what its tasks print, and nothing else
_SAYING = frozenset({"ansible.builtin.assert", "ansible.builtin.fail"})  # their message is what a playbook has to say
_VALIDATION = "ansible.builtin.validate_argument_spec"  # Ansible puts it before a role's own tasks
# Those that print while they run: a module, or one step of it.
_SPEAKING = frozenset(
    OURS + name
    for name in (
        "backup_set test",
        "cluster install",
        "drift compare",
        "drift heal",
        "failure look",
        "hypervisors probe",
        "hypervisors wait",
        "machines approve",
        "machines install",
        "machines overview",
        "openstack_upgrade",
        "patch begin",
        "patch report",
        "plan",
        "preflight report",
        "resources",
        "rollout",
        "rotate",
        "seed",
        "status report",
        "supply build",
        "supply charts",
        "supply resolve",
        "tempest",
        "tenant_smoke",
        "upgrade",
        "usage",
        "verb",
    )
)
# Keys that Ansible adds when a module crashed without a result: then the whole result is shown.
_DIED = ("module_stdout", "module_stderr")
_SAID = ("msg", "failed", "changed", "status", "exception", "aside", "warnings", "deprecations", "invocation")


class CallbackModule(Default):  # type: ignore[misc]  # Ansible ships no types
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "groundup.cloud.brief"

    def __init__(self) -> None:
        super().__init__()
        self._reminder = ExitStack()
        self._aside: dict[str, dict[str, str]] = {}  # by host
        self._leftover: dict[str, dict[str, str]] = {}
        self._stopped = False
        self._access: dict[str, str] = {}
        self._unnamed: Any = None  # the play that has printed nothing yet
        self._document = False  # standard output is for a program
        self._count = LayerCount(())

    def v2_playbook_on_start(self, playbook: Any) -> None:
        """Count the layers of the run."""
        self._count = LayerCount(playbook.get_plays())
        super().v2_playbook_on_start(playbook)

    def v2_playbook_on_play_start(self, play: Any) -> None:
        """Print the play's name when a task of it runs, with ``-v`` at once."""
        self._reminder.close()
        self._play = self._unnamed = play
        self._document = prints_document(play) and not self._display.verbosity
        if self._document:
            self.set_option("display_failed_stderr", True)
        if self._display.verbosity:
            self._name_play()

    def v2_playbook_on_no_hosts_matched(self) -> None:
        """Print only with ``-v`` that a play has no hosts."""
        if self._display.verbosity:
            super().v2_playbook_on_no_hosts_matched()

    def v2_playbook_on_no_hosts_remaining(self) -> None:
        """Print only with ``-v`` that a play ends with its last host: the failure above says so."""
        if self._display.verbosity:
            super().v2_playbook_on_no_hosts_remaining()

    def v2_playbook_on_include(self, included_file: Any) -> None:
        """Print the play's name above what it includes."""
        self._name_play()
        super().v2_playbook_on_include(included_file)

    def v2_runner_on_ok(self, result: Any) -> None:
        """Record the hosts that were set aside, and leftover Nodes."""
        if _is_validation(result.task) and not self._display.verbosity:
            return
        self._aside |= {row["host"]: row for row in result.result.get("aside") or ()}
        self._leftover |= {row["host"]: row for row in result.result.get("leftover") or ()}
        if result.task.resolved_action == ROLLOUT:
            self._access = result.result.get("access") or self._access
        if not self._document:
            super().v2_runner_on_ok(result)

    def v2_runner_on_unreachable(self, result: Any) -> None:
        """Print nothing about a host that is set aside: the table at the end reports it. With ``-v`` print it."""
        if result.task.resolved_action in _JUDGED and not self._display.verbosity:  # what could not be asked, as a line
            text, stderr = f"unknown: {result.result['msg']}", self.get_option("display_failed_stderr")
            self._display.display(text, color=constants.COLOR_UNREACHABLE, stderr=stderr)
        elif self._display.verbosity:
            super().v2_runner_on_unreachable(result)
        elif result.host.get_name() not in self._aside:
            self._failed(result, "unreachable", _unreachable(result.result), constants.COLOR_UNREACHABLE)
            if result.task.ignore_unreachable:
                self._display.display("...ignoring", color=constants.COLOR_SKIP)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        """Print one message for a failure of this collection; leave others to Ansible."""
        found = result.result
        self._stopped |= not ignore_errors
        self._aside |= {row["host"]: row for row in found.get("aside") or ()}
        if _is_validation(result.task) and "argument_errors" in found and not self._display.verbosity:
            found = {"msg": _refused(found)}
        elif self._display.verbosity or not _is_ours(result.task) or "msg" not in found or set(_DIED) & set(found):
            super().v2_runner_on_failed(result, ignore_errors=ignore_errors)
            return
        text = explained(found["msg"], _site_variables(self._play))
        if any(value for key, value in found.items() if key not in _SAID and not key.startswith("_ansible_")):
            text += "\n(-v shows the whole result)"
        self._failed(result, "failed", text, constants.COLOR_ERROR)
        if ignore_errors:
            self._display.display("...ignoring", color=constants.COLOR_SKIP)

    def _failed(self, result: Any, how: str, text: str, color: str) -> None:
        if self._last_task_banner != result.task._uuid:
            self._print_task_banner(result.task)
        self._handle_warnings(result.result)
        name = self.host_label(result).partition(" -> {{")[0]  # without a delegate whose name is not known
        text = f"{how}: [{name}] => {text}"
        self._display.display(text, color=color, stderr=self.get_option("display_failed_stderr"))

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:
        """Print the name of a task that prints; for other tasks start the periodic reminder."""
        self._reminder.close()
        if _is_validation(task) and not self._display.verbosity:
            self._last_task_name = None  # not the one before it, if it fails
            return
        if not task.when:  # it runs on some host
            self._name_play()
        super().v2_playbook_on_task_start(task, is_conditional)
        if {task.resolved_action, f"{task.resolved_action} {task.args.get('step')}"}.isdisjoint(_SPEAKING):
            self._reminder.enter_context(reminder(self._remind, task.get_name()))
        elif self._last_task_banner != task._uuid:
            self._print_task_banner(task)

    def _remind(self, line: str) -> None:
        if not self._document:
            self._name_play()
            self._display.display(line)

    def _name_play(self) -> None:
        """Print the play's name, unless it was printed."""
        play, self._unnamed = self._unnamed, None
        if play and not self._document:
            if line := self._count.begins(play, groups_of_run(play)):
                self._display.display(f"\n{line}", color=constants.COLOR_HIGHLIGHT)
            super().v2_playbook_on_play_start(play)

    def _print_task_banner(self, task: Any) -> None:
        self._name_play()
        if self._document:
            self._last_task_banner = task._uuid
        else:
            super()._print_task_banner(task)

    def v2_runner_retry(self, result: Any) -> None:
        """Print retries only with ``-v``: waiting is no failure."""
        if self._display.verbosity:
            super().v2_runner_retry(result)

    def v2_playbook_on_stats(self, stats: Any) -> None:
        """Stop the reminder, and print the hosts that were set aside."""
        self._reminder.close()
        if self._document:
            return
        super().v2_playbook_on_stats(stats)
        if rows := [*self._aside.values(), *self._leftover.values()]:
            self._display.display(f"\n{runnable(table(rows))}", color=constants.COLOR_WARN)
        if self._aside:
            end = "stopped" if self._stopped else "went to its end"
            self._display.display(
                f"The run {end} without: {', '.join(sorted(self._aside))}", color=constants.COLOR_WARN
            )
        if self._access and not self._stopped and not set(stats.dark) - set(self._aside):
            lines = [f"  {label:<11}{text}" for label, text in self._access.items()]
            self._display.display("\n".join(["\nYour cloud is ready.", *lines]), color=constants.COLOR_OK)


def groups_of_run(play: Any) -> dict[str, list[str]]:
    """Return the hosts of each group of the inventory, as they are now."""
    return dict(play.get_variable_manager()._inventory.get_groups_dict())


def _site_variables(play: Any) -> dict[str, Any]:
    return dict(play.get_variable_manager()._inventory.groups["all"].get_vars())


def prints_document(play: Any) -> bool:
    """Whether standard output is what tasks of the play print, and nothing else."""
    found = play.vars.get(_DOCUMENT)
    if isinstance(found, str) and found != "check":
        return found in play.get_variable_manager().extra_vars
    return bool(found) and (found != "check" or bool(context.CLIARGS.get("check")) or "check" in play.only_tags)


def _is_validation(task: Any) -> bool:
    return bool(task.resolved_action == _VALIDATION)


def _refused(found: dict[str, Any]) -> str:
    """Return the message for a role whose variables are not as its argument spec has them."""
    role, errors = found["validate_args_context"], found["argument_errors"]
    wrong = [name for name in found["argument_spec_data"] if any(name in error for error in errors)]
    inventory = any(name.startswith("groundup_") for name in wrong)
    remedy = "run with the site file as inventory (-i site.yml)" if inventory else "correct it where it is set"
    error = GroundupError(
        "; ".join(errors),
        where=f"role {role['name']}, tasks {role['argument_spec_name']}, variable {', '.join(wrong) or '?'}",
        why="its tasks would fail midway, or do something else than was meant",
        remedy=f"{remedy}; ansible-doc -t role {OURS}{role['name']} says what the role takes",
    )
    return str(error)


def _is_ours(task: Any) -> bool:
    action = str(task.resolved_action or task.action)
    return action.startswith(OURS) or (action in _SAYING and "/ansible_collections/groundup/cloud/" in task.get_path())


def _unreachable(found: dict[str, Any]) -> str:
    """Return what kept a task from its host, with the remedy where it was ssh."""
    from ..plugin_utils.contact.faults import UNREACHED  # late import: hosts answer

    items = [one for one in found.get("results") or () if one.get("unreachable")]  # of a loop, the first
    said = str((items or [found])[0].get("msg") or "it cannot be reached; the result is hidden")
    said = f"{items[0]['item']}: {said}" if items and isinstance(items[0].get("item"), str) else said
    return f"{said}\n  remedy: {UNREACHED}" if "ssh" in said else said
