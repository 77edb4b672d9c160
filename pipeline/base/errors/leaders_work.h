#pragma once
// Long work that rank 0 alone does.

#include <functional>

#include "stages/core/group.h"

namespace flowtrain {

/// Runs `work` on rank 0 alone, in a thread of its own, and returns on all ranks when it is done. The others wait by a
/// collective each second, since none of these may take longer than dist.timeout / 2. Rethrows errors of `work` on rank
/// 0. A collective; `what`: see Group.
void let_leader_work(Group& group, const char* what, const std::function<void()>& work);

}  // namespace flowtrain
