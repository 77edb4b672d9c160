#pragma once
// The rows of Parquet files, decoded by groups of rows when they are asked for.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sampling/core/mutex.h"
#include "sampling/datasets/tables/parquet.h"

namespace flowtrain {

struct RemoteAccess;

/// The rows of Parquet files of one schema, one file after the other. Decoded groups are kept up to a number of bytes;
/// what was decoded first is dropped first. Const methods may be called from any thread.
class ParquetRows {
 public:
  /// Opens the files, with `access` several ones on a server at once, and libflowtrain_parquet.so with the first one.
  /// Throws UserError(data) for files that are damaged, cut or of different schemas, and if there is no such library.
  ParquetRows(const std::vector<std::string>& paths, const std::shared_ptr<const RemoteAccess>& access,
              std::uint64_t most_bytes);

  /// Returns the table of the rows: the columns have no cells, and a row's line is its number in its file, from 1.
  Table table(const std::string& path) const;
  /// Adds the cells of a column to its table. Throws UserError(data).
  void fill(Table& table, std::size_t column) const;

  const ParquetColumn& column(std::size_t index) const { return columns_[index]; }
  /// Returns the form of a column's part: columns of bytes that are called image or audio, or as files of pictures or
  /// recordings end, are such.
  PartForm form_of(std::size_t column) const;
  /// Sets the columns that read() reads.
  void choose(std::vector<std::size_t> columns) { chosen_ = std::move(columns); }
  /// Copies a row's values into the buffer, and sets `values` to views of them, one for each chosen column. Throws
  /// std::runtime_error.
  void read(std::uint64_t row, ReadBuffer& buffer, std::vector<std::span<const std::byte>>& values) const;
  /// Returns the path of the file that holds a row.
  const std::string& path_of(std::uint64_t row) const { return files_[groups_[find(row)].file].path; }

 private:
  using Group = std::vector<ParquetValues>;  ///< the values of the chosen columns
  struct File {
    std::string path = {};  ///< path, or a URL without user, password and query
    std::unique_ptr<const ByteSource> bytes = {};
    std::unique_ptr<const ParquetFile> opened = {};
    std::uint64_t hash = 0;  ///< hash_of_end()
  };
  struct Place {
    std::size_t file, group;
    std::uint64_t first, size;  ///< rows
  };
  struct Slot {
    Mutex mutex;
    std::shared_ptr<const Group> group FT_GUARDED_BY(mutex) = {};
  };

  void check_schema(const std::string& path, const std::vector<ParquetColumn>& columns);
  std::size_t find(std::uint64_t row) const;
  Group decode(std::size_t group, std::span<const std::size_t> columns) const;
  std::shared_ptr<const Group> decoded(std::size_t group) const;
  void make_room(std::size_t group, std::uint64_t bytes) const;

  std::vector<ParquetColumn> columns_;
  std::vector<std::size_t> chosen_;
  std::vector<File> files_;
  std::vector<Place> groups_;
  std::uint64_t hash_ = 0;
  const std::uint64_t most_bytes_;
  mutable std::deque<Slot> slots_;  ///< one for each of groups_
  mutable Mutex mutex_;
  mutable std::deque<std::pair<std::size_t, std::uint64_t>> kept_ FT_GUARDED_BY(mutex_);  ///< groups with their bytes
  mutable std::uint64_t kept_bytes_ FT_GUARDED_BY(mutex_) = 0;
};

}  // namespace flowtrain
