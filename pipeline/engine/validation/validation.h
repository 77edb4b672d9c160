#pragma once
// One validation: some batches of the validation loader, in eval mode.

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/base/errors/policies.h"
#include "pipeline/engine/graph/graph.h"
#include "pipeline/engine/validation/detection.h"
#include "pipeline/engine/validation/samples.h"
#include "stages/core/group.h"
#include "stages/evaluation/class_table.h"
#include "stages/loader/bad_samples.h"
#include "stages/model/validator.h"

namespace flowtrain {

/// One set of a validation.
struct ValidationSet {
  std::string name;  ///< before its metrics' names; empty: [data.val]'s
  Loader& loader;
  std::uint64_t batches;  ///< of one validation
  BadSamples& bad_samples;
  const DetectionMetrics* detection;      ///< null where none is asked for
  const SampleChoice* samples = nullptr;  ///< null where none are shown
};

/// The result of a validation. Neither metrics nor an error: the validation was given up.
struct Validated {
  std::optional<Scalars> scalars = {};       ///< of all sets, [data.val]'s first
  std::optional<ClassTable> confusion = {};  ///< of [data.val], where val.metrics asks for it
  std::exception_ptr error = {};             ///< that it ended with, where the run does not
  std::uint64_t replaced = 0;                ///< rows in which another record stands for a bad one
  std::vector<ShownSamples> samples = {};    ///< in rank 0, of each set for which some were asked
};

/// Asked before and after each batch; false: the validation is given up.
using GoesOn = std::function<bool()>;

/// Takes `batches` batches from the loader and returns the validator's metrics over them; a learner is in train mode
/// afterwards. Bad samples are entered as of `iteration`. In a group `goes_on` must answer alike on all ranks, which
/// ask it equally often. `detection` (may be null): the validator's detector looks at the same records, and its metrics
/// follow. `samples` (may be null): which to show. Throws errors (of a bad batch, say), but for those that `on_error`
/// and is_survivable() let pass; with `skip` the batches are taken from the loader all the same, so that the next
/// validation begins where it would have.
Validated run_validation(Loader& loader, Validator& validator, BadSamples& bad, std::uint64_t iteration,
                         std::uint64_t batches, const GoesOn& goes_on, Group& group = solo_group(),
                         const DetectionMetrics* detection = nullptr,
                         ErrorPolicy::Action on_error = ErrorPolicy::Action::stop,
                         const SampleChoice* samples = nullptr);

/// One validation on each of the sets; with `skip` also of those after one that failed, whose metrics nobody sees.
Validated validate_sets(const std::vector<ValidationSet>& sets, Validator& validator, std::uint64_t iteration,
                        const GoesOn& goes_on, Group& group, ErrorPolicy::Action on_error);

}  // namespace flowtrain
