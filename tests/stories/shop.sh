# A shop has titles, descriptions and tags in one file, and new products without tags in another.
tailwright data inspect products.csv
tailwright train products.csv --out run --model linear --set trees=1
tailwright predict run --input new.csv --id sku --k 2 --out labelled.csv
