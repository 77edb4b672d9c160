"""Prints as JSON what Prometheus' own parser finds at an endpoint: read_prometheus.py URL."""
import json
import sys
import urllib.request

from prometheus_client.parser import text_string_to_metric_families

with urllib.request.urlopen(sys.argv[1], timeout=30) as answer:
    text = answer.read().decode()
json.dump(
    {
        family.name: {
            "type": family.type,
            "help": family.documentation,
            "samples": [[sample.name, sample.labels, sample.value] for sample in family.samples],
        }
        for family in text_string_to_metric_families(text)
    },
    sys.stdout,
)
