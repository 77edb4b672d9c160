#include "stages/torch/flight_record.h"

#include <algorithm>
#include <sstream>
#include <utility>

namespace flowtrain {

void FlightRecord::at_iteration(std::uint64_t iteration) {
  MutexLock lock(mutex_);
  iteration_ = iteration;
}

void FlightRecord::enter(const char* what) {
  MutexLock lock(mutex_);
  ++entered_;
  last_.push_back({what, iteration_, Clock::now(), {}});
  if (last_.size() > kept) last_.pop_front();
}

void FlightRecord::leave() {
  MutexLock lock(mutex_);
  if (last_.empty()) return;
  last_.back().ended = Clock::now();
  last_.back().is_over = true;
}

void FlightRecord::answered(Clock::duration after) {
  MutexLock lock(mutex_);
  longest_answer_ = std::max(longest_answer_, after);
}

double FlightRecord::take_longest_answer() {
  MutexLock lock(mutex_);
  return std::chrono::duration<double>(std::exchange(longest_answer_, {})).count();
}

std::uint64_t FlightRecord::entered() const {
  MutexLock lock(mutex_);
  return entered_;
}

std::string FlightRecord::last() const {
  MutexLock lock(mutex_);
  if (last_.empty()) return "the start";
  std::ostringstream out;
  if (iteration_ > 0) out << "iteration " << iteration_ << ", ";
  out << (last_.back().is_over ? "after " : "in ") << last_.back().what << " (collective " << entered_ << ")";
  return out.str();
}

std::string FlightRecord::to_jsonl() const {
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
