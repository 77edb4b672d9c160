#include "pipeline/base/errors/leaders_work.h"

#include <chrono>
#include <future>

namespace flowtrain {

void let_leader_work(Group& group, const char* what, const std::function<void()>& work) {
  std::future<void> done;
  if (group.leads()) done = std::async(std::launch::async, work);
  for (double waits = 1; waits > 0;) {
    waits = group.leads() && done.wait_for(std::chrono::seconds(1)) != std::future_status::ready ? 1 : 0;
    group.sum(what, {&waits, 1});
  }
  if (group.leads()) done.get();
}

}  // namespace flowtrain
