"""Sphinx configuration: the guides are Markdown, the reference comes from antsibull-docs (see ci/docs)."""

project = "groundup.cloud"
author = "The groundup.cloud developers"
copyright = author
extensions = ["myst_parser", "sphinx_antsibull_ext", "sphinx_copybutton"]
html_theme = "furo"  # search, light and dark, the headings of a page beside it; nothing from another server
html_title = "groundup.cloud"
html_static_path = ["_static"]
html_css_files = ["guides.css"]
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}
# The button copies the commands of a console block, without prompts and output.
antsibull_ext_color_scheme = "default-autodark"  # of tables of options
copybutton_prompt_text = r"[$#] "
copybutton_prompt_is_regexp = True
copybutton_here_doc_delimiter = "EOF"
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
# The reference links to ansible-core's own pages, which are not part of this build.
nitpick_ignore_regex = [("std:ref", r"(ansible_collections\.(?!groundup)|.*_(keywords|guide|environment|vars?)\b).*")]
