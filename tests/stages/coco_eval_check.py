"""Evaluates with pycocotools: coco_eval_check.py INSTANCES RESULTS.

Prints the twelve numbers of all classes together, then a line of twelve for each class. Without arguments it only tells
by its exit code whether pycocotools is there.
"""
import contextlib
import sys

import numpy
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval


def mean(values):
    known = values[values > -1]
    return numpy.mean(known) if known.size else -1.0


def of_class(run, k):
    precision, recall = run.eval["precision"][:, :, k], run.eval["recall"][:, k]
    return [mean(precision[:, :, 0, 2]), mean(precision[0, :, 0, 2]), mean(precision[5, :, 0, 2]),
            *(mean(precision[:, :, a, 2]) for a in (1, 2, 3)), *(mean(recall[:, 0, m]) for m in (0, 1, 2)),
            *(mean(recall[:, a, 2]) for a in (1, 2, 3))]


if len(sys.argv) > 1:
    with contextlib.redirect_stdout(sys.stderr):
        truth = COCO(sys.argv[1])
        run = COCOeval(truth, truth.loadRes(sys.argv[2]), "bbox")
        run.evaluate()
        run.accumulate()
        run.summarize()
    for row in [run.stats, *(of_class(run, k) for k in range(len(run.params.catIds)))]:
        print(*(float(value).hex() for value in row))
