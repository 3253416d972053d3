"""File formats, one module for each or for two that are alike, with reader and writer.

A reader turns a file into unresolved `columns.FileColumns`; `resolve` turns the label references of all
splits into one `LabelSpace` and `Dataset`s. `jsonl` and `parquet` read whole columns (`table`) where they
can, and row by row (`rows`) where anything is unusual or wrong.
"""
