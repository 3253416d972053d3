"""File formats, one module for each or for two that are alike, with reader and writer.

A reader asks `senses` which columns of its table are text, labels, id and weight, and turns the table into
unresolved `columns.FileColumns`: `cell_table` does it for cells (csv, workbooks, databases), `table` for
typed columns (Parquet, Arrow, JSON), as a whole where it can and row by row (`rows`) where anything is
unusual or wrong. `cells` splits label cells; `resolve` turns the label references of all splits into one
`LabelSpace` and `Dataset`s, and mends what is odd; `notes` says what was taken, left and mended.
"""
