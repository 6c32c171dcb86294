"""Where templates and locales are: inside the installed package, or beside it in a checkout."""

from functools import cache
from pathlib import Path


@cache
def resource_dir(name: str) -> Path:
    """Return the folder `name` (``templates`` or ``locales``).

    The wheel carries both folders inside the package; an editable install finds them at the checkout's
    top. The package is asked first, so that a stray folder of the same name in site-packages never wins.
    """
    package = Path(__file__).resolve().parent
    packaged = package / name
    return packaged if packaged.is_dir() else package.parent / name
