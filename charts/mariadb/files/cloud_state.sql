-- What a member tells of the cloud (exporter.py): the auditor may call these procedures, and reads no row.
-- They may be made before the tables. How old a heartbeat may be: defaults of Nova, Cinder and Neutron.
CREATE DATABASE IF NOT EXISTS groundup;
CREATE OR REPLACE DEFINER = ADMIN@'localhost' PROCEDURE groundup.nova_agents()
  SELECT 'openstack_nova_agent_state', `binary`, IF(`binary` = 'nova-compute', host, ''),
    IF(disabled OR forced_down, 'disabled', 'enabled'),
    MAX(COALESCE(last_seen_up, created_at) >= UTC_TIMESTAMP() - INTERVAL 60 SECOND)
  FROM nova.services WHERE deleted = 0 AND `binary` IN ('nova-compute', 'nova-conductor', 'nova-scheduler')
  GROUP BY 2, 3, 4;
CREATE OR REPLACE DEFINER = ADMIN@'localhost' PROCEDURE groundup.cinder_agents()
  SELECT 'openstack_cinder_agent_state', `binary`, IF(`binary` = 'cinder-scheduler', '', host),
    IF(disabled, 'disabled', 'enabled'), MAX(updated_at >= UTC_TIMESTAMP() - INTERVAL 60 SECOND)
  FROM cinder.services WHERE deleted = 0
  GROUP BY 2, 3, 4;
CREATE OR REPLACE DEFINER = ADMIN@'localhost' PROCEDURE groundup.neutron_agents()
  SELECT 'openstack_neutron_agent_state', `binary`, host,
    IF(admin_state_up, 'enabled', 'disabled'), MAX(heartbeat_timestamp >= UTC_TIMESTAMP() - INTERVAL 75 SECOND)
  FROM neutron.agents
  GROUP BY 2, 3, 4;
CREATE OR REPLACE DEFINER = ADMIN@'localhost' PROCEDURE groundup.nova_objects()
  SELECT 'groundup_cloud_objects', 'instances', COUNT(failed OR NULL),
    COUNT(failed AND since >= UTC_TIMESTAMP() - INTERVAL 1 HOUR OR NULL),
    COUNT(moves AND since < UTC_TIMESTAMP() - INTERVAL 1 HOUR OR NULL)
  FROM (SELECT vm_state = 'error' AS failed, vm_state = 'building' OR task_state = 'deleting' AS moves,
      COALESCE(updated_at, created_at) AS since FROM nova.instances WHERE deleted = 0
    UNION ALL SELECT vm_state = 'error', FALSE, COALESCE(updated_at, created_at)
      FROM nova_cell0.instances WHERE deleted = 0
    UNION ALL SELECT FALSE, TRUE, created_at FROM nova_api.build_requests) AS each_one;
CREATE OR REPLACE DEFINER = ADMIN@'localhost' PROCEDURE groundup.cinder_objects()
  SELECT 'groundup_cloud_objects', 'volumes', COUNT(failed OR NULL),
    COUNT(failed AND since >= UTC_TIMESTAMP() - INTERVAL 1 HOUR OR NULL),
    COUNT(moves AND since < UTC_TIMESTAMP() - INTERVAL 1 HOUR OR NULL)
  FROM (SELECT status LIKE 'error%' AS failed, status IN ('creating', 'downloading', 'deleting') AS moves,
      COALESCE(updated_at, created_at) AS since FROM cinder.volumes WHERE deleted = 0) AS each_one;
CREATE OR REPLACE DEFINER = ADMIN@'localhost' PROCEDURE groundup.octavia_objects()
  SELECT 'groundup_cloud_objects', 'load balancers', COUNT(failed OR NULL),
    COUNT(failed AND since >= UTC_TIMESTAMP() - INTERVAL 1 HOUR OR NULL),
    COUNT(moves AND since < UTC_TIMESTAMP() - INTERVAL 1 HOUR OR NULL)
  FROM (SELECT provisioning_status = 'ERROR' AS failed, provisioning_status LIKE 'PENDING%' AS moves,
      COALESCE(updated_at, created_at) AS since FROM octavia.load_balancer) AS each_one;
GRANT EXECUTE ON groundup.* TO AUDIT@'%';
