"""File formats, one module each, with reader and writer.

A reader turns a file into unresolved `columns.Columns`; `resolve` turns the label references of all splits
into one `LabelSpace` and `Dataset`s. `jsonl` and `parquet` go the quick way of `table` where they can, and
the careful way of `rows` where anything is unusual or wrong.
"""
