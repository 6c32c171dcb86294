"""CoNLL-U: the text as its comment says or as the words stand on the page; a broken sentence costs itself alone."""

from typing import Any

import pytest

from attnx.corpus.records import CorpusRow


def word(number: str, form: str, misc: str = "_") -> str:
    return "\t".join((number, form, *["_"] * 7, misc)) + "\n"


def test_text_and_id_are_those_of_the_comments(read: Any) -> None:
    content = "# newdoc\n# sent_id = s-1\n# text = Кот спит.\n" + word("1", "Кот") + word("2", "спит") + "\n\n"
    assert read("a.conllu", content + "# text = Да\n" + word("1", "Да")) == [
        CorpusRow(0, "s-1", "Кот спит.", "a.conllu", 1),
        CorpusRow(1, "a.conllu:8", "Да", "a.conllu", 8),
    ]


def test_without_a_comment_the_words_stand_as_on_the_page(read: Any, texts: Any) -> None:
    content = (
        word("1-2", "vámonos", "SpaceAfter=No")
        + word("1", "vamos")
        + word("2", "nos")
        + word("3", ",")
        + word("3.1", "nosotros")
        + word("4", "al", "Gloss=to|SpaceAfter=No")
        + word("5", "mar")
    )
    assert texts(read("a.conllu", content)) == ["vámonos, almar"]
    chinese = "".join(word(str(n), form, "SpaceAfter=No") for n, form in enumerate(("我", "爱", "北京"), 1))
    assert texts(read("a.conllu", chinese.replace("\n", "\r\n"))) == ["我爱北京"]


@pytest.mark.parametrize(
    ("broken", "line", "key"),
    [
        ("1\tone\n", 5, "row_fields"),
        (word("1", "a") + word("3", "c"), 6, "conllu_word"),
        (word("2", "b"), 5, "conllu_word"),
        (word("x", "b"), 5, "conllu_word"),
        (word("9" * 5000, "b"), 5, "conllu_word"),
        (word("1", ""), 5, "conllu_word"),
        ("a line of text\n", 5, "row_fields"),
        ("", 4, "conllu_no_words"),
        (word("1", "x" * 1_100_000), 4, "row_too_long"),
        (word("1", "x") * 60_000, 4, "row_too_long"),
    ],
)
def test_a_broken_sentence_is_named_and_the_rest_goes_on(
    broken: str, line: int, key: str, read: Any, texts: Any, bad: Any
) -> None:
    good = "# text = one\n" + word("1", "one") + "\n"
    items = read("a.conllu", f"{good}# sent_id = bad\n{broken}\n{good}")
    assert texts(items) == ["one", "one"]
    assert bad(items) == [(line, key)]
