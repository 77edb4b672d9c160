#pragma once
// Training steps as the configuration names them.

#include <memory>
#include <string>
#include <vector>

#include "nets/mistake.h"
#include "nets/step.h"
#include "sampling/core/settings.h"
#include "stages/learner_spec.h"

namespace flowtrain {

/// The step of [step]: supervised, one of nets/step.h, or a plugin's. `net` must outlive it. Throws UserError(usage),
/// here and from the step itself, where net, loss and batch do not fit each other: it names the key that is to blame.
std::unique_ptr<nets::Step> make_training_step(const LearnerSpec& spec, nets::Net& net);

/// What stands before the name of a part of the loss, wherever figures are told.
inline const std::string part_of_loss = "loss.";

/// Known names, sorted.
std::vector<std::string> training_step_names();

/// Calls `make`; what nets/ reports as std::invalid_argument, which knows nothing of where the user wrote it, becomes
/// the key's UserError(usage), with a nets::Mistake's hint.
template <class Make>
auto made_from(const Settings& settings, const std::string& key, Make make) {
  try {
    return make();
  } catch (const nets::Mistake& error) {
    throw settings.error(key, error.what(), Exit::usage, error.hint());
  } catch (const std::invalid_argument& error) {
    throw settings.error(key, error.what());
  }
}

}  // namespace flowtrain
