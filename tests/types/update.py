"""Measure every type and write attnx/encoders/types.csv: ``python -m tests.types.update``."""

import csv
import sys
from dataclasses import asdict, fields

from transformers.utils import logging

from attnx.encoders.coverage import TABLE, TypeCoverage
from tests.types.matrix import DECODERS, measure
from tests.types.sources import text_encoder_types


def main() -> None:
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    rows, wrong = [], []
    for model_type in (*text_encoder_types(), *DECODERS):
        try:
            rows.append(measure(model_type))
        except Exception as error:
            wrong.append(f"{model_type}: {error!r}")
    if wrong:
        sys.exit("\n".join([*wrong, "The table is not written: these are neither shown exactly nor refused."]))
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(TypeCoverage)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(map(asdict, rows))


if __name__ == "__main__":
    main()
