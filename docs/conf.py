"""Settings of the documentation site: ``make docs`` builds it, without a network, and every warning is an error."""

import inspect
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE / "_extensions")]

from docutils import nodes  # noqa: E402
from sphinx.util.logging import getLogger  # noqa: E402

import klump  # noqa: E402
import klump.sources.datasets  # noqa: E402

# A public name that is no module of its own, but is documented as one.
sys.modules["klump.datasets"] = klump.datasets

logger = getLogger(__name__)

project = "klump"
author = "The klump developers"
copyright = author
version = release = klump.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_click",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_extensions", "figures/*.py", "gallery", "skeletons"]
templates_path = ["_templates"]
nitpicky = True
smartquotes = False
toc_object_entries_show_parents = "hide"
# Other packages: their pages are not here, and nothing is looked up in the network.
nitpick_ignore_regex = [("py:.*", r"(matplotlib|networkx|numpy|pandas|scipy|sklearn)\..*")]

# Markdown
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_block", "colon_fence"]
suppress_warnings = ["myst.strikethrough"]

# API
autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_default_options = {"members": True, "inherited-members": True, "exclude-members": "__new__, __init__"}
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autoclass_content = "class"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# Gallery
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "generated/gallery",
    "filename_pattern": r"plot_.*\.py$",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "image_scrapers": ("klump_gallery.scrape",),
    "matplotlib_animations": False,
    "remove_config_comments": True,
    "within_subsection_order": "FileNameSortKey",
    "copyfile_regex": r".*\.csv",
    "thumbnail_size": (640, 400),
    "reset_modules": ("matplotlib",),
}

# HTML
html_theme = "pydata_sphinx_theme"
html_title = "klump"
html_static_path = ["_static"]
html_extra_path = ["generated/report"]
(HERE / "generated" / "report").mkdir(parents=True, exist_ok=True)
html_css_files = ["klump.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_copyright = False
html_context = {"default_mode": "auto"}
# The widest tables have the whole width of the window.
html_sidebars = {"glossary": [], "notation": []}
html_theme_options = {
    "logo": {"text": "klump"},
    "header_links_before_dropdown": 7,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "show_toc_level": 2,
    "navigation_depth": 3,
    "collapse_navigation": True,
    "use_edit_page_button": False,
    "footer_start": ["version"],
    "footer_end": [],
    "secondary_sidebar_items": {"**": ["page-toc"], "index": [], "glossary": [], "notation": []},
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "github-dark",
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Files of the repository that pages link to, and the pages that the site has of them.
COPIES = {"CONTRIBUTING.md": "generated/contributing.md", "CHANGELOG.md": "generated/changelog.md"}
ELSEWHERE = COPIES | {"README.md": "index.md", "gallery/GALLERY_HEADER.rst": "generated/gallery/index.rst"}
# Pages that list others: each link in a list becomes an entry of the table of contents.
SECTIONS = {
    "index",
    "getting_started",
    "guides",
    "fields",
    "reference",
    "api/index",
    "measurements/index",
    "development",
}


def copy_pages(app):
    """Make pages of the site from files beside docs/; their links to docs/ become absolute."""
    for name, target in COPIES.items():
        text = (HERE.parent / name).read_text(encoding="utf-8").replace("](docs/", "](/")
        copy = HERE / target
        if not copy.exists() or copy.read_text(encoding="utf-8") != text:
            copy.write_text(text, encoding="utf-8")


def write_example_report(app):
    """Write the report that the gallery links to, unless it is there already."""
    report = HERE / "generated" / "report" / "letters_report.html"
    if not report.exists():
        letters = klump.datasets.letter_bigrams()
        found = klump.grid(letters, range(2, 8), [0.2, 0.5, 0.8, 1.0], effort="quick")
        found.report(report, title="Letters of a novel")


def redirect_links(app, docname, source):
    """Let links to files of the repository lead to the pages that the site has of them."""
    for name, target in ELSEWHERE.items():
        source[0] = re.sub(rf"\]\((?:\.\./)*{re.escape(name)}", f"](/{target}", source[0])


def name_links(app, docname, source):
    """Give links like ``[methods.md](methods.md)`` the title of the page that they lead to."""
    source[0] = re.sub(r"\[(?:[\w/]+/)?([\w]+\.md)\]\((?=[\w./]*\1)", "[](", source[0])


def add_contents(app, docname, source):
    """Append a hidden table of contents to a page of SECTIONS, of the pages that its lists link to."""
    if docname not in SECTIONS:
        return
    items = re.findall(r"^(?:-|\d+\.) \[(.+?)\]\(([\w/.]+)\.(?:md|rst)\)", source[0], re.MULTILINE)
    lines = "\n".join(f"{title} <{page}>" for title, page in items)
    source[0] += f"\n\n```{{toctree}}\n:hidden:\n\n{lines}\n```\n"


def mark_wide_tables(app, doctree):
    """Let the style sheet know tables of more than four columns: on a phone, rows become lists."""
    for table in doctree.findall(nodes.table):
        columns = len(list(table.findall(nodes.colspec)))
        if columns > 4:
            table["classes"].append("wide")
        if app.env.docname == "glossary" and columns == 5:
            table["classes"].append("terms")
            for cell in table.findall(nodes.entry):
                cell["classes"] += ["none"] if cell.astext() == "-" else []


def skip_foreign_members(app, kind, name, member, skip, options):
    """Leave out what classes inherit from other packages and from Python."""
    function = getattr(member, "fget", None) or getattr(member, "func", None) or member
    module = getattr(inspect.unwrap(function), "__module__", None) if callable(function) else "klump"
    foreign = inspect.isroutine(function) and not str(module).startswith("klump")
    return True if foreign or name == "args" else None


def refuse_remote_files(app, error):
    """Fail if a page would load a script, a style sheet, a font or a picture from the network."""
    if error is not None or app.builder.name != "html":
        return
    for page in sorted(Path(app.outdir).rglob("*.html")):
        for tag in re.findall(r"<(?:script|link|img|iframe)\b[^>]*>", page.read_text(encoding="utf-8")):
            if re.search(r"""(?:src|href)=["']?(?:https?:)?//""", tag) and 'rel="canonical"' not in tag:
                logger.warning("%s loads a file from the network: %s", page.name, tag)
    for sheet in sorted(Path(app.outdir).rglob("*.css")):
        if re.search(r"""(?:url\(|@import )["']?(?:https?:)?//""", sheet.read_text(encoding="utf-8")):
            logger.warning("%s loads a file from the network", sheet.name)


def setup(app):
    """Connect the functions above."""
    app.connect("autodoc-skip-member", skip_foreign_members)
    app.connect("builder-inited", copy_pages)
    app.connect("builder-inited", write_example_report)
    app.connect("build-finished", refuse_remote_files)
    app.connect("doctree-read", mark_wide_tables)
    app.connect("source-read", redirect_links)
    app.connect("source-read", name_links)
    app.connect("source-read", add_contents)
