#pragma once
// Metrics of nets that give a sequence: `prediction` (B, T) against `target` (B, U), each ended by its first negative
// value.

#include "nets/metrics/metric.h"

namespace flowtrain::nets {

/// error_rate: tokens to insert, remove and replace to get the target, over the target's tokens (V. I. Levenshtein,
/// 1966); may exceed 1. span_precision, span_recall, span_f1: of tags, of which 0 is outside, 2k - 1 begins a span of
/// kind k and 2k goes on with it; one that goes on with nothing of its kind begins a span, as conlleval has it (E. F.
/// Tjong Kim Sang, S. Buchholz, CoNLL-2000). A span is right if begin, end and kind are; tags after the target's end do
/// not count. Null for other names.
std::unique_ptr<Metric> make_sequence_metric(const std::string& name);
std::vector<std::string> sequence_metric_names();

}  // namespace flowtrain::nets
