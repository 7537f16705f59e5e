"""Sphinx configuration: the guides are Markdown, the reference comes from antsibull-docs (see ci/docs)."""

project = "groundup.cloud"
author = "The groundup.cloud developers"
copyright = author
extensions = ["myst_parser", "sphinx_antsibull_ext"]
html_theme = "sphinx_ansible_theme"
html_title = "groundup.cloud"
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
# The reference links to ansible-core's own pages, which are not part of this build.
nitpick_ignore_regex = [("std:ref", r"(ansible_collections\.(?!groundup)|.*_(keywords|guide|environment|vars?)\b).*")]
