"""Tables without a header: columns by number, or found where only one reading fits."""

from __future__ import annotations

import pytest
from format_samples import assert_refused, label_lists, put

from tailwright.data.read import read
from tailwright.data.text_source import text_source
from tailwright.errors import InputError

BARE = "a red hat;hats|red\ntwo blue shoes;shoes\na felt hat, grey;hats\n"


def _label_names(corpus):
    names = corpus.labels.names.to_pylist()
    return [[names[label] for label in row] for row in label_lists(corpus.train)]


@pytest.mark.parametrize("name", ["shop.csv", "shop.txt"])
@pytest.mark.parametrize("options", [{}, {"text": "1", "labels": "2"}])
def test_a_table_without_a_header_is_read(tmp_path, name, options):
    corpus = read(put(tmp_path / name, BARE), test_share=0, **options)
    assert corpus.train.texts.to_pylist() == ["a red hat", "two blue shoes", "a felt hat, grey"]
    assert _label_names(corpus) == [["hats", "red"], ["shoes"], ["hats"]]
    said = "no header, so columns go by number and the first row is data; text = 1; labels = 2, split at '|'"
    assert corpus.notes == (said,)
    assert read(corpus.source).same_as(corpus)


def test_columns_go_by_number_in_any_order_and_cells_may_be_quoted(tmp_path):
    file = put(tmp_path / "news.csv", '3,"Oil, up",7\n1,"A ""late""\nwin",8\n')
    corpus = read(file, text="2", labels="1", id="3", test_share=0)
    assert corpus.train.texts.to_pylist() == ["Oil, up", 'A "late"\nwin']
    assert _label_names(corpus) == [["3"], ["1"]]
    assert corpus.train.ids.to_pylist() == ["7", "8"]
    with pytest.raises(InputError, match="no column '9', expected one of 1, 2, 3"):
        read(file, text="9", labels="1")


@pytest.mark.parametrize(
    "content",
    [
        "headline,topic\na red hat,hats\na blue hat,hats\n",  # unknown names, but names: 'topic' is no label
        "3,Oil is up,a long text\n3,Oil is down,a text\n",  # three columns
        "hats,a red hat\nshoes,two blue shoes\n",  # no label of the first row occurs again
        "red hat,hats\nred hat,hats\nred hat,hats\n",  # texts that repeat are no texts
    ],
)
def test_a_table_that_may_have_a_header_asks_for_columns(tmp_path, content):
    file = put(tmp_path / "t.csv", content)
    assert_refused(
        file, file, 1, "the columns", "where there is no header, their numbers: --text 1 --labels 2"
    )


def test_texts_to_be_labelled_need_no_header_either(tmp_path):
    path = put(tmp_path / "new.csv", "7,a red hat\n8,a shoe\n")
    with text_source(path, text="2", id="1") as found:
        (block,) = found.blocks()
    assert block.texts.to_pylist() == ["a red hat", "a shoe"]
    assert block.ids.to_pylist() == ["7", "8"]
    assert found.notes == ("no header, so columns go by number and the first row is data; text = 2; id = 1",)


def test_numbers_do_not_stand_for_columns_that_have_names(tmp_path):
    with pytest.raises(InputError, match="no column '1', expected one of text, labels"):
        read(put(tmp_path / "t.csv", "text,labels\na,x\n"), text="1", labels="2")


def test_a_column_that_is_called_by_a_number_is_a_column(tmp_path):
    corpus = read(put(tmp_path / "t.csv", "1,2\na,x\n"), text="1", labels="2")
    assert corpus.train.texts.to_pylist() == ["a"]
    assert corpus.notes == ("text = 1; labels = 2, one label a cell",)
