"""SPDL: FFmpeg decodes and resizes; workers are the threads of its pipeline, each makes whole batches."""

import random

import numpy
import spdl.io
from spdl.pipeline import PipelineBuilder

import augmentation

LIBRARY = "spdl"
RESIZE = "antialias (FFmpeg, bilinear)"
MEAN, DEVIATION = numpy.float32(augmentation.MEAN), numpy.float32(augmentation.DEVIATION)


def _frames(path):
    packets = spdl.io.demux_image(path)
    mirror = ",hflip" if random.random() < 0.5 else ""
    left, top, width, height = augmentation.random_cut(packets.width, packets.height, random.uniform)
    chain = f"crop={width}:{height}:{left}:{top}:exact=1,scale=224:224:flags=bilinear{mirror},format=rgb24"
    return spdl.io.decode_packets(packets, filter_desc=chain)


def batches(pictures, workers, floats, work):
    spdl.io.demux_image(pictures[0])  # It throws if FFmpeg's libraries are missing; the pipeline would hang.

    def paths():
        while True:
            yield from random.sample(pictures, len(pictures))

    def make(chosen):
        batch = spdl.io.to_numpy(spdl.io.convert_frames([_frames(path) for path in chosen]))
        return (batch.astype(numpy.float32) / 255 - MEAN) / DEVIATION if floats else batch

    pipeline = (PipelineBuilder().add_source(paths()).aggregate(augmentation.BATCH)
                .pipe(make, concurrency=workers).add_sink(2).build(num_threads=workers))
    with pipeline.auto_stop():
        yield from pipeline
