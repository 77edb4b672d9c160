#pragma once
// How many files a process may have open.

#include <sys/resource.h>

namespace flowtrain {

/// As many as the system allows this user at all: shards, connections of ranks and of servers need more than the usual
/// 1,024.
inline void raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace flowtrain
