#pragma once
// The inputs of a run beside the text of its configuration: snapshots hold them, and a resume compares them.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/base/config/config.h"
#include "pipeline/engine/session/validation_data.h"
#include "pipeline/engine/train/run_state.h"

namespace flowtrain {

/// Returns hashes (xxHash64) by name: "data.train" and "data.val" ("val.set.NAME") hash the records as far as they are
/// known without reading them (Dataset::fingerprint). A key ("sampler.plugin", "order.weights_file") hashes the
/// contents of the file that it names; a missing file has no hash.
std::map<std::string, std::string> fingerprints_of(const Config& config, const Dataset& training,
                                                   const ValidationSets& validation);

/// Returns the forms of those parts of the data set's records that [[field]]s are made from.
std::vector<PartForm> used_parts(const Config& config, const Dataset& dataset);

/// Compares the inputs of a run `now` with those `before`, when the snapshot was made, as far as both are known, and
/// logs the changes. Throws UserError(usage) for classes, training data or files whose change breaks exact resume,
/// unless that is `accepted`.
void check_inputs(const RunInputs& before, const RunInputs& now, const Config& config, bool accepted);

/// Warns of files whose contents decide what a net gets, the tokenizers and statistics of [[field]]s, and that have
/// changed since the run of `before`: its net gets other numbers than it has learnt from.
void warn_of_changed_files(const RunInputs& before, const Config& config);

}  // namespace flowtrain
