#include "pipeline/engine/validation/agreement.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

namespace flowtrain {

// The ranks agree about twice a second if batches take as long as the last ones, and after 50 questions at the latest,
// because each agreement makes them wait for each other. All know the times that decide when the next one is.
std::optional<int> Agreement::ask(std::optional<int> own) {
  constexpr double between_agreements_s = 0.5, most = 50;
  if (agreed_ || ++asked_ < agrees_after_) return agreed_;
  const std::chrono::duration<double> batches = std::chrono::steady_clock::now() - when_;  // omits the agreements
  std::array<double, 3> all = {own == SIGINT ? 1. : 0, own && own != SIGINT ? 1. : 0, batches.count()};
  group_.sum("whether a validation goes on", all);
  when_ = std::chrono::steady_clock::now();
  if (all[0] + all[1] > 0) agreed_ = all[1] > 0 ? SIGTERM : SIGINT;
  const double question_s = all[2] / group_.size() / static_cast<double>(std::exchange(asked_, 0));
  if (group_.size() > 1)
    agrees_after_ = static_cast<std::uint64_t>(std::clamp(between_agreements_s / question_s, 1., most));
  return agreed_;
}

}  // namespace flowtrain
