#pragma once
// Who is to blame for an error within a stage: the stage and the sample come first in its message.

#include <string>

namespace flowtrain {

/// Rethrows the exception that is being handled as "stage read, a/b.jpg: …"; `what` is what the stage was at. A
/// UserError remains one, with its code and hint; std::bad_alloc becomes OutOfMemory, and everything else, whatever its
/// type, an InternalError.
[[noreturn]] void add_error_context(const std::string& stage, const std::string& what);

}  // namespace flowtrain
