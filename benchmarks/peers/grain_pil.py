"""Google's grain with worker processes; Pillow decodes and resizes."""

import io

import grain
import numpy
from PIL import Image

import augmentation

LIBRARY = "grain"
RESIZE = "antialias (Pillow)"
MEAN, DEVIATION = numpy.float32(augmentation.MEAN), numpy.float32(augmentation.DEVIATION)


class Sample(grain.transforms.RandomMap):
    def __init__(self, floats):
        self.floats = floats

    def random_map(self, path, rng):
        with open(path, "rb") as file:
            picture = Image.open(io.BytesIO(file.read())).convert("RGB")
        left, top, width, height = augmentation.random_cut(*picture.size, rng.uniform)
        picture = picture.crop((left, top, left + width, top + height)).resize((224, 224), Image.Resampling.BILINEAR)
        if rng.random() < 0.5:
            picture = picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        pixels = numpy.asarray(picture)
        return (pixels.astype(numpy.float32) / 255 - MEAN) / DEVIATION if self.floats else pixels


def batches(pictures, workers, floats, work):
    dataset = (grain.MapDataset.source(pictures).seed(1).shuffle().repeat().random_map(Sample(floats))
               .batch(augmentation.BATCH).to_iter_dataset(grain.ReadOptions(num_threads=1, prefetch_buffer_size=2))
               .mp_prefetch(grain.MultiprocessingOptions(num_workers=workers, per_worker_buffer_size=2)))
    return iter(dataset)
