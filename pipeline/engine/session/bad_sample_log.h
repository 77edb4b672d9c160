#pragma once
// Reports bad samples: a warning each in the log, a line each in runs/<name>/bad_samples.jsonl.

#include "pipeline/base/config/config.h"
#include "pipeline/base/telemetry/json_lines.h"
#include "stages/loader/bad_samples.h"

namespace flowtrain {

/// Makes the bad-sample log of the training or the validation data, with the budget that data.bad and data.max_bad set.
/// `file` gets
/// {"iter":…,"epoch":…,"split":"train","position":…,"id":…,"name":"…","stage":"read","reason":"…","substitute":…}; it
/// may be null (runs without a folder); without `is_leader` there is no warning. The data set and the file must
/// outlive the log.
BadSamples make_bad_sample_log(const Config& config, bool training, const Dataset& dataset, JsonLinesFile* file,
                               bool is_leader = true);

}  // namespace flowtrain
