#pragma once
// The flight recorder of a process: a file of about 1 MB with the current and the last places of each thread.

#include <filesystem>
#include <memory>
#include <thread>

#include "sampling/core/mutex.h"

namespace flowtrain {

namespace flight {
class FileWriter;
}

/// Records spans (flight.h) of all threads in `folder`/rank-R.bin while it lives. The whole record survives kill -9;
/// only a power cut or a crash of the kernel loses some. If the file cannot be mapped safely (FileWriter), it is
/// written twice a second. A process has one recorder at a time; a later one takes over.
class FlightRecorder {
 public:
  /// Makes the folder, whose parent must exist, and keeps the previous start's file as rank-R.1.bin. The calling thread
  /// is called "compute". Throws UserError(snapshot) if the file cannot be made.
  FlightRecorder(const std::filesystem::path& folder, int rank, int world);
  /// Records that the process ended by itself, unless flight_failed() came before.
  ~FlightRecorder();
  FlightRecorder(const FlightRecorder&) = delete;
  FlightRecorder& operator=(const FlightRecorder&) = delete;

 private:
  void show_life();

  std::shared_ptr<flight::FileWriter> file_;
  Mutex mutex_;
  CondVar changed_;
  bool is_over_ FT_GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

}  // namespace flowtrain
