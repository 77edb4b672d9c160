#pragma once
// The data, loaders and net of a command, made from a configuration.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/base/config/config.h"
#include "pipeline/engine/graph/graph.h"
#include "pipeline/engine/graph/run_plan.h"
#include "pipeline/engine/session/assembly.h"
#include "pipeline/engine/session/validation_data.h"
#include "pipeline/engine/train/run_state.h"
#include "stages/model/learner_spec.h"

namespace flowtrain {

/// The choices of a command beside the configuration.
struct SessionOptions {
  TrainMode mode = TrainMode::full;
  bool dry_run = false;          ///< Uses data only, no net.
  bool checks_memory = true;     ///< Refuses batches that do not fit when all loaders are full.
  std::string device = {};       ///< The device in place of run.device's.
  Group* group = &solo_group();  ///< The processes that train together.
  unsigned processes_here = 1;   ///< The processes on this machine.
  unsigned local_rank = 0;       ///< The rank among those on this machine.
  bool whole_batches = false;    ///< Validation makes whole batches, which processes take in turn.
  bool keeps_split = false;      ///< Logs the samples of data.val_share, and keeps them for later runs.
};

/// The parts of one command, at addresses that stay. Every command opens the parts that it needs, in the order of the
/// methods. The session must outlive its loaders.
class Session {
 public:
  /// Chooses the device. `config` must outlive it.
  explicit Session(const Config& config, SessionOptions options = {});

  /// Opens the training data, whose classes the net learns.
  DataParts& open_training();
  /// Opens [data.val] and each [[val.set]], if a run of this kind validates.
  ValidationSets& open_validation();
  /// Opens these sets for a net of this training data; without classes and training data, for the classes of the first
  /// set. The other parameters are those of open_validation_sets().
  ValidationSets& open_sets(const std::vector<SetConfig>& sets, const LearntData& learnt, const OnEmptySet& on_empty,
                            bool needs_targets = true);
  /// Makes room for the threads of all loaders, once all data is open and before the first loader. Throws
  /// UserError(usage) if the batches do not fit into memory.
  void prepare();

  std::unique_ptr<Loader> make_loader(LoaderParts parts) const;
  /// Makes the loader of the plan's iterations, each with its plan. `run_plan` must outlive it.
  std::unique_ptr<Loader> make_training_loader(const RunPlan& run_plan, Profile* profile = nullptr) const;
  /// Makes a loader for each set, which begins after the batches that are `done`. Throws the errors of check_rows().
  void make_validation_loaders(const std::map<std::string, ValidationState>& done = {}, Profile* profile = nullptr);
  /// Returns the plan from iteration `first`. Without training no hyper-parameter follows a schedule.
  RunPlan run_plan(std::uint64_t first = 1) const;
  /// Returns the specification of a net for training batches of that layout. Values of `config` may differ from mine.
  LearnerSpec learner_spec(const SlabLayout& layout, const Config& config) const;
  /// Makes the learner, which does nothing with dry_run. `hooks` and `profile` are those of the training.
  std::unique_ptr<Learner> make_learner(const MakeLearner& make, const SlabLayout& layout, Hooks* hooks = nullptr,
                                        Profile* profile = nullptr) const;

  const Config& config() const { return config_; }
  const SessionOptions& options() const { return options_; }
  /// Returns Device::name().
  const std::string& device() const { return device_; }
  const std::vector<std::string>& classes() const { return classes_; }
  const DataParts& train() const { return train_; }
  const ValidationSets& validation() const { return validation_; }
  /// Returns whether validations run beside training: val.mode = "async".
  bool validates_async() const;
  /// Returns an epoch in iterations.
  Every epoch() const { return epoch_of(config_, train_.batches); }
  /// Returns how many requests to servers were repeated.
  std::uint64_t retries() const;

 private:
  DataSlice data_slice() const;

  const Config& config_;
  const SessionOptions options_;
  const std::string device_;
  std::vector<std::string> classes_;
  std::unique_ptr<Scheduler> scheduler_;  // outlives the loaders
  DataParts train_;
  ValidationSets validation_;
};

/// Returns the first batch of a started loader; rethrows the batch's error.
Slab& first_batch(Loader& loader);

/// Opens the training data of `config` and returns how it names the record `id`; empty if there is no such record.
/// Throws UserError if the data cannot be opened.
std::string describe_record(const Config& config, std::uint64_t id);

}  // namespace flowtrain
