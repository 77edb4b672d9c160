#pragma once
// A process that runs one sampler, from the side of the worker that uses it.

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>

#include "pipeline/engine/isolation/protocol.h"
#include "pipeline/engine/isolation/shared_memory.h"
#include "sampling/sampler.h"

namespace flowtrain::isolation {

/// The process ended, or was ended because it took too long. The message says how.
class ProcessLost : public std::runtime_error {
 public:
  ProcessLost(const std::string& how, bool began) : std::runtime_error(how), began_(began) {}
  /// Returns whether it had begun the request.
  bool began() const { return began_; }

 private:
  bool began_;
};

/// Owns a process; one thread at a time. The process ends with the object, and with this program, however that ends.
class SamplerProcess {
 public:
  /// Starts `program`, which makes a sampler of `setup`; `first` is the record of setup.first_id, or null. Throws
  /// errors of making the sampler, and UserError(usage) if the process cannot be started.
  SamplerProcess(const std::string& program, const std::string& setup, const Record* first,
                 std::chrono::duration<double> time_limit);
  SamplerProcess(const SamplerProcess&) = delete;

  const Made& made() const { return made_; }
  /// Works as Sampler::measure, sample and sample_rows; also throws ProcessLost.
  void measure(const Record& record, std::span<std::int64_t> extents);
  void sample(const Record& record, Stream& random, Row row);
  void sample_rows(std::span<const Record* const> records, Row first);

 private:
  Control& control() const { return *reinterpret_cast<Control*>(memory_.data()); }
  void start(const std::string& program);
  void reserve(std::size_t records_bytes, std::size_t rows_bytes);
  void run(Request request, std::size_t records, std::chrono::duration<double> limit);
  /// Makes room for records and rows with the extents of `first`.
  void prepare(std::span<const Record* const> records, Row first);
  std::size_t bytes_of(std::size_t field, std::size_t rows, Row first) const;
  void copy_rows(std::size_t rows, Row first) const;
  [[noreturn]] void lose(const std::string& how);
  void rethrow_result() const;

  /// The process, which ends with it, and the pipe whose end tells it that this one has ended.
  struct Child {
    Child() = default;
    ~Child();
    Child(const Child&) = delete;

    pid_t pid = -1;
    int lifeline = -1;
  };

  SharedMemory memory_;
  std::chrono::duration<double> time_limit_;
  std::size_t rows_offset_ = 0;  // copy of control()'s offset, which the sampler may overwrite
  Child child_;
  Made made_;
};

}  // namespace flowtrain::isolation
