#pragma once
// A thread that writes what another one hands over: the base of all loggers.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "sampling/core/mutex.h"

namespace flowtrain {

/// Carries out tasks in their order, on a thread of its own. One thread calls.
class TaskThread {
 public:
  using Task = std::function<void()>;

  struct Rules {
    std::string name;   ///< the thread's name, "ft-display"
    std::size_t depth;  ///< the number of tasks that may wait
    /// add() drops a task for which there is no place; otherwise it waits for one.
    bool drops = false;
    /// Called with the first error; later ones are not reported. If it is empty, check() rethrows the first error, and
    /// no later task is carried out.
    std::function<void(const std::exception& error)> warn = {};
    /// Called on the thread before it waits: tasks gather for so long, and are then carried out together. If it is
    /// empty, each task is carried out at once.
    std::function<std::chrono::steady_clock::duration()> pause = {};
    /// Called on the thread after each pause and the tasks that gathered in it, and a last time when all is done.
    Task after_pause = {};
  };

  explicit TaskThread(Rules rules);
  /// Does what finish() does.
  ~TaskThread() { finish(); }
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  /// Adds a task. After finish() it is dropped.
  void add(Task task);
  /// Returns a wait for the tasks that were added before. Any thread may carry it out, also when this object is gone.
  std::function<void()> wait_for_added() const;
  /// Returns the number of tasks that wait. Any thread.
  std::size_t waiting() const;
  /// Returns the number of tasks that a full queue dropped. Any thread.
  std::uint64_t dropped() const;
  /// Rethrows the first error, if there is no `warn`.
  void check() const;
  /// Returns when all tasks are carried out and the thread has ended.
  void finish();

 private:
  // It outlives this object where a snapshot waits for its tasks.
  struct Shared {
    Mutex mutex;  // held only while tasks are handed over
    CondVar changed;
    std::vector<Task> waiting FT_GUARDED_BY(mutex);
    std::uint64_t added FT_GUARDED_BY(mutex) = 0, done FT_GUARDED_BY(mutex) = 0, dropped FT_GUARDED_BY(mutex) = 0;
    bool hurries FT_GUARDED_BY(mutex) = false, ends FT_GUARDED_BY(mutex) = false;
    std::exception_ptr error FT_GUARDED_BY(mutex);
  };

  void loop();
  bool next_tasks(std::vector<Task>& tasks);
  void guarded(const Task& task);
  void fail();

  const Rules rules_;
  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  bool failed_ = false;  // used by the thread
  std::jthread thread_;  // last, because it uses all of the above
};

}  // namespace flowtrain
