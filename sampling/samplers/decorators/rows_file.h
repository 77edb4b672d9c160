#pragma once
// Files of finished rows: what `record` writes and `playback` reads.
//
// A file begins with "FTROWS1\n", the length of its description (u64), and that description: one line for each field
// and key that decided the rows. Slots of one size follow, aligned to 64 bytes: record id (u64), the record's
// fingerprint (u64), kind (u64), and the row's fields one after the other, or the reason why the record is bad. Numbers
// are little-endian.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sampling/core/mutex.h"
#include "sampling/sampler.h"

namespace flowtrain {

/// What stands in a slot.
struct StoredRow {
  bool bad = false;                ///< the record is bad
  const std::byte* row = nullptr;  ///< its fields, one after the other
  std::string_view reason = {};    ///< why it is bad
};

/// Appends rows to a file, each record once, also where several processes write to it. Any thread.
class RowsWriter {
 public:
  /// Makes the file, or goes on with one of the same description. Throws UserError: usage where the description differs
  /// (with the line that does), snapshot where the file cannot be made.
  RowsWriter(const std::filesystem::path& file, const std::vector<Field>& fields, const std::string& description);
  ~RowsWriter();
  RowsWriter(const RowsWriter&) = delete;

  /// Does nothing where the record is stored already. Throws UserError(snapshot) where the disk is full, and
  /// SampleError where another record is stored by its id.
  void add(const Record& record, Row row);
  /// As add(), for a record that cannot be used.
  void add_bad(const Record& record, std::string_view reason);

 private:
  void append(const Record& record, std::vector<std::byte>& slot);
  void check_known(std::uint64_t id, std::uint64_t fingerprint) const FT_REQUIRES(mutex_);
  void read_new_slots() FT_REQUIRES(mutex_);

  const std::string file_;
  int descriptor_ = -1;
  std::vector<std::size_t> row_bytes_;
  std::size_t slot_bytes_ = 0;
  Mutex mutex_;
  std::uint64_t end_ FT_GUARDED_BY(mutex_) = 0;                                   // of the slots whose ids are known
  std::unordered_map<std::uint64_t, std::uint64_t> known_ FT_GUARDED_BY(mutex_);  // fingerprints by id
};

/// The rows of a file, which is mapped into memory. Any thread.
class RowsReader {
 public:
  /// Throws UserError: data where there is no such file or it is no file of rows, usage where its description differs.
  RowsReader(const std::filesystem::path& file, const std::vector<Field>& fields, const std::string& description);
  ~RowsReader();
  RowsReader(const RowsReader&) = delete;

  /// Throws UserError(data) where the record is not stored, and SampleError where another one is by its id.
  StoredRow find(const Record& record) const;

 private:
  const std::string file_;
  const std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
  std::unordered_map<std::uint64_t, const std::byte*> slots_;
};

}  // namespace flowtrain
