#!/usr/bin/env python3
"""Makes an n-gram language model of texts, for decode.language_model: a file in the ARPA format.

    python examples/ngram.py TEXTS.txt lm.arpa [--order 3] [--characters] [--least 1]

TEXTS.txt has a text a line. --characters makes a model of characters instead of words, for labels whose tokens are
characters; a space is written as U+2581. n-grams of two and more words that occur fewer than --least times are left
out. Probabilities are those of interpolated Witten-Bell smoothing (I. H. Witten, T. C. Bell, "The zero-frequency
problem", 1991): with T different words after a context that occurs N times, p(w | context) =
(count + T p(w | shorter context)) / (N + T). kenlm's lmplz makes better models of large texts.
"""
import argparse
import math
from collections import Counter, defaultdict


def counts_of(path, order, characters):
    counts = [Counter() for _ in range(order)]
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            words = list("\u2581".join(line.split())) if characters else line.split()
            words = ["<s>", *words, "</s>"] if words else []
            for end in range(1, len(words)):
                for length in range(1, min(order, end + 1) + 1):
                    counts[length - 1][tuple(words[end - length + 1:end + 1])] += 1
    return counts


def estimate(counts):
    """Returns the probabilities of all n-grams by length, and the weights of shorter ones by context."""
    vocabulary = len(counts[0]) + 1  # with <unk>
    probabilities, weights = [], {}
    for length, own in enumerate(counts):
        total, kinds = defaultdict(int), defaultdict(int)
        for ngram, count in own.items():
            total[ngram[:-1]] += count
            kinds[ngram[:-1]] += 1
        for context in total:
            weights[context] = kinds[context] / (total[context] + kinds[context])
        shorter = probabilities[-1] if length else defaultdict(lambda: 1 / vocabulary)
        probabilities.append({
            ngram: (count + kinds[ngram[:-1]] * shorter[ngram[1:]]) / (total[ngram[:-1]] + kinds[ngram[:-1]])
            for ngram, count in own.items()})
    probabilities[0][("<unk>",)] = weights[()] / vocabulary
    return probabilities, weights


def write(path, probabilities, weights):
    probabilities[0][("<s>",)] = 1e-99
    with open(path, "w", encoding="utf-8") as file:
        file.write("\\data\\\n")
        for length, own in enumerate(probabilities, 1):
            file.write(f"ngram {length}={len(own)}\n")
        for length, own in enumerate(probabilities, 1):
            file.write(f"\n\\{length}-grams:\n")
            for ngram, probability in sorted(own.items()):
                weight = weights.get(ngram) if length < len(probabilities) else None
                file.write(f"{math.log10(probability):.6f}\t{' '.join(ngram)}" +
                           (f"\t{math.log10(weight):.6f}\n" if weight else "\n"))
        file.write("\n\\end\\\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("texts")
    parser.add_argument("out")
    parser.add_argument("--order", type=int, default=3)
    parser.add_argument("--characters", action="store_true")
    parser.add_argument("--least", type=int, default=1)
    options = parser.parse_args()
    counts = counts_of(options.texts, options.order, options.characters)
    for own in counts[1:]:
        for ngram in [ngram for ngram, count in own.items() if count < options.least]:
            del own[ngram]
    write(options.out, *estimate(counts))


if __name__ == "__main__":
    main()
