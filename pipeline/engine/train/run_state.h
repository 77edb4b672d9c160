#pragma once
// state.json has all that a run must remember besides tensors, so that a resumed run equals an uninterrupted one.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pipeline/base/snapshot/hash.h"
#include "pipeline/engine/validation/best.h"
#include "pipeline/engine/validation/early_stop.h"
#include "sampling/dataset.h"

namespace flowtrain {

/// The position in a validation set.
struct ValidationState {
  std::uint64_t batches = 0;            ///< The number of batches that were taken from its loader so far.
  std::set<std::uint64_t> bad_samples;  ///< The ids of its bad records.
};

/// The sum of a metric over those iterations whose value was read.
struct ScalarSum {
  double sum = 0;
  std::uint64_t count = 0;
};

/// The part of the next train line of metrics.jsonl that comes from finished iterations.
struct PendingLine {
  std::uint64_t iterations = 0;  ///< The number of iterations since the last line.
  double clipped = 0;            ///< The number of these whose gradients were clipped.
  Scalars logged = {};           ///< The values that hooks have logged in them.
};

/// An async validation whose metrics training has not used yet.
struct PendingValidation {
  std::uint64_t iteration = 0;          ///< The iteration that is validated.
  std::optional<Scalars> scalars = {};  ///< Empty while it is under way, or where a signal interrupted it.
  Scalars training = {};                ///< Training's own values at that iteration, which rules may compare.
};

/// The form of training data in memory. Height and width are 0 where the records have no common size.
struct PixelForm {
  std::uint64_t height = 0, width = 0, channels = 0;
};

/// The consumed samples; SampleAccount writes it.
struct SampleState {
  std::uint64_t count = 0;              ///< The number of samples that all processes have consumed.
  Xxh64 order;                          ///< The hash over the ids of all consumed samples, as little-endian u64.
  std::set<std::uint64_t> bad_samples;  ///< The ids of the bad records.
};

/// The values that reports smooth and sum; Reports writes it.
struct ReportState {
  /// The last values of each scalar that was read, at most 20: `<name>_avg` is their mean.
  std::map<std::string, std::deque<double>> recent;
  std::map<std::string, ScalarSum> epoch_sums;  ///< The sums of the last epoch that began, by name.
  PendingLine line;

  /// Takes a value of a scalar, if it is finite, for its mean.
  void note(const std::string& name, double value);
  /// Returns the mean of what note() took last; 0 where it took nothing.
  double recent_mean(const std::string& name) const;
};

/// The results of validations; Validations writes it.
struct ValidationsState {
  Rankings best;
  bool due = false;                             ///< The run was interrupted before the iteration's validation ended.
  std::optional<PendingValidation> pending;     ///< The async validation of an earlier iteration.
  std::map<std::string, ValidationState> sets;  ///< The sets by their names; [data.val]'s is empty.
  EarlyStopState early_stop;
};

/// The iterations whose loss or gradients were not finite; NonFiniteHandler writes it.
struct NonFiniteState {
  static constexpr std::uint64_t no_limit = ~std::uint64_t{0};
  std::uint64_t count = 0;
  std::uint64_t in_a_row = 0;                  ///< The number of the last ones without a finite one between them.
  std::uint64_t rollback_limit = no_limit;     ///< Later snapshots have failed, so the next rollback omits them.
  std::deque<std::uint64_t> rollback_targets;  ///< The iterations to whose snapshots it may go, the newest last.
};

/// The changes of hyper-parameters that no plan knows beforehand; HyperAdjuster writes it.
struct HyperState {
  double lr_scale = 1;                           ///< The product of all rollbacks' factors.
  std::map<std::string, std::string> schedules;  ///< The states of schedules, by StatefulSchedule::key.
};

/// The states of hooks; HookCalls writes it.
struct HookState {
  std::map<std::string, std::string> states;  ///< The states by the hooks' labels.
  Scalars logged = {};                        ///< The values that they have logged after the last iteration.
};

/// The inputs that results depend on beside the configuration's text. A resume compares it with what it finds.
struct RunInputs {
  std::uint64_t samples_per_epoch = 0;              ///< The size of the data set.
  std::vector<std::string> classes;                 ///< The classes of the training data, in label order.
  std::optional<PixelForm> pixels;                  ///< The form of the training data; empty: picture files.
  std::map<std::string, std::string> fingerprints;  ///< The hashes of data sets and files, by fingerprints_of().
  std::vector<PartForm> parts = {};                 ///< The parts of records that [[field]]s are made from.
};

/// The progress of a run. Only Trainer writes it.
struct RunProgress {
  std::uint64_t iteration = 0;
  double elapsed_s = 0;  ///< The training time over all starts.
};

/// The state at the end of an iteration, made of the states of the classes that own them. Positions in the data are not
/// here: they follow from the iteration.
struct RunState : RunProgress {
  SampleState samples;
  ReportState reports;
  ValidationsState validations;
  NonFiniteState nonfinite;
  HyperState hyper;
  HookState hooks;
  std::uint64_t skipped_in_a_row = 0;  ///< The last updates that an error kept from being made; StepErrors writes it.
  RunInputs inputs;
  int world = 1;                     ///< The number of processes that trained together.
  std::vector<std::string> renamed;  ///< The rules of resume.rename by which the tensors got their names.

  /// Returns the first iteration whose validation is repeated by a run that resumes from here. It is the one after
  /// `iteration` if no validation is to be repeated.
  std::uint64_t validates_again_from() const;

  /// The parts of the state that a snapshot holds: snapshot.save.
  std::vector<std::string> saved = parts();
  static std::vector<std::string> parts() { return {"params", "optim", "schedule", "random"}; }
  bool has_saved(const std::string& part) const;

  /// Writes the state as JSON. Without "schedule" in `saved` it omits what rollbacks have made of the learning rate.
  /// ("random" has nothing to omit: all draws follow from seed and position.)
  std::string to_json() const;
  /// Throws UserError(snapshot) for anything that to_json does not write.
  static RunState from_json(const std::string& text);
};

}  // namespace flowtrain
