#pragma once
// A group whose ranks are threads of one process: a job of several processes in milliseconds.

#include <algorithm>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sampling/core/error.h"
#include "sampling/core/mutex.h"
#include "sampling/core/text.h"
#include "stages/core/group.h"

namespace flowtrain::testing {

/// Where the ranks meet. A rank that comes for another collective than the others, or has left while others wait, is an
/// error of all.
class Meeting {
 public:
  explicit Meeting(int size)
      : size_(size), said_(static_cast<std::size_t>(size)), whats_(said_.size()), has_left_(said_.size(), false) {}

  int size() const { return size_; }
  /// The nth one made of this.
  std::shared_ptr<Meeting> beside(std::size_t nth) {
    MutexLock lock(mutex_);
    while (beside_.size() <= nth) beside_.push_back(std::make_shared<Meeting>(size_));
    return beside_[nth];
  }

  std::vector<std::string> exchange(int rank, const std::string& what, const std::string& mine) {
    MutexLock lock(mutex_);
    said_[static_cast<std::size_t>(rank)] = mine;
    whats_[static_cast<std::size_t>(rank)] = what;
    const auto round = round_;
    if (++arrived_ == said_.size()) {
      compare();
      heard_ = said_;
      arrived_ = 0;
      ++round_;
      changed_.notify_all();
    }
    look_for_those_who_left(round, what);
    while (round_ == round && broken_.empty()) changed_.wait(lock);
    if (!broken_.empty()) throw UserError(ExitCode::distributed, broken_);
    return heard_;
  }

  void leave(int rank) {
    MutexLock lock(mutex_);
    has_left_[static_cast<std::size_t>(rank)] = true;
    if (arrived_ > 0) look_for_those_who_left(round_, "a collective");
  }

 private:
  void compare() FT_REQUIRES(mutex_) {
    for (std::size_t rank = 1; rank < whats_.size(); ++rank)
      if (whats_[rank] != whats_[0])
        broken_ = concat("rank 0 is in '", whats_[0], "', rank ", rank, " in '", whats_[rank], "'");
  }

  void look_for_those_who_left(std::uint64_t round, const std::string& what) FT_REQUIRES(mutex_) {
    const auto left = std::find(has_left_.begin(), has_left_.end(), true);
    if (round != round_ || left == has_left_.end() || !broken_.empty()) return;
    broken_ = concat("rank ", left - has_left_.begin(), " has left, and others are in '", what, "'");
    changed_.notify_all();
  }

  const int size_;
  Mutex mutex_;
  CondVar changed_;
  std::vector<std::string> said_ FT_GUARDED_BY(mutex_);
  std::vector<std::string> heard_ FT_GUARDED_BY(mutex_);
  std::vector<std::string> whats_ FT_GUARDED_BY(mutex_);
  std::vector<bool> has_left_ FT_GUARDED_BY(mutex_);
  std::string broken_ FT_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<Meeting>> beside_ FT_GUARDED_BY(mutex_);
  std::size_t arrived_ FT_GUARDED_BY(mutex_) = 0;
  std::uint64_t round_ FT_GUARDED_BY(mutex_) = 0;
};

class ThreadGroup : public Group {
 public:
  ThreadGroup(std::shared_ptr<Meeting> meeting, int rank) : meeting_(std::move(meeting)), rank_(rank) {}
  ~ThreadGroup() override { meeting_->leave(rank_); }

  int rank() const override { return rank_; }
  int size() const override { return meeting_->size(); }
  void sum(const char* what, std::span<double> values) override {
    const std::string bytes(reinterpret_cast<const char*>(values.data()), values.size_bytes());
    std::fill(values.begin(), values.end(), 0);
    for (auto& text : gather(what, bytes))
      for (std::size_t i = 0; i < values.size(); ++i) {
        double value;
        std::memcpy(&value, text.data() + i * sizeof value, sizeof value);
        values[i] += value;
      }
  }
  std::vector<std::string> gather(const char* what, const std::string& mine) override {
    return meeting_->exchange(rank_, what, mine);
  }
  std::string broadcast(const char* what, const std::string& mine) override { return gather(what, mine).front(); }
  Group& beside() override {
    beside_.push_back(std::make_unique<ThreadGroup>(meeting_->beside(beside_.size()), rank_));
    return *beside_.back();
  }

 private:
  std::shared_ptr<Meeting> meeting_;
  int rank_;
  std::vector<std::unique_ptr<ThreadGroup>> beside_;
};

/// Calls `body` as each rank of a world, on a thread of its own; rethrows the first error of any.
inline void as_ranks(int fixture, const std::function<void(Group&)>& body) {
  const auto meeting = std::make_shared<Meeting>(fixture);
  std::exception_ptr first;
  std::once_flag failed;
  {
    std::vector<std::jthread> threads;
    threads.reserve(static_cast<std::size_t>(fixture));
    for (int rank = 0; rank < fixture; ++rank)
      threads.emplace_back([&, rank] {
        ThreadGroup group(meeting, rank);
        try {
          body(group);
        } catch (...) {
          std::call_once(failed, [&] { first = std::current_exception(); });
        }
      });
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace flowtrain::testing
