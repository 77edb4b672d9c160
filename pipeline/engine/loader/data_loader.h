#pragma once
// Batches for a user's own training loop: a loader, epoch after epoch, whose position can be stored.

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/base/config/config.h"
#include "pipeline/engine/graph/graph.h"
#include "pipeline/engine/loader/epoch_cursor.h"
#include "sampling/samplers/stored.h"

namespace flowtrain {

struct DataLoaderOptions {
  bool training = true;   ///< reads [data.train], in its order and augmented; false: [data.val], in stored order
  bool drop_last = true;  ///< leaves out the rest of an epoch that fills no batch; false: the last batch is shorter
  bool floats = true;     ///< gives u8 images as (channels, height, width) f32, normalised; false: unchanged
  Slice slice = {};       ///< part of each batch that this process takes
  /// The allocator of host memory: a block for each slab, and for each batch that is handed out, which goes back to it
  /// once nobody holds it. Null: plain memory, which is reused.
  std::shared_ptr<Device> memory = {};
};

/// A batch that was handed out. Its memory is used again once the last copy is gone.
struct LoadedBatch {
  std::uint64_t epoch = 0;                 ///< counted from 0
  std::uint32_t rows = 0;                  ///< > 0
  std::shared_ptr<std::byte> memory = {};  ///< fields one after the other, see SlabLayout
  std::vector<std::uint64_t> ids = {};     ///< the record of each row
  const SlabLayout* layout = nullptr;      ///< layout of its loader, which must live
  // Set where fields have free axes or groups, and the batch so a layout of its own:
  std::vector<std::vector<std::int64_t>> shapes = {};  ///< shape of a row of each field
  std::vector<std::size_t> offsets = {};               ///< place of each field in `memory`
  std::vector<std::uint32_t> field_rows = {};          ///< number of rows of each field

  /// Returns a field as this batch has it: without free axes.
  Field stored_field(std::size_t index) const {
    Field field = layout->fields()[index];
    if (shapes.empty()) return field;
    field.shape = shapes[index];
    field.free_axes = 0;
    return field;
  }
  /// Returns the number of rows of a field.
  std::uint32_t rows_of(std::size_t index) const { return field_rows.empty() ? rows : field_rows[index]; }
  std::byte* field(std::size_t index) const {
    return memory.get() + (offsets.empty() ? layout->offset(index) : offsets[index]);
  }
};

/// Loads batches for one thread; any thread may ask times(), memory_blocks() and constants. next_within() throws the
/// errors of a batch. A rank without a row of an epoch's last, shorter batch gets the batch's first one.
class DataLoader {
 public:
  /// Opens the data, or takes `dataset` in place of the configured one. loader.batch is that of all ranks together.
  /// Throws UserError(usage or data).
  DataLoader(Config config, DataLoaderOptions options, std::unique_ptr<Dataset> dataset = nullptr);
  ~DataLoader();
  DataLoader(const DataLoader&) = delete;

  /// Opens a second stream of the same data, with a position and threads of its own. Any thread.
  std::unique_ptr<DataLoader> another() const;

  /// Returns the batches of an epoch, on every rank.
  std::uint64_t batches() const { return cursor_.batches_after(0); }
  /// Returns the batches after position() in its epoch.
  std::uint64_t batches_left() const { return cursor_.batches_left(); }
  /// Returns the samples of an epoch, of all ranks.
  std::uint64_t samples() const;
  /// Returns the rows of a batch, of all ranks.
  std::uint64_t batch_size() const { return cursor_.batch_size(); }
  /// Returns the fields of a row as it is handed out.
  const std::vector<Field>& fields() const;
  /// Returns the places of the fields in a batch's memory.
  const SlabLayout& layout() const;
  const std::vector<std::string>& classes() const;
  const Config& config() const { return config_; }
  /// Describes a record for messages, for example by its file's path. Throws std::out_of_range.
  std::string describe(std::uint64_t id) const;
  /// Returns its class; -1 if there is none.
  std::int64_t label(std::uint64_t id) const;

  /// Begins the next epoch, or continues one that seek() has set. The rest of the previous one is left out.
  void begin_epoch();
  /// Returns the next batch of the epoch, null at its end, or nothing if there is none after about `patience`.
  std::optional<std::unique_ptr<LoadedBatch>> next_within(std::chrono::microseconds patience);
  /// Waits for the next batch, however long it takes.
  std::unique_ptr<LoadedBatch> next() {
    for (;;)
      if (auto batch = next_within(std::chrono::seconds(1))) return std::move(*batch);
  }

  StreamPosition position() const { return cursor_.position(); }
  const EpochCursor& cursor() const { return cursor_; }
  /// Sets the position from which the next epoch continues. Throws UserError(usage) for a position outside the stream.
  void seek(StreamPosition position);
  /// Returns the facts without which a position is meaningless, by name: the hash of the records
  /// (Dataset::fingerprint), samples of an epoch, and the keys that decide the order and the draws, as TOML.
  std::map<std::string, std::string> basis() const;

  /// Reads the first readable record and returns its form.
  StoredForm stored_form() const;
  /// Reads the annotation file again; null if there is none.
  std::shared_ptr<const BoxAnnotations> annotations() const;
  /// Returns whether records are in memory, so that no thread waits for a disk.
  bool resident() const;

  /// Returns the busy seconds of the stages since the start of the current loader.
  LoaderTimes times() const;
  LoaderShape shape() const;
  /// Returns the most batches that were held outside at once.
  std::size_t memory_blocks() const;
  /// Ends all threads; batches that were handed out stay valid.
  void close();

 private:
  struct Opened;
  struct Impl;
  DataLoader(const Config& config, const DataLoaderOptions& options, std::shared_ptr<const Opened> opened);
  void restart();

  const Config config_;
  const DataLoaderOptions options_;
  std::unique_ptr<Impl> impl_;
  EpochCursor cursor_;
};

}  // namespace flowtrain
