"""Interactive reports: one HTML file that shows answers of one chain, and works without a network."""

from klump.report.cells import Cells
from klump.report.figures import require_bokeh
from klump.report.page import check_report_path, write_report

__all__ = ["Cells", "check_report_path", "require_bokeh", "write_report"]
