"""attnx: explore attention heads of any Hugging Face encoder, in Chinese, Russian and English.

The Python interface does what the commands do::

    import attnx

    document = attnx.analyze("王者荣耀怎么玩")
    document.sentences[0].scopes["content"].values["entropy"]  # float64 [layers, heads]
    attnx.save(document, "report.pdf", language="ru")
"""

from attnx.api import analyze, load_encoder, read, save
from attnx.version import __version__

__all__ = ["__version__", "analyze", "load_encoder", "read", "save"]
