#pragma once
// The protocol between a worker and the process that runs its sampler, in the memory that they share:
//     Control │ records: RecordHead, boxes, bytes and parts, for each │ rows: field by field
// The worker writes records, and sets `state` to requested; the process sets working, writes rows, and sets done.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "sampling/core/random.h"
#include "sampling/core/settings.h"
#include "sampling/sampler.h"

namespace flowtrain::isolation {

/// Descriptors of the process: the memory, and a pipe whose other end the worker's process holds while it lives.
inline constexpr int memory_descriptor = 3, lifeline_descriptor = 4;
/// The program's first word that makes it a sampler process.
inline constexpr const char* command_word = "run-sampler";

/// The largest number of free axes of a row.
inline constexpr std::size_t most_axes = 32;

enum State : std::uint32_t { idle, requested, working, done };
enum class Request : std::uint32_t { create, measure, sample, sample_rows };
enum class Result : std::uint32_t { ok, bad_sample, user_error, out_of_memory, bug };

/// Stands at the beginning of the memory.
struct Control {
  std::atomic<std::uint32_t> state{idle};
  Request request{};
  Result result{};
  std::int32_t code = 0;                          ///< ExitCode of Result::user_error
  std::uint64_t memory_bytes = 0;                 ///< size of the memory that the worker has made
  std::uint64_t records = 0;                      ///< records of this request
  std::uint64_t rows_offset = 0;                  ///< offset of the rows from the memory's beginning
  std::uint64_t axes = 0;                         ///< number of `extents`
  std::array<std::int64_t, most_axes> extents{};  ///< Row::extents(), or the answer of Request::measure
  std::int32_t segment = 1;                       ///< Row::segment()
  alignas(16) std::array<std::byte, sizeof(Stream)> random{};
  std::array<char, 4096> message{};  ///< ended by 0, as is `hint`
  std::array<char, 1024> hint{};
};
static_assert(std::is_trivially_copyable_v<Stream> && std::atomic<std::uint32_t>::is_always_lock_free);

inline constexpr std::size_t alignment = 64;
inline constexpr std::size_t aligned(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }
inline constexpr std::size_t records_offset = aligned(sizeof(Control));

/// Bytes that records take in the memory.
std::size_t stored_bytes(std::span<const Record* const> records);
/// Copies records to `to`; Record::cache is left out.
void store_records(std::span<const Record* const> records, std::byte* to);
/// Returns records whose views point into the memory, where their parts are made.
std::vector<Record> load_records(std::byte* from, std::size_t count);

/// A record with memory of its own. Record::cache is left out.
class KeptRecord {
 public:
  explicit KeptRecord(const Record& from);
  KeptRecord(const KeptRecord&) = delete;

  const Record& record() const { return record_; }

 private:
  std::vector<std::max_align_t> memory_;
  Record record_;
};

/// The input for making a sampler in the other process.
struct Setup {
  std::vector<std::string> plugins;  ///< run.plugins
  Settings settings;                 ///< [sampler]
  std::vector<Settings> fields;      ///< [[field]]
  bool training = true, needs_targets = true;
  // Facts about the data set:
  std::uint64_t size = 0, fingerprint = 0;
  std::vector<std::string> classes;
  std::string missing_labels;
  bool has_boxes = false;
  std::vector<PartForm> parts;
  std::optional<std::uint64_t> first_id;  ///< first readable record, whose bytes are in the memory, too
  std::string unreadable;                 ///< reason why there is none
};

/// A sampler that was made.
struct Made {
  std::vector<Field> fields;
  bool takes_blocks = false;
};

std::string to_bytes(const Setup& setup);
/// Opens the plugins, which may define keys of [sampler]. Throws UserError.
Setup setup_from(const std::string& bytes);
std::string to_bytes(const Made& made);
Made made_from(const std::string& bytes);

}  // namespace flowtrain::isolation
