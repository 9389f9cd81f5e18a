"""How the documentation is built: `make docs`, offline, with warnings as errors."""

from __future__ import annotations

import os
from pathlib import Path

from sphinx_gallery.sorting import FileNameSortKey

import dormie

project = "dormie"
author = copyright = "the dormie developers"
version = release = dormie.__version__

extensions = [
    "myst_parser",
    "matplotlib.sphinxext.plot_directive",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/*.ipynb", "gallery/*.py", "gallery/*.py.md5", "gallery/*.zip", "gallery/*.json"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
numpydoc_show_class_members = False
autosummary_generate = True
autodoc_default_options = {"members": True, "inherited-members": False}
autodoc_typehints = "none"  # the sections of parameters say it in words
suppress_warnings = [
    "config.cache",  # the order of the gallery is a function, which is never kept
    "ref.ref",  # methods that scikit-learn adds refer to its own documentation, which is not here
    "ref.term",
]

ROOT = Path(__file__).parent.parent
sphinx_gallery_conf = {
    "examples_dirs": [str(ROOT / "examples" / "gallery")],
    "gallery_dirs": ["gallery"],
    "filename_pattern": "/plot_",
    "within_subsection_order": FileNameSortKey,
    "download_all_examples": False,
    "abort_on_example_error": True,
    "show_memory": False,
    "min_reported_time": 60,
}

# Pictures are drawn by scripts, while the pages are built.
plot_formats = [("png", 160)]
plot_html_show_formats = False
plot_html_show_source_link = False
plot_rcparams = {"font.size": 10}
plot_apply_rcparams = True

html_theme = "pydata_sphinx_theme"
html_title = "dormie"
html_theme_options = {"show_toc_level": 2, "navbar_align": "left", "secondary_sidebar_items": ["page-toc"]}
# Only folders have pages to list at the left; elsewhere the width is for tables.
html_sidebars = {page.stem: [] for page in Path(__file__).parent.glob("*.md")}
html_show_sourcelink = False

os.environ.setdefault("MPLBACKEND", "agg")
