#include "pipeline/base/telemetry/task_thread.h"

#include <utility>

#include "sampling/io/held_folder.h"
#include "stages/system/named_thread.h"

namespace flowtrain {

TaskThread::TaskThread(Rules rules)
    : rules_(std::move(rules)), thread_(named_thread(rules_.name, [this] { loop(); })) {}

void TaskThread::add(Task task) {
  Shared& shared = *shared_;
  MutexLock lock(shared.mutex);
  while (shared.waiting.size() >= rules_.depth && !rules_.drops && !shared.ends) shared.changed.wait(lock);
  if (shared.ends) return;
  if (shared.waiting.size() >= rules_.depth) {
    ++shared.dropped;
    return;
  }
  shared.waiting.push_back(std::move(task));
  ++shared.added;
  if (!rules_.pause) shared.changed.notify_all();
}

void TaskThread::loop() {
  Shared& shared = *shared_;
  std::vector<Task> tasks;
  while (next_tasks(tasks)) {
    for (auto& task : tasks) guarded(std::exchange(task, {}));
    if (rules_.after_pause) guarded(rules_.after_pause);
    MutexLock lock(shared.mutex);
    shared.done += tasks.size();
    shared.changed.notify_all();
  }
  if (rules_.after_pause) guarded(rules_.after_pause);
}

// Waits until there is something to do. Returns false when all is done.
bool TaskThread::next_tasks(std::vector<Task>& tasks) {
  const auto time = std::chrono::steady_clock::now() + (rules_.pause ? rules_.pause() : std::chrono::seconds(0));
  tasks.clear();
  Shared& shared = *shared_;
  MutexLock lock(shared.mutex);
  if (rules_.pause)
    while (!shared.hurries && !shared.ends && shared.changed.wait_until(lock, time)) {
    }
  else
    while (shared.waiting.empty() && !shared.ends) shared.changed.wait(lock);
  shared.hurries = false;
  if (shared.ends && shared.waiting.empty()) return false;
  if (rules_.pause) {
    tasks.swap(shared.waiting);
  } else {  // The others keep their places, so that no more than `depth` wait.
    tasks.push_back(std::move(shared.waiting.front()));
    shared.waiting.erase(shared.waiting.begin());
  }
  shared.changed.notify_all();
  return true;
}

void TaskThread::guarded(const Task& task) {
  if (failed_ && !rules_.warn) return;
  try {
    task();
  } catch (const FolderLost&) {
    if (!rules_.warn) fail();  // Otherwise nothing is said, because the trainer ends the run.
  } catch (const std::exception& error) {
    if (rules_.warn && !failed_) rules_.warn(error);
    fail();
  }
}

// Keeps the exception that is being handled.
void TaskThread::fail() {
  failed_ = true;
  MutexLock lock(shared_->mutex);
  shared_->error = std::current_exception();
}

std::function<void()> TaskThread::wait_for_added() const {
  MutexLock added(shared_->mutex);
  return [state = shared_, until = shared_->added] {
    Shared& shared = *state;
    MutexLock lock(shared.mutex);
    while (shared.done < until) {
      if (!shared.waiting.empty()) {
        shared.hurries = true;
        shared.changed.notify_all();
      }
      shared.changed.wait(lock);
    }
  };
}

std::size_t TaskThread::waiting() const {
  MutexLock lock(shared_->mutex);
  return shared_->waiting.size();
}

std::uint64_t TaskThread::dropped() const {
  MutexLock lock(shared_->mutex);
  return shared_->dropped;
}

void TaskThread::check() const {
  if (rules_.warn) return;
  MutexLock lock(shared_->mutex);
  if (shared_->error) std::rethrow_exception(shared_->error);
}

void TaskThread::finish() {
  if (!thread_.joinable()) return;
  {
    MutexLock lock(shared_->mutex);
    shared_->ends = true;
  }
  shared_->changed.notify_all();
  thread_.join();
}

}  // namespace flowtrain
