#pragma once
// A sampler that runs in processes of its own: sampler.process.

#include <memory>
#include <string>
#include <vector>

#include "sampling/core/settings.h"
#include "sampling/sampler.h"

namespace flowtrain {

/// The program that runs samplers: this one. Called by `flowtrain` when it starts; other programs have none.
void set_sampler_program(const std::string& path);

/// The sampler that `settings`, the table [sampler], names, in other processes: one for each thread that samples at the
/// same time. `plugins` are opened there. The rows are those that it would make in this process. Where a process
/// crashes, exits, is killed or takes longer than process_timeout, sample() throws SampleError, and another process
/// takes its place. Throws UserError(usage) in other programs than `flowtrain`, and what making the sampler throws.
///
/// Of the data set, the sampler's factory sees its size, classes, boxes, fingerprint and first record.
std::unique_ptr<Sampler> make_isolated_sampler(const Settings& settings, const std::vector<std::string>& plugins,
                                               const SamplerInput& input);

/// Runs a sampler for the process that started this one; what `flowtrain run-sampler` does. Returns the exit code.
int run_sampler_process();

}  // namespace flowtrain
