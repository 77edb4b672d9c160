#pragma once
// Errors of one rank that are to be the same error of all.

#include <functional>

#include "sampling/core/error.h"
#include "stages/core/group.h"

namespace flowtrain {

/// The error of a rank that ends because another one has failed. The program shows the error of the one that failed
/// (GroupSession::explain), and this one only if the other never comes.
class FailedElsewhere : public UserError {
 public:
  using UserError::UserError;
};

/// Carries out `work`, which calls no collective, and throws on all ranks where it has thrown on one: in a process
/// alone what it has thrown; in a group the UserError of the first rank that has one, or an InternalError for faults
/// that no other snapshot or set would be spared (is_survivable). A collective; `what`: see Group.
void together(Group& group, const char* what, const std::function<void()>& work);

/// Carries out `work` in rank 0 while the others wait, however long that takes, and throws on all ranks what it has
/// thrown, as together() does. A collective.
void in_leader(Group& group, const char* what, const std::function<void()>& work);

}  // namespace flowtrain
