#pragma once
// A sampler that runs in processes of its own (sampler.process).

#include <memory>
#include <string>
#include <vector>

#include "sampling/core/settings.h"
#include "sampling/sampler.h"

namespace flowtrain {

/// Makes the sampler of `settings`, the table [sampler], in other processes: one for each thread that samples at the
/// same time. They open `plugins`. The rows are those that it would make in this process. If a process crashes, exits,
/// is killed or takes longer than process_timeout, sample() throws SampleError, and another process takes its place.
/// The processes run this program again, with one word (protocol.h), at which its main() calls run_sampler_process().
/// Throws UserError(usage) if a process cannot be started, and any error of making the sampler.
///
/// The sampler's factory sees only the data set's size, classes, boxes, fingerprint and first record.
std::unique_ptr<Sampler> make_isolated_sampler(const Settings& settings, const std::vector<std::string>& plugins,
                                               const SamplerInput& input);

/// Runs a sampler for the process that started this one (`flowtrain run-sampler`). Returns the exit code.
int run_sampler_process();

}  // namespace flowtrain
