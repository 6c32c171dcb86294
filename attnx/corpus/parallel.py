"""Tables that say the same in several languages, a column each: ``zh``, ``ru``, ``en``."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice

from attnx.corpus.reading import read_corpus, refusal
from attnx.corpus.records import BadRow, CorpusOptions, CorpusRow
from attnx.errors import InputError
from attnx.i18n import languages
from attnx.texts.sentence import Sentence, read_sentence

SUFFIXES = (".tsv", ".tab", ".csv")


def read_parallel(path: str, rows: int) -> Iterator[Sentence]:
    """Yield the sentences of the first rows, row by row, from each column that is called like a language.

    A row with an empty text is left out. Raises InputError for a table without such a column, and for a record that
    cannot be used.
    """
    columns = {language: _column(path, language) for language in languages()}
    texts = {language: found for language, found in columns.items() if found is not None}
    if not texts:
        raise InputError("columns_no_language", path=path, columns=", ".join(languages()))
    whole = (line for line in next(iter(texts.values())) if all(line in found for found in texts.values()))
    for line in islice(whole, rows):
        for language, found in texts.items():
            yield replace(read_sentence(found[line]), language=language)


def _column(path: str, language: str) -> Mapping[int, str] | None:
    """Return the texts of the column by their lines, None where there is none."""
    found = {}
    try:
        for item in read_corpus([path], CorpusOptions(column=language)):
            if isinstance(item, BadRow):
                raise refusal(item)
            if isinstance(item, CorpusRow):
                found[item.line] = item.text
    except InputError as error:
        if error.key == "column_missing":
            return None
        raise
    return found
