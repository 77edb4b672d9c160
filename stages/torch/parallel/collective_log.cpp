#include "stages/torch/parallel/collective_log.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "sampling/core/text.h"

namespace flowtrain {

void CollectiveLog::at_iteration(std::uint64_t iteration) {
  MutexLock lock(mutex_);
  iteration_ = iteration;
}

std::uint64_t CollectiveLog::enter(const char* what) {
  MutexLock lock(mutex_);
  ++entered_;
  last_.push_back({what, iteration_, Clock::now(), {}});
  if (last_.size() > kept) last_.pop_front();
  return entered_;
}

std::optional<std::size_t> CollectiveLog::place_of(std::uint64_t number) const {
  const auto first = entered_ - last_.size() + 1;
  if (number < first || number > entered_) return std::nullopt;
  return static_cast<std::size_t>(number - first);
}

void CollectiveLog::leave(std::uint64_t number) {
  MutexLock lock(mutex_);
  const auto place = place_of(number);
  if (!place) return;
  last_[*place].ended = Clock::now();
  last_[*place].is_over = true;
}

void CollectiveLog::answered(Clock::duration after) {
  MutexLock lock(mutex_);
  longest_answer_ = std::max(longest_answer_, after);
}

double CollectiveLog::take_longest_answer() {
  MutexLock lock(mutex_);
  return std::chrono::duration<double>(std::exchange(longest_answer_, {})).count();
}

// The innermost open collective counts.
CollectiveLog::Position CollectiveLog::position() const {
  MutexLock lock(mutex_);
  const std::string when = iteration_ > 0 ? concat("iteration ", iteration_) : "the start";
  if (last_.empty()) return {0, {}, when};
  const auto open = std::find_if(last_.rbegin(), last_.rend(), [](auto& each) { return !each.is_over; });
  const auto& shown = open == last_.rend() ? last_.back() : *open;
  const auto number = open == last_.rend() ? entered_ : entered_ - static_cast<std::uint64_t>(open - last_.rbegin());
  return {entered_, last_.back().what,
          concat(when, ", ", shown.is_over ? "after " : "in ", shown.what, " (collective ", number, ")")};
}

std::optional<std::string> CollectiveLog::what(std::uint64_t number) const {
  MutexLock lock(mutex_);
  const auto place = place_of(number);
  return place ? std::optional<std::string>(last_[*place].what) : std::nullopt;
}

std::string CollectiveLog::to_jsonl() const {
  const auto seconds = [](Clock::duration span) { return std::chrono::duration<double>(span).count(); };
  MutexLock lock(mutex_);
  std::ostringstream out;
  auto number = entered_ - last_.size();
  for (auto& each : last_) {
    out << R"({"collective":)" << ++number << R"(,"what":")" << each.what << R"(","iteration":)" << each.iteration
        << R"(,"began_s":)" << seconds(each.began - start_) << R"(,"took_s":)";
    if (each.is_over)
      out << seconds(each.ended - each.began);
    else
      out << "null";
    out << "}\n";
  }
  return out.str();
}

}  // namespace flowtrain
