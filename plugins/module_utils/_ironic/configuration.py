"""Configuration of Ironic on the seed: one process, SQLite, HTTP basic authentication, TLS by nginx before it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._base import files
from .._seed.configuration import PEM

STATE = Path("/var/lib/ironic")
DATABASE = STATE / "ironic.sqlite"
MEDIA = STATE / "http"
DIRECTORY = Path("/etc/ironic")
CONF = DIRECTORY / "ironic.conf"
PASSWORDS = DIRECTORY / "htpasswd"
RUNNER_PASSWORDS = DIRECTORY / "runner-htpasswd"  # exists only with the seed's runner
CA = DIRECTORY / "site-ca.crt"
UNIT = Path("/etc/systemd/system/ironic.service")
CONTACT_UNIT = Path("/etc/systemd/system/groundup-contact.service")
WEB = Path("/etc/nginx/conf.d/groundup-ironic.conf")
PROGRAMS = Path("/opt/groundup/ironic")
BOUNDS = PROGRAMS / "python/sitecustomize.py"  # Python loads it by its name
# Ironic's threads have stacks of 128 KiB, in which deeply nested JSON crashes the process. 8 MiB is Linux's default.
BOUNDED = (f"PYTHONPATH={BOUNDS.parent}", "IRONIC_THREAD_STACK_SIZE=8388608")
USER = "groundup"  # Ironic's only user
RAMDISK = STATE / "ramdisk"  # the site's own, with its CA
INITRAMFS = RAMDISK / "initramfs"
KERNEL_OPTIONS = "console=tty0 console=ttyS0,115200n8 systemd.show_status=false nofb"
INVENTORY_KIB = 4096
CONNECTIONS = 256  # of one source; nginx has 768 a processor, for images, files and Ironic together

# Values proven by Metal3 have their reason beside them; the rest is Ironic's default.
CONF_TEXT = """\
[DEFAULT]
auth_strategy = http_basic
http_basic_auth_user_file = %(passwords)s
host = seed
rpc_transport = none
use_stderr = true
log_options = false
tempdir = %(state)s/tmp
webserver_verify_ca = %(ca)s
enabled_hardware_types = redfish,idrac
enabled_bios_interfaces = no-bios
enabled_boot_interfaces = redfish-virtual-media,idrac-redfish-virtual-media,ipxe
enabled_console_interfaces = no-console
enabled_deploy_interfaces = direct
enabled_firmware_interfaces = no-firmware
enabled_inspect_interfaces = agent,no-inspect
enabled_management_interfaces = redfish,idrac-redfish
enabled_network_interfaces = noop
enabled_power_interfaces = redfish,idrac-redfish
enabled_raid_interfaces = no-raid
enabled_rescue_interfaces = no-rescue
enabled_storage_interfaces = noop
enabled_vendor_interfaces = redfish,no-vendor
default_inspect_interface = agent

[agent]
api_ca_file = %(ca)s
deploy_logs_local_path = %(state)s/logs
image_download_source = http
require_tls = false

[api]
host_ip = 127.0.0.1
port = %(api_inside)s
public_endpoint = %(api_url)s
# Anybody may say what a machine is made of; the largest that was seen has a tenth of this.
max_json_body_size_inspection = %(inventory_kib)s

[auto_discovery]
enabled = %(discovery)s
driver = redfish

[conductor]
# A first deployment must not erase what nobody has looked at: cleaning is asked for when a machine leaves.
automated_clean = false
deploy_callback_timeout = 4800
disable_zstandard_decompression = true
deploy_kernel = file://%(ramdisk)s/vmlinuz
deploy_ramdisk = file://%(initramfs)s
bootloader = file://%(ramdisk)s/esp.img
file_url_allowed_paths = %(ramdisk)s,%(own_ramdisk)s
force_power_state_during_sync = false
node_history = false
# After it was killed, Ironic ends what it had under way on so many machines a state; further ones stay "deploying" for
# ever. Default: 8.
periodic_max_workers = 100
power_state_change_timeout = 120
send_sensor_data = false
sync_power_state_interval = 120

[database]
connection = sqlite:///%(database)s

[deploy]
default_boot_mode = uefi
default_boot_option = local
erase_devices_priority = 0
erase_devices_metadata_priority = 10
# A ramdisk that has inspected its machine goes on and installs it.
fast_track = true
http_root = %(media)s
http_url = %(boot_url)s
external_http_url = %(media_url)s

[dhcp]
dhcp_provider = none

[inspector]
# A port beside it may have a MAC address that other machines have, too.
add_ports = pxe
# Ironic's own default. By the first an inventory that is not whole is none: what is on the disks is in it.
hooks = ramdisk-error,validate-interfaces,ports,architecture
pre_create_ports = false

[pxe]
images_path = %(state)s/images
instance_master_path = %(state)s/master-images
kernel_append_params = %(kernel_options)s
tftp_master_path = %(state)s/master-ramdisks
tftp_root = %(state)s/tftp

[redfish]
connection_attempts = 5
kernel_append_params = %(kernel_options)s

[service_catalog]
auth_type = none
endpoint_override = %(api_url)s
"""

UNIT_TEXT = """\
[Unit]
Description=Ironic: API and conductor
Wants=network-online.target
After=network-online.target

[Service]
User=ironic
Group=ironic
Environment=PATH=%(programs)s/bin:%(environment)s/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
Environment=%(bounded)s
Environment=REQUESTS_CA_BUNDLE=/etc/ssl/certs/ca-certificates.crt
ExecStart=%(environment)s/bin/ironic --config-file %(conf)s
Restart=on-failure
RestartSec=5
TimeoutStopSec=90
# The web server reads boot media; the database has a mode of its own.
UMask=0022
NoNewPrivileges=true
ProtectSystem=strict
ProtectHome=true
PrivateTmp=true
ReadWritePaths=%(state)s

[Install]
WantedBy=multi-user.target
"""

CONTACT_UNIT_TEXT = """\
[Unit]
Description=Calls of machines that are installed

[Service]
User=ironic
Group=ironic
ExecStart=%(environment)s/bin/python %(programs)s/bin/groundup-contact --port %(contact_inside)s --passwords %(passwords)s %(runner_passwords)s --state %(state)s/machines
Restart=on-failure
RestartSec=5
UMask=0077
NoNewPrivileges=true
ProtectSystem=strict
ProtectHome=true
PrivateTmp=true
ReadWritePaths=%(state)s

[Install]
WantedBy=multi-user.target
"""  # noqa: E501  # one command

# A machine posts its inventory once, and again after a 503. Ironic checks the nesting depth only of a body that is
# declared as JSON. Limits are by source address: each wrong password costs a bcrypt. Calls wait for their turn, as a
# controller asks for all machines of a site; logins are refused at once, in the form that the page reads.
WEB_TEXT = """\
limit_req_zone $binary_remote_addr zone=inventories:1m rate=6r/m;
limit_req_zone $binary_remote_addr zone=logins:1m rate=30r/m;
limit_req_zone $binary_remote_addr zone=calls:1m rate=20r/s;
limit_conn_zone $binary_remote_addr zone=sources:1m;
server {
    listen %(api_port)s ssl;
%(tls)s    client_max_body_size 64m;
    limit_conn sources %(connections)s;
    client_header_timeout 10s;
    location /v1/continue_inspection {
        client_max_body_size %(inventory_kib)sk;
        limit_req zone=inventories burst=12 nodelay;
        proxy_set_header Content-Type application/json;
        proxy_pass http://127.0.0.1:%(api_inside)s;
        proxy_set_header Host $http_host;
    }
    location ~ ^/v1/(lookup|heartbeat) {
        client_max_body_size 64k;
        proxy_set_header Content-Type application/json;
        proxy_pass http://127.0.0.1:%(api_inside)s;
        proxy_set_header Host $http_host;
    }
    location / {
        proxy_pass http://127.0.0.1:%(api_inside)s;
        proxy_set_header Host $http_host;
        proxy_read_timeout 300s;
    }
    location = /machines/v1/login {
        client_max_body_size 8k;
        client_body_timeout 10s;
        limit_req zone=logins burst=20 nodelay;
        limit_req_status 429;
        error_page 429 = @refused;
        proxy_pass http://127.0.0.1:%(machines_inside)s;
        proxy_set_header Host $http_host;
        proxy_set_header X-Real-IP $remote_addr;
    }
    location @refused {
        default_type application/json;
        return 429 '{"error": "too many tries from your address: wait a minute"}';
    }
    # The page of machines; its events have no end.
    location /machines/ {
        client_max_body_size 8m;
        limit_req zone=calls burst=200;
        proxy_pass http://127.0.0.1:%(machines_inside)s;
        proxy_set_header Host $http_host;
        proxy_set_header X-Real-IP $remote_addr;
        proxy_buffering off;
        proxy_read_timeout 1h;
    }
    location = /machines {
        return 308 https://$http_host/machines/;
    }
}

# Boot media, under names nobody guesses, and the call home. Management controllers read here, too: no list of readers.
server {
    listen %(media_port)s ssl;
%(tls)s    root %(media)s;
    limit_conn sources %(connections)s;
    client_header_timeout 10s;
    location / {
        limit_except GET { deny all; }
    }
    location /v1/ {
        client_max_body_size 64k;
        client_body_timeout 10s;
        limit_req zone=calls burst=200;
        proxy_pass http://127.0.0.1:%(contact_inside)s;
        proxy_set_header Host $http_host;
    }
}
"""
TLS_TEXT = f"""\
    ssl_certificate {PEM};
    ssl_certificate_key {PEM};
    ssl_protocols TLSv1.2 TLSv1.3;
    access_log off;
"""


def values(wanted: Mapping[str, Any], *, environment: Path) -> dict[str, Any]:
    """Return the variables of the templates above, from the module's options and the environment's directory."""
    own = {
        "state": STATE, "database": DATABASE, "media": MEDIA, "conf": CONF, "passwords": PASSWORDS, "ca": CA,
        "runner_passwords": RUNNER_PASSWORDS,
        "programs": PROGRAMS, "environment": environment, "tls": TLS_TEXT, "initramfs": INITRAMFS,
        "own_ramdisk": RAMDISK, "bounded": " ".join(BOUNDED), "kernel_options": KERNEL_OPTIONS,
        "inventory_kib": INVENTORY_KIB, "connections": CONNECTIONS,
        "boot_url": wanted.get("boot_url") or wanted["media_url"],
        "discovery": str(bool(wanted.get("discovery"))).lower(),
    }  # fmt: skip
    return {**wanted, **own}


def conf(found: Mapping[str, Any]) -> str:
    return files.HEADER + CONF_TEXT % found


def units(found: Mapping[str, Any]) -> dict[Path, str]:
    """Return both units, by path."""
    return {UNIT: files.HEADER + UNIT_TEXT % found, CONTACT_UNIT: files.HEADER + CONTACT_UNIT_TEXT % found}


def web(found: Mapping[str, Any]) -> str:
    """Return nginx's configuration: TLS for the API, boot media, the call home."""
    return files.HEADER + WEB_TEXT % found
