"""Memory that is free, but that the C library keeps."""

import ctypes
import sys

PLATFORM = "linux"


def give_back() -> None:
    """Give free memory back to the system.

    Batches of ever other sizes leave gaps that the next do not fit; glibc would keep some 6 MB more after every
    thousand sentences.
    """
    if sys.platform == PLATFORM and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)
