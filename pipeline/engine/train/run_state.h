#pragma once
// state.json: all that a run must remember besides tensors, so that a resumed run equals an uninterrupted one.

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

namespace flowtrain {

/// The position in a validation set.
struct ValidationState {
  std::uint64_t batches = 0;            ///< consumed from its loader so far
  std::set<std::uint64_t> bad_samples;  ///< ids
};

/// A metric over those iterations whose value was read.
struct ScalarSum {
  double sum = 0;
  std::uint64_t count = 0;
};

/// The part of the next train line of metrics.jsonl that comes from finished iterations.
struct PendingLine {
  std::uint64_t iterations = 0;  ///< since the last one
  double clipped = 0;            ///< of these
  Scalars logged = {};           ///< by hooks
  Scalars fresh = {};            ///< by hooks, after the end of the last iteration
};

/// An overlapped validation whose metrics training has not used yet.
struct PendingValidation {
  std::uint64_t iteration = 0;          ///< the iteration that is validated
  std::optional<Scalars> scalars = {};  ///< nothing while it is under way, or where a signal interrupted it
  Scalars training = {};                ///< training's own values at that iteration, which rules may compare
};

/// Pixels of training data in memory. Height and width are 0 where the records have no common size.
struct PixelForm {
  std::uint64_t height = 0, width = 0, channels = 0;
};

/// State at the end of an iteration. Positions in the data are not here: they follow from the iteration.
struct RunState {
  std::uint64_t iteration = 0;
  std::uint64_t samples_per_epoch = 0;  ///< of the data set at that time; another size means other data
  std::uint64_t samples = 0;            ///< consumed, of all processes
  Xxh64 order;                          ///< over the ids of all samples consumed, as little-endian u64
  /// The last values of each scalar that was read, at most 20: `<name>_avg` is their mean.
  std::map<std::string, std::deque<double>> recent;
  std::map<std::string, ScalarSum> epoch_sums;  ///< of the last epoch that began, by name
  PendingLine line;
  Rankings best;                                      ///< of validations
  bool validation_pending = false;                    ///< interrupted before the end of the validation after it
  std::optional<PendingValidation> pending;           ///< of an earlier iteration
  std::map<std::string, ValidationState> validation;  ///< by the set's name; [data.val]'s has none
  std::set<std::uint64_t> bad_samples;                ///< ids
  int world = 1;                                      ///< processes that trained together
  std::vector<std::string> classes;                   ///< of the training data, in label order
  std::optional<PixelForm> pixels;                    ///< form of the training data; nothing: picture files
  std::map<std::string, std::string> fingerprints;    ///< of what results depend on beside the configuration's text
  double elapsed_s = 0;                               ///< training time over all starts
  EarlyStopState early_stop;
  std::map<std::string, std::string> schedules;  ///< what those with state keep, by StatefulSchedule::key
  std::map<std::string, std::string> hooks;      ///< what they keep, by label
  std::uint64_t nonfinite = 0;                   ///< iterations whose loss or gradients were not finite
  std::uint64_t nonfinite_in_a_row = 0;          ///< of these, the last ones
  std::uint64_t skipped_in_a_row = 0;            ///< iterations that an error kept from being computed, the last ones
  double lr_scale = 1;                           ///< what rollbacks have made of the learning rate
  static constexpr std::uint64_t no_limit = ~std::uint64_t{0};
  std::uint64_t rollback_limit = no_limit;     ///< later snapshots have failed: the next rollback does not take them
  std::vector<std::string> renamed;            ///< resume.rename, by whose rules the tensors got their names
  std::deque<std::uint64_t> rollback_targets;  ///< iterations whose snapshots it may take, which stay; the newest last

  /// Takes a value of a scalar, if it is finite, for its mean.
  void note(const std::string& name, double value);
  /// The mean of what note() took last; 0 where it took nothing.
  double recent_mean(const std::string& name) const;

  /// The iteration whose validation a run that goes on from here does again, and all later ones; that after `iteration`
  /// where none is.
  std::uint64_t validates_again_from() const;

  /// The parts of the state that a snapshot holds: snapshot.save.
  std::vector<std::string> saved = parts();
  static std::vector<std::string> parts() { return {"params", "optim", "schedule", "random"}; }
  bool has_saved(const std::string& part) const;

  /// Without "schedule" in `saved`, what rollbacks have made of the learning rate is left out. (There is nothing to
  /// leave out of "random": all that is drawn follows from seed and position.)
  std::string to_json() const;
  /// Throws UserError(snapshot) for anything that to_json does not write.
  static RunState from_json(const std::string& text);
};

}  // namespace flowtrain
