"""144 heatmaps as a PDF, by attnx and by matplotlib: python tests/benchmarks/heatmaps.py.

Needs matplotlib, which attnx itself does not: python -m pip install matplotlib
Both sides start from the same weights in memory, with everything imported and the fonts found. attnx makes its
report's section of all heads: views, label pictures, subset font, HTML, tagged PDF; the views of the other
sections are made too, and so count against it. matplotlib makes a 12 × 12 grid of `imshow` with a tick label for
every token.
"""

from __future__ import annotations

import base64
from dataclasses import replace
from io import BytesIO
from typing import TYPE_CHECKING

from timing import in_turn, median, spread

import attnx
from attnx.i18n import load_catalog
from attnx.report.build import report_view
from attnx.report.fonts import subset_font
from attnx.report.html import environment
from attnx.report.pdf import render_pdf

if TYPE_CHECKING:
    from attnx.report.document import Document

LEAST = 10.0
SIZES = (16, 64)
TEXT = " ".join(["The old boat creaks at the pier, and the fishermen drink tea from tin mugs."] * 4)


def main() -> None:
    """Print the seconds and sizes of both, and the ratios."""
    encoder = attnx.load_encoder()
    for size in SIZES:
        document = attnx.analyze(TEXT, encoder=replace(encoder, max_tokens=size))  # cut to `size` tokens
        jobs = {"attnx": lambda d=document: by_attnx(d), "matplotlib": lambda d=document: by_matplotlib(d)}
        sizes = {name: len(job()) / 1000 for name, job in jobs.items()}  # also warms up both
        times = in_turn(jobs)
        for name, seconds in times.items():
            print(f"{size} tokens  {name:10}  {spread(seconds)}  {sizes[name]:.0f} kB")
        ratio = median(times["matplotlib"]) / median(times["attnx"])
        print(f"{size} tokens  attnx is {ratio:.1f} × faster (limit: at least {LEAST:g} ×)")


def by_attnx(document: Document) -> bytes:
    """Return the PDF of the section of all heads."""
    t = load_catalog("en")
    view = report_view(document, t)
    context = {"report": view, "t": t, "paged": True}
    section = environment().get_template("sections/heads.html.j2")
    body = section.render(context, sentence=view.sentences[0])
    body = f'<main><article class="sentence-1"><section class="heads">{body}</section></article></main>'
    font = f"data:font/otf;base64,{base64.b64encode(subset_font(body, 'otf', t.language)).decode()}"
    html = environment().get_template("report.html.j2").render(context, body=body, font=font)
    return render_pdf(html, "{}", document.provenance.created)


def by_matplotlib(document: Document) -> bytes:
    """Return the PDF of a grid of heatmaps with labeled axes."""
    from matplotlib.figure import Figure

    sentence = document.sentences[0]
    labels = [token.text for token in sentence.tokens]
    layers, heads = sentence.maps.shape[:2]
    figure = Figure(figsize=(3 * heads, 3 * layers))
    grid = figure.subplots(layers, heads)
    for layer in range(layers):
        for head in range(heads):
            axes = grid[layer, head]
            axes.imshow(sentence.maps[layer, head], cmap="viridis")
            axes.set_xticks(range(len(labels)), labels, rotation=90, fontsize=4)
            axes.set_yticks(range(len(labels)), labels, fontsize=4)
            axes.set_title(f"L{layer + 1}·H{head + 1}", fontsize=6)
    file = BytesIO()
    figure.savefig(file, format="pdf")
    return file.getvalue()


if __name__ == "__main__":
    main()
