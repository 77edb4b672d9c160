#pragma once
// What a command works with, made of a configuration: data, loaders and net.

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

/// What a command chooses beside the configuration.
struct SessionOptions {
  TrainMode mode = TrainMode::full;
  bool dry_run = false;          ///< data only, no net
  bool checks_memory = true;     ///< refuses batches that do not fit, of all loaders when they are full
  std::string device = {};       ///< in place of run.device's
  Group* group = &solo_group();  ///< those who train together
  unsigned processes_here = 1;   ///< of these, on this machine
  unsigned local_rank = 0;       ///< among those on this machine
  bool whole_batches = false;    ///< loaders of validation make whole batches, which processes take in turn
  bool keeps_split = false;      ///< what data.val_share holds out is told, and kept for later runs
};

/// The parts of one command, at addresses that stay. Every command opens what it needs, in the order of the methods,
/// and nothing else is made. Lines of it are to be gone before it.
class Session {
 public:
  /// Chooses the device. `config` must outlive it.
  explicit Session(const Config& config, SessionOptions options = {});

  /// Opens the training data, whose classes the net learns.
  DataParts& open_training();
  /// Opens [data.val] and each [[val.set]], where a run of this kind validates.
  ValidationSets& open_validation();
  /// Opens these sets for a net of these classes (none, where there are no training data: those of the first set).
  /// The other two: see open_validation_sets().
  ValidationSets& open_sets(const std::vector<SetConfig>& sets, const std::vector<std::string>& classes,
                            const OnEmptySet& on_empty, bool needs_targets = true);
  /// Once all data is open, before the first loader: throws UserError(usage) where its batches do not fit into memory,
  /// and makes room for the threads of all loaders.
  void prepare();

  std::unique_ptr<Loader> make_loader(LoaderParts parts) const;
  /// The loader of the plan's iterations, each with its plan. `run_plan` must outlive it.
  std::unique_ptr<Loader> make_training_loader(const RunPlan& run_plan, Profile* profile = nullptr) const;
  /// A loader for each set, which begins after the batches that are `done`. Throws UserError(data): see check_rows().
  void make_validation_loaders(const std::map<std::string, ValidationState>& done = {}, Profile* profile = nullptr);
  /// From iteration `first`. What is not trained moves along no schedule.
  RunPlan run_plan(std::uint64_t first = 1) const;
  /// Of a net for training batches of that layout, as `config` has it: the session's, but for some values perhaps.
  LearnerSpec learner_spec(const SlabLayout& layout, const Config& config) const;
  /// With dry_run one that does nothing. `hooks` and `profile`: of the net that trains.
  std::unique_ptr<Learner> make_learner(const MakeLearner& make, const SlabLayout& layout, Hooks* hooks = nullptr,
                                        Profile* profile = nullptr) const;

  const Config& config() const { return config_; }
  const SessionOptions& options() const { return options_; }
  /// Device::name().
  const std::string& device() const { return device_; }
  const std::vector<std::string>& classes() const { return classes_; }
  const DataParts& train() const { return train_; }
  const ValidationSets& validation() const { return validation_; }
  /// Whether validations run beside training.
  bool overlaps() const;
  /// Iterations.
  Every epoch() const { return epoch_of(config_, train_.batches); }
  /// Requests to servers that had to be repeated.
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

/// The loader's first batch, once it is started; rethrows what went wrong with it.
Slab& first_batch(Loader& loader);

/// Opens the training data of `config` and returns how it names the record `id`; empty where there is no such record.
/// Throws UserError where the data cannot be opened.
std::string describe_record(const Config& config, std::uint64_t id);

}  // namespace flowtrain
