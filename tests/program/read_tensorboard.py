"""Prints as JSON what TensorBoard's own reader finds in a folder of event files: read_tensorboard.py FOLDER."""
import base64
import json
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

KINDS = ("scalars", "images", "histograms", "tensors")

events = EventAccumulator(sys.argv[1], size_guidance={kind: 0 for kind in KINDS})  # 0: all of them
events.Reload()
tags = events.Tags()
json.dump(
    {
        "scalars": {tag: [[event.step, event.value] for event in events.Scalars(tag)] for tag in tags["scalars"]},
        "images": {
            tag: [
                [event.step, event.width, event.height, base64.b64encode(event.encoded_image_string).decode()]
                for event in events.Images(tag)
            ]
            for tag in tags["images"]
        },
        "histograms": {
            tag: [
                [event.step, event.histogram_value.num, list(event.histogram_value.bucket_limit),
                 list(event.histogram_value.bucket)]
                for event in events.Histograms(tag)
            ]
            for tag in tags["histograms"]
        },
        "texts": {
            tag: [[event.step, event.tensor_proto.string_val[0].decode()] for event in events.Tensors(tag)]
            for tag in tags["tensors"]
        },
    },
    sys.stdout,
)
