#pragma once
// A sampler that runs in processes of its own: sampler.process.

#include <memory>
#include <string>
#include <vector>

#include "sampling/core/settings.h"
#include "sampling/sampler.h"

namespace flowtrain {

/// The sampler that `settings`, the table [sampler], names, in other processes: one for each thread that samples at the
/// same time. `plugins` are opened there. The rows are those that it would make in this process. Where a process
/// crashes, exits, is killed or takes longer than process_timeout, sample() throws SampleError, and another process
/// takes its place. The processes are this program once more, with one word (protocol.h), at which its main() calls
/// run_sampler_process(). Throws UserError(usage) where there is no such process, and what making the sampler throws.
///
/// Of the data set, the sampler's factory sees its size, classes, boxes, fingerprint and first record.
std::unique_ptr<Sampler> make_isolated_sampler(const Settings& settings, const std::vector<std::string>& plugins,
                                               const SamplerInput& input);

/// Runs a sampler for the process that started this one; what `flowtrain run-sampler` does. Returns the exit code.
int run_sampler_process();

}  // namespace flowtrain
