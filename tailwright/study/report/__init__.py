"""The report: one HTML file with tables, plots and test rows of a study or of runs picked by hand."""
