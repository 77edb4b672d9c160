"""NVIDIA DALI with its CPU operators alone; workers are its threads."""

import numpy
from nvidia.dali import fn, pipeline_def, types

from augmentation import BATCH, DEVIATION, MEAN, RATIO, SCALE

LIBRARY = "nvidia-dali-cuda130"
RESIZE = "antialias (DALI, linear)"


@pipeline_def
def _pipeline(pictures, floats):
    files, _ = fn.readers.file(files=pictures, random_shuffle=True, initial_fill=1024)
    cut = fn.decoders.image_random_crop(files, device="cpu", output_type=types.RGB, random_area=SCALE,
                                        random_aspect_ratio=RATIO)
    resized = fn.resize(cut, device="cpu", size=(224, 224), interp_type=types.INTERP_LINEAR, antialias=True)
    mirror = fn.random.coin_flip(probability=0.5)
    if not floats:
        return fn.flip(resized, horizontal=mirror)
    return fn.crop_mirror_normalize(resized, dtype=types.FLOAT, output_layout="CHW", mirror=mirror,
                                    mean=[255 * mean for mean in MEAN],
                                    std=[255 * deviation for deviation in DEVIATION])


def batches(pictures, workers, floats, work):
    pipe = _pipeline(pictures, floats, batch_size=BATCH, num_threads=workers, device_id=None, prefetch_queue_depth=2)
    pipe.build()
    while True:
        (images,) = pipe.run()
        yield numpy.asarray(images.as_tensor())
