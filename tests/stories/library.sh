# A library has titles with subjects as Annif takes them, and the vocabulary of the subjects as SKOS.
tailwright train titles.tsv --vocabulary subjects.ttl --language en --out run --model linear --set trees=1
tailwright predict run "The harbours of the north" --k 2 --json
