#pragma once
// The part to check (a sampler, a data set or an order) with the data to check it on.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/base/config/config.h"
#include "pipeline/engine/isolation/protocol.h"
#include "pipeline/tools/plugin_kit/report.h"
#include "sampling/dataset.h"
#include "sampling/order.h"
#include "sampling/sampler.h"

namespace flowtrain::plugin_kit {

/// Names the part to check and its data; known to both processes.
struct SubjectSpec {
  std::string plugin;            ///< the plugin's file; empty: a built-in part
  std::string config;            ///< a configuration with the data; empty: trial data
  std::vector<std::string> set;  ///< KEY=VALUE
  CheckedPart part;
  std::string trial_data;  ///< one of trial_kinds(), if there is no `config`
};

/// A record of the data, with its memory.
struct TrialRecord {
  std::string name;
  std::uint64_t id;  ///< id in the data set
  std::shared_ptr<const isolation::KeptRecord> kept;
  Record record;  ///< the record, whose memory `kept` holds
};

/// The part of a SubjectSpec, once its plugin is open.
class Subject {
 public:
  /// Opens the plugin, the configuration and, for samplers and orders, the data. Throws UserError.
  explicit Subject(const SubjectSpec& spec);

  /// Makes another object of the part. Throws UserError if its settings or the data do not fit. A sampler with a key
  /// `size` that refuses its default for the trial data is made with size 24.
  std::unique_ptr<Sampler> make_sampler(bool training = true) const;
  std::unique_ptr<Dataset> make_dataset() const;
  std::unique_ptr<Order> make_order() const;

  /// Returns the data set, for which samplers and orders are made.
  const Dataset& dataset() const { return *dataset_; }
  /// Returns at most 6 records that can be read.
  const std::vector<TrialRecord>& records() const { return records_; }

 private:
  std::optional<Config> config_;
  std::unique_ptr<Dataset> dataset_;
  std::vector<TrialRecord> records_;
  bool is_trial_data_;
};

/// Opens a plugin and names the parts of it that can be checked. Throws UserError.
std::vector<CheckedPart> parts_of(const std::string& plugin);

}  // namespace flowtrain::plugin_kit
