"""From a TOML file to the cells of a study.

| file | holds |
|---|---|
| `cells` | `Cell`: one training of a study, in full |
| `toml_table` | a table of a TOML file that knows where it stands |
| `axes` | datasets, systems, augmentations |
| `plan` | the whole plan as its cells |
| `search` | settings that are searched |
| `miniature` | a corpus in miniature, for quick probes |
| `estimate` | how long cells will take |
"""
