"""What all HTML pages share: the report of a study, the page of new rows, and the demo's report.

| file | holds |
|---|---|
| `html` | Jinja2 templates to HTML, safe whatever the data are; writing the file |
| `svg` | plots that need no script and no library, in a page or as a file |
| `templates/` | the page that others extend, its style, and macros for tables, figures and predictions |
"""
