#pragma once
// The limit on open files.

#include <sys/resource.h>

namespace flowtrain {

/// Raises it to the most that the system allows this user: shards, and connections need more than the usual 1,024.
inline void raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace flowtrain
