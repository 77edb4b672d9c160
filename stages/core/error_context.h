#pragma once
// Adds the stage and the sample to the message of an error within a stage.

#include <string>

namespace flowtrain {

/// Rethrows the current exception as "stage read, a/b.jpg: …"; `what` names the sample or position. A UserError stays
/// one, code and hint included; std::bad_alloc becomes OutOfMemory, and any other type an InternalError.
[[noreturn]] void add_error_context(const std::string& stage, const std::string& what);

}  // namespace flowtrain
