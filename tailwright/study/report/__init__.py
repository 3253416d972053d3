"""The report: one HTML file with tables, plots and test rows of a study or of runs picked by hand."""

from tailwright.study.report.writing import write_report

__all__ = ["write_report"]
