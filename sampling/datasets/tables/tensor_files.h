#pragma once
// Files of named tensors, whose first axis counts records: .npz, .safetensors, and folders of .npy files.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sampling/io/descriptor.h"
#include "sampling/io/stored_array.h"

namespace flowtrain {

class Settings;

/// A named tensor of a file.
struct StoredTensor {
  std::string name;
  StoredType type = StoredType::u8;
  std::vector<std::int64_t> shape = {};  ///< shape with the axis of records
  std::shared_ptr<const ByteSource> file = {};
  std::uint64_t offset = 0;
  std::vector<std::byte> memory = {};  ///< elements of record_type(type), if they are in memory: `file` is then null

  /// Returns the bytes of all elements as they are stored.
  std::uint64_t stored_bytes() const;
  /// Reads all elements into memory. Throws std::runtime_error.
  void load();
};

/// The tensors of one file, or of a folder of .npy files, all with the same number of records.
struct TensorFile {
  std::string path;
  std::vector<StoredTensor> tensors;  ///< sorted by name
  std::uint64_t records = 0;
};

/// The files of one side (training or validation); their records follow one another.
struct TensorFiles {
  std::vector<TensorFile> all;  ///< at least one; each has the same tensors, but for the number of records
  bool has_split = false;
  std::string place = {};
  std::vector<std::string> notes = {};
};

/// Opens the files that the keys `path`, `split` and `split_names` name (see find_split_files). Tensors of one file
/// that are named after splits ("x_train", "x_test") are divided by them, too, and called by the rest of their names.
/// Arrays that take at most `memory_mb` (a key) in all are read into memory, and so are compressed ones. Throws
/// UserError(data) for files that are damaged or do not fit each other.
TensorFiles open_tensor_files(const Settings& settings, bool training);

}  // namespace flowtrain
