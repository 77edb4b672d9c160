#pragma once
// What a run's results depend on beside the text of its configuration: kept in snapshots, compared at a resume.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pipeline/base/config/config.h"
#include "pipeline/engine/session/validation_data.h"
#include "pipeline/engine/train/run_state.h"

namespace flowtrain {

/// xxHash64 by what it is of: "data.train" and "data.val" ("val.set.NAME"), the records as far as they are known
/// without reading them (Dataset::fingerprint); the contents of each file that the configuration names for the run to
/// be made of, by its key ("sampler.plugin", "order.weights_file"). A file that is not there has none.
std::map<std::string, std::string> fingerprints_of(const Config& config, const Dataset& training,
                                                   const ValidationSets& validation);

/// What of a run's state is compared.
struct Basis {
  std::uint64_t samples = 0;
  std::vector<std::string> classes = {};
  std::map<std::string, std::string> fingerprints = {};
};

Basis basis_of(const RunState& state);

/// Compares what is `now` with what was when a snapshot was made, as far as both are known, and logs what has changed.
/// Throws UserError(usage) for classes, training data or files whose change breaks exact resume, unless that is
/// `accepted`.
void check_basis(const Basis& before, const Basis& now, const Config& config, bool accepted);

}  // namespace flowtrain
