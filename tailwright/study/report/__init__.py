"""The report: one HTML file with tables, plots and test rows of a study or of runs picked by hand.

| file | holds |
|---|---|
| `writing` | `write_report`: from outcomes to the file |
| `picked` | runs picked by hand as outcomes |
| `document` | the page: style, scripts, data, and the policy that keeps it off the network |
| `sections` | what sections are made of: HTML, plots with choices |
| `metrics` | 1. the table of metrics, sortable |
| `gains` | 2. gain over the baseline by label frequency |
| `distribution` | 3. label distribution before and after augmentation |
| `curves` | 4. training curves |
| `closeness` | 5. similarity of queries to other texts |
| `neighbours` | 6. neighbours in the label graph |
| `explorer` | 7. predictions, searchable |
| `cost` | 8. cost against quality |
| `making` | 9. how it was made |
| `templates/`, `assets/` | HTML and style; the page's own scripts |
"""

from tailwright.study.report.writing import write_report

__all__ = ["write_report"]
