"""Asks each Keystone pod by itself about a token that another revoked, and about a role that another took away.

Prints as JSON, by pod, the status codes before, right after and five seconds later: 200 is valid, 404 refused; and
which roles each pod gives to a user after one was taken from it.
"""

from __future__ import annotations

import json
import subprocess
import time
from typing import Any

import openstack

# Runs in a pod, whose Keystone answers at the pod's own address.
ASK = """
import json, os, socket, sys, urllib.error, urllib.request
own, subject = sys.stdin.read().split()
url = f"http://{socket.gethostbyname(socket.gethostname())}:5000/v3/auth/tokens"
try:
    request = urllib.request.Request(url, headers={"X-Auth-Token": own, "X-Subject-Token": subject})
    with urllib.request.urlopen(request, timeout=30) as answer:
        token = json.load(answer)["token"]
    print(json.dumps([answer.status, sorted(role["name"] for role in token.get("roles", []))]))
except urllib.error.HTTPError as error:
    print(json.dumps([error.code, []]))
"""


def pods() -> list[str]:
    """Return the pods of Keystone's API."""
    labels = "application=keystone,component=api"
    command = ["kubectl", "-n", "openstack", "get", "pods", "-l", labels, "-o", "jsonpath={.items[*].metadata.name}"]
    return sorted(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def asked(own: str, subject: str) -> dict[str, Any]:
    """Return what each pod says of the token ``subject``."""

    def ask(pod: str) -> Any:
        command = ["kubectl", "-n", "openstack", "exec", "-i", pod, "-c", "keystone-api", "--", "python3", "-c", ASK]
        done = subprocess.run(command, input=f"{own} {subject}", capture_output=True, text=True, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip()[-300:]

    return {pod: ask(pod) for pod in pods()}


def main() -> None:
    """Revoke a token and take a role away, and ask every pod."""
    cloud = openstack.connect()
    own = str(cloud.session.get_token())
    name, password = "groundup-test-tokens", "a-Passw0rd-for-a-minute"
    project = cloud.identity.find_project("admin")
    user = cloud.identity.create_user(name=name, password=password, default_project_id=project.id)
    try:
        roles = {role: cloud.identity.find_role(role) for role in ("reader", "member")}
        for role in roles.values():
            cloud.identity.assign_project_role_to_user(project, user, role)
        access = {"project_id": project.id, "user_id": user.id, "username": None, "user_domain_id": None}
        first, second = (cloud.connect_as(**access, password=password).session.get_token() for _ in range(2))
        found = {"valid": asked(own, first)}
        answer = cloud.identity.delete("/auth/tokens", headers={"X-Subject-Token": first})
        assert answer.status_code == 204, answer.text
        found["revoked"] = asked(own, first)
        found["full"] = asked(own, second)
        cloud.identity.unassign_project_role_from_user(project, user, roles["member"])
        found["taken"] = asked(own, second)
        time.sleep(5)
        found["later"] = asked(own, first)
    finally:
        cloud.identity.delete_user(user)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
