"""How good the rows are that augmentations made.

| file | holds |
|---|---|
| `figures` | `quality_of`: every figure, by method |
| `sources` | which row each new row was made of |
| `texts` | how varied the new texts are, and how they repeat their sources |
| `bleu` | BLEU over words |
| `drift` | whether a trained model still finds the source's labels |
| `similarity` | how near a text encoder puts a query to other texts |
| `examples` | new rows beside their sources |
| `tables` | the figures as cells of text |
| `page` | the HTML page |
"""
