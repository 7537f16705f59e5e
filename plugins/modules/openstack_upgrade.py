# Documentation of the action plugin of the same name, which does the work on the control node.
DOCUMENTATION = r"""
module: openstack_upgrade
short_description: Judge, order and record a step of OpenStack's release
version_added: 0.2.0
description:
  - "Private: for the playbooks C(groundup.cloud.openstack_upgrade) and C(groundup.cloud.openstack_upgrade_check)."
  - Says whether the step is allowed, which services are too old for it, which records are of hosts that are gone,
    whether Nova's data were migrated, which queues are not replicated, what is not ready, and how old the newest
    backup set is.
  - Services are rolled out by M(groundup.cloud.rollout), hypervisors changed by M(groundup.cloud.hypervisor).
  - Runs on the control node. Its output contains no secrets.
options:
  step:
    description:
      - V(look) says what is in the way, and changes nothing. V(check) also returns what is left to do, in order, and
        fails for what is in the way unless O(force) accepts it. Of a step that is open it judges only what cannot be
        accepted.
      - V(back) writes down that a step is given up, which V(check) has found when the site file has its former release
        and nothing runs the other one.
      - V(ask) fails for what gave no answer to V(check) of a step that is open, and gives none now.
      - V(begin) writes into the state directory that a step is open. Until V(move), when every service is new, other
        layers go by the former release, and those of the layer openstack are refused.
      - V(move) also returns which hypervisors change, by what runs then. V(joined) waits until nova-compute of O(hosts)
        reports as one of the new release, and returns who does not. V(lost) fails, and names those. V(restart)
        restarts Nova's and Cinder's services, which have pinned the former release's messages. V(data) migrates Nova's
        data. Each does nothing when that was done.
      - V(end) writes down that the step has ended, unless something is left. V(verify) fails unless every service and
        hypervisor has the release and no step is open.
    type: str
    choices: [look, check, back, ask, begin, move, joined, lost, restart, data, end, verify]
    default: look
  hosts:
    description: Hypervisors. With O(step=joined).
    type: list
    elements: str
  lacking:
    description:
      - Hypervisors at which the step stops, by name, each with why. With O(step=lost), and with O(step=joined) those
        that could not be changed, which are not waited for.
    type: dict
  said:
    description:
      - Hosts by name, each with the state and last words of its units, by unit. With O(step=check) and O(step=lost).
    type: dict
    default: {}
  absent:
    description: Hosts that do not answer. With O(step=check) and O(step=move).
    type: list
    elements: str
    default: []
  force:
    description: Reasons against the step to accept, by code.
    type: list
    elements: str
    default: []
  release:
    description: OpenStack release to go to. Default is the site file's.
    type: str
    default: ""
  backup_hours:
    description: Age in hours at which the newest backup set is too old.
    type: float
    default: 1
  page:
    description: File that gets the page for reviewers, too.
    type: path
attributes:
  check_mode:
    description: Changes nothing.
  diff_mode:
    support: none
    description: Shows no difference. The check of M(groundup.cloud.rollout) does.
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.site.file
"""
