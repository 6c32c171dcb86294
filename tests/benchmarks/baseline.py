"""What report.py compares with: load a model and its tokenizer, and run one eager forward pass on a text.

python tests/benchmarks/baseline.py builtin|FOLDER TEXT
"""

import sys


def main(name: str, text: str) -> None:
    """Do it, with attnx's own loader for the built-in model and as anyone would write it for a folder."""
    import torch

    if name == "builtin":
        from attnx.encoders.builtin import load_builtin

        model, tokenizer, _ = load_builtin()
    else:
        from transformers import AutoModel, AutoTokenizer

        model = AutoModel.from_pretrained(name, attn_implementation="eager").eval()
        tokenizer = AutoTokenizer.from_pretrained(name)
    with torch.inference_mode():
        model(**tokenizer(text, return_tensors="pt"), output_attentions=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
