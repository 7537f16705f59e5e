# Horizon's application with this site's settings, under mod_wsgi.
import os
import sys

sys.path.insert(0, "/etc/openstack-dashboard")
os.environ["DJANGO_SETTINGS_MODULE"] = "openstack_dashboard.settings"

from django.core.wsgi import get_wsgi_application  # noqa: E402

application = get_wsgi_application()
