#pragma once
// One validation of a net in eval mode.

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pipeline/base/errors/policies.h"
#include "pipeline/engine/graph/graph.h"
#include "pipeline/engine/text/text_samples.h"
#include "pipeline/engine/validation/detection.h"
#include "pipeline/engine/validation/samples.h"
#include "stages/core/group.h"
#include "stages/evaluation/class_table.h"
#include "stages/loader/bad_samples.h"
#include "stages/model/validator.h"

namespace flowtrain {

/// One set of a validation.
struct ValidationSet {
  std::string name = {};  ///< The prefix of its metrics' names; that of [data.val] is empty.
  Loader& loader;
  std::uint64_t batches;  ///< The number of batches of one validation.
  BadSamples& bad_samples;
  const DetectionMetrics* detection = nullptr;  ///< Null if no metrics of detectors are asked for.
  const SampleChoice* samples = nullptr;        ///< Null if no samples are shown.
  const TextSamples* texts = nullptr;           ///< Null if the net continues no prompts with this set.
};

/// The result of a validation. It has neither metrics nor an error if the validation was given up.
struct Validated {
  std::optional<Scalars> scalars = {};       ///< The metrics of all sets, those of [data.val] first.
  std::optional<ClassTable> confusion = {};  ///< The confusion of [data.val], if val.metrics asks for it.
  std::exception_ptr error = {};             ///< The error that ended the validation, if the run goes on.
  std::uint64_t replaced = 0;                ///< The rows in which another record stands for a bad one.
  std::vector<ShownSamples> samples = {};    ///< The samples of each set that shows any, in rank 0.
  std::vector<TextSample> texts = {};        ///< The continued prompts, in rank 0.
};

/// Returns whether a validation goes on. It is asked before and after each batch; the ranks of a group ask equally
/// often, and must get the same answers.
using GoesOn = std::function<bool()>;

/// Measures a net on the next batches of one set.
class ValidationPass {
 public:
  /// Everything outlives the pass, which runs once.
  ValidationPass(const ValidationSet& set, Validator& validator, GoesOn goes_on, Group& group = solo_group(),
                 ErrorPolicy::Action on_error = ErrorPolicy::Action::stop);

  /// Takes the batches from the loader and returns the metrics over them; a learner is in train mode afterwards. Bad
  /// samples are recorded for `iteration`. Throws errors, except those that `on_error` and is_survivable() let pass.
  /// With `skip` an error leaves no batch in the loader, so that the next validation begins where it would have.
  Validated run(std::uint64_t iteration);

 private:
  bool next_batch();
  void measure(const Ticket& ticket);
  std::uint64_t record_bad_samples(std::uint64_t iteration);
  void finish();
  std::optional<Scalars> detect();
  template <class Work>
  void attempt(const Work& work);
  void share_error();

  const ValidationSet& set_;
  Validator& validator_;
  const GoesOn goes_on_;
  Group& group_;
  const ErrorPolicy::Action on_error_;
  std::optional<SampleCollector> shown_;
  Detector* detector_ = nullptr;  // finds the objects that are shown; null if rows are shown
  std::vector<BadSample> bad_;
  std::set<std::uint64_t> records_;  // the records that a detector looks at
  bool given_up_ = false;
  std::exception_ptr error_;  // may pass; nothing more is computed after it
  Validated result_;
};

/// Runs one pass over each of the sets. With `skip` it also measures those after one that failed, and returns the
/// error.
Validated validate_sets(const std::vector<ValidationSet>& sets, Validator& validator, std::uint64_t iteration,
                        const GoesOn& goes_on, Group& group, ErrorPolicy::Action on_error);

}  // namespace flowtrain
