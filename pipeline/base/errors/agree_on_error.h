#pragma once
// Turns an error of one rank into the same error on all.

#include <functional>

#include "sampling/core/error.h"
#include "stages/core/group.h"

namespace flowtrain {

/// The error of a rank after another rank's failure, whose own error says why. The program shows that one
/// (GroupSession::explain), and this one only if the other never comes.
class FailedElsewhere : public UserError {
 public:
  using UserError::UserError;
};

/// Runs `work`, which calls no collective, and throws on all ranks if it has thrown on one. A process alone rethrows;
/// in a group it is the UserError of the first rank that has one, or an InternalError for faults that would also hit
/// another snapshot or set (is_survivable). A collective; `what`: see Group.
void together(Group& group, const char* what, const std::function<void()>& work);

/// Runs `work` on rank 0 while the others wait, however long that takes, and throws its error on all ranks, as
/// together() does. A collective.
void in_leader(Group& group, const char* what, const std::function<void()>& work);

}  // namespace flowtrain
