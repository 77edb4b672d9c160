#pragma once
// The data that a run validates on: [data.val] and each [[val.set]].

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
#include "pipeline/engine/validation/samples.h"
#include "stages/core/group.h"
#include "stages/loader/bad_samples.h"

namespace flowtrain {

/// One validation set.
struct ValidationData {
  std::string name;  ///< Empty for [data.val].
  Config config;     ///< The configuration with the set's data as [data.val].
  DataParts data;
  std::optional<DetectionMetrics> detection = {};  ///< Set if val.metrics names metrics of boxes.
  std::unique_ptr<Loader> loader = {};             ///< Made by the session.
  std::optional<BadSamples> bad = {};

  ValidationData(std::string called, Config own, DataParts opened)
      : name(std::move(called)), config(std::move(own)), data(std::move(opened)) {}
  /// Returns the set's name for thread names and the drawing.
  std::string label() const { return name.empty() ? "val" : "val " + name; }
  /// Returns the number of batches of one validation.
  std::uint64_t batches() const;
};

/// The sets at addresses that stay: [data.val] first if it has samples; empty if nothing is validated.
using ValidationSets = std::vector<std::unique_ptr<ValidationData>>;

/// A receiver of the names of sets without samples; the name of [data.val] is empty.
using OnEmptySet = std::function<void(const EmptyDataset& empty, const std::string& set)>;

/// A set's name, and the configuration with the set's data as [data.val].
struct SetConfig {
  std::string name;  ///< Empty for [data.val].
  Config config;
};

/// Returns those of [data.val] and of each [[val.set]].
std::vector<SetConfig> validation_set_configs(const Config& config);

/// Opens all sets that have samples, and calls `on_empty` (may be null) for the others. Their classes and the form of
/// their pictures become those that the net learns, `learnt`; if a set lacks some classes, the log of the leader says
/// so. `needs_targets` is that of open_validation_data(). Throws UserError: data, also for a class that is not among
/// the learnt ones; usage for a rule about the group of an unknown class.
ValidationSets open_validation_sets(const std::vector<SetConfig>& configs, const LearntData& learnt,
                                    const std::string& device, const DataSlice& data_slice, bool is_leader,
                                    const OnEmptySet& on_empty = {}, bool needs_targets = true);

/// Warns of a set that a run omits, and of the rules that can then never fire.
void tell_empty_set(const EmptyDataset& empty, const std::string& set, const Config& config);

/// Warns of each set whose samples are those of the training data: its metrics do not hold for other samples.
void warn_of_same_samples(const Dataset& training, const ValidationSets& sets);

/// Throws UserError(data) if data.val_share has held out other samples here than in rank 0, because the machines have
/// other files, or other lists of earlier splits. A collective.
void check_split(const Dataset& training, Group& group);

/// Throws UserError(data) if the samplers' rows differ in form, from each other or from the rows of `training` (may be
/// null) in a field that each row of it has in the same form: the learner takes only one.
void check_rows(const ValidationSets& sets, const Sampler* training = nullptr);

/// Returns whether the sets include the one of a rule's metric, named as in [[best]]; else the rule must not act.
bool has_set_of(const ValidationSets& sets, const Config& config, const std::string& scalar);

/// Returns the samples of a set that its validations show; nothing if val.pictures is 0. Refers to the set's data.
std::optional<SampleChoice> sample_choice(const ValidationData& set);

/// Returns ", 1,000 for validation, 500 of night"; empty without sets.
std::string describe_sizes(const ValidationSets& sets);

}  // namespace flowtrain
