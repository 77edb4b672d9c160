"""tf.data; workers are the threads of its private pool."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
import tensorflow as tf  # noqa: E402

from augmentation import BATCH, DEVIATION, MEAN, RATIO, SCALE  # noqa: E402

LIBRARY = "tensorflow-cpu"
RESIZE = "antialias (tf.image, linear)"


def _sample(path):
    jpeg = tf.io.read_file(path)
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        tf.image.extract_jpeg_shape(jpeg), tf.zeros([1, 0, 4]), min_object_covered=0.0,
        aspect_ratio_range=RATIO, area_range=SCALE, max_attempts=10,
        use_image_if_no_bounding_boxes=True)
    top, left, _ = tf.unstack(begin)
    height, width, _ = tf.unstack(size)
    cut = tf.image.decode_and_crop_jpeg(jpeg, tf.stack([top, left, height, width]), channels=3)
    picture = tf.image.random_flip_left_right(tf.image.resize(cut, (224, 224), antialias=True))
    return tf.ensure_shape(picture, (224, 224, 3))  # f32, 0 … 255


def _to_u8(picture):
    return tf.cast(tf.round(picture), tf.uint8)


def _normalised(picture):
    return (picture / 255 - MEAN) / DEVIATION


def batches(pictures, workers, floats, work):
    finish = _normalised if floats else _to_u8
    dataset = (tf.data.Dataset.from_tensor_slices(pictures).shuffle(len(pictures)).repeat()
               .map(lambda path: finish(_sample(path)), num_parallel_calls=workers, deterministic=True)
               .batch(BATCH).prefetch(2))
    options = tf.data.Options()
    options.threading.private_threadpool_size = workers
    return dataset.with_options(options).as_numpy_iterator()
