#pragma once
// The data that a run validates on: [data.val]'s and each [[val.set]]'s.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/base/config/config.h"
#include "pipeline/engine/graph/graph.h"
#include "pipeline/engine/session/assembly.h"
#include "pipeline/engine/validation/detection.h"
#include "stages/core/group.h"
#include "stages/loader/bad_samples.h"

namespace flowtrain {

/// One of the sets.
struct ValidationData {
  std::string name;  ///< empty: [data.val]
  Config config;     ///< with its data as [data.val]
  DataParts data;
  std::optional<DetectionMetrics> detection = {};  ///< where val.metrics names metrics of boxes
  std::unique_ptr<Loader> loader = {};             ///< made by the session
  std::optional<BadSamples> bad = {};

  ValidationData(std::string called, Config own, DataParts opened)
      : name(std::move(called)), config(std::move(own)), data(std::move(opened)) {}
  /// In thread names, and in the drawing.
  std::string label() const { return name.empty() ? "val" : "val " + name; }
  /// Of one validation.
  std::uint64_t batches() const;
};

/// [data.val]'s first, where it is not empty; none where nothing is validated. At addresses that stay.
using ValidationSets = std::vector<std::unique_ptr<ValidationData>>;

/// Told of a set without samples, by name; empty: [data.val].
using OnEmptySet = std::function<void(const EmptyDataset& empty, const std::string& set)>;

/// A set's name, and the configuration with its data as [data.val].
struct SetConfig {
  std::string name;  ///< empty: [data.val]
  Config config;
};

/// [data.val]'s and each [[val.set]]'s.
std::vector<SetConfig> validation_set_configs(const Config& config);

/// Opens them all but those that are empty, which `on_empty` (may be null) is told of. Their classes become those that
/// the net learns, `learnt`; where a set lacks some, a line tells if `is_leader`. `needs_targets`: see
/// open_validation_data(). Throws UserError: data, also for a class that is not among `learnt`; usage for a rule about
/// the group of a class that there is not.
ValidationSets open_validation_sets(const std::vector<SetConfig>& configs, const std::vector<std::string>& learnt,
                                    const std::string& device, const DataSlice& data_slice, bool is_leader,
                                    const OnEmptySet& on_empty = {}, bool needs_targets = true);

/// A warning of a set that a run goes on without, and of the rules that can never fire then.
void tell_empty_set(const EmptyDataset& empty, const std::string& set, const Config& config);

/// A warning for each set whose samples are those of the training data: what it measures says nothing of others.
void warn_of_same_samples(const Dataset& training, const ValidationSets& sets);

/// Throws UserError(data) where data.val_share has held out other samples here than in rank 0, whose machine has other
/// files, or another list of what was held out before. A collective.
void check_split(const Dataset& training, Group& group);

/// Throws UserError(data) where the samplers' rows have not all one form: the learner takes but one.
void check_rows(const ValidationSets& sets);

/// Whether the set that a rule's metric is of (as [[best]] names it) is among them: without it the rule is not to act.
bool has_set_of(const ValidationSets& sets, const Config& config, const std::string& scalar);

/// ", 1,000 for validation, 500 of night"; empty where there are none.
std::string describe_sizes(const ValidationSets& sets);

}  // namespace flowtrain
