#pragma once
// Batches for a training loop that is not ours: a loader of its own, epoch after epoch, whose place can be stored.

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
#include "sampling/samplers/stored.h"

namespace flowtrain {

/// Where a stream of samples stands: those of `epoch` that were handed out, by all ranks together. As many as an epoch
/// has: the next batch is the first of the epoch after it.
struct StreamPosition {
  std::uint64_t epoch = 0, samples = 0;

  bool operator==(const StreamPosition&) const = default;
};

struct DataLoaderOptions {
  bool training = true;   ///< [data.train], in its order and augmented; false: [data.val], in stored order
  bool drop_last = true;  ///< leaves out the rest of an epoch that fills no batch; false: the last batch is shorter
  bool floats = true;     ///< u8 images as (channels, height, width) f32, normalised; false: as they are
  Slice slice = {};       ///< of each batch, that this process takes
  /// Host memory of batches: a block for each slab, and for each batch that is handed out, which goes back to it once
  /// nobody holds it. Null: plain memory, which is used again.
  std::shared_ptr<Device> memory = {};
};

/// A batch that was handed out. Its memory is used again once the last copy is gone.
struct LoadedBatch {
  std::uint64_t epoch = 0;                 ///< from 0
  std::uint32_t rows = 0;                  ///< > 0
  std::shared_ptr<std::byte> memory = {};  ///< fields one after the other, see SlabLayout
  std::vector<std::uint64_t> ids = {};     ///< the record of each row
  const SlabLayout* layout = nullptr;      ///< of its loader, which must live

  std::byte* field(std::size_t index) const { return memory.get() + layout->offset(index); }
};

/// One thread calls; times(), memory_blocks() and what does not change may be asked by any. Errors of a batch are
/// thrown by next_within(). A rank that has no row of an epoch's last batch, which is shorter, gets the batch's first
/// one, as the others need a batch of each.
class DataLoader {
 public:
  /// Opens the data; with `dataset`, takes that in the place of what the configuration names. loader.batch is that of
  /// all ranks together. Throws UserError(usage or data).
  DataLoader(Config config, DataLoaderOptions options, std::unique_ptr<Dataset> dataset = nullptr);
  ~DataLoader();
  DataLoader(const DataLoader&) = delete;

  /// A second stream of the same opened data, with a position and threads of its own. Any thread may call this.
  std::unique_ptr<DataLoader> another() const;

  /// Of an epoch, on every rank.
  std::uint64_t batches() const;
  /// Of the epoch in which position() is, after it.
  std::uint64_t batches_left() const;
  /// Of an epoch, of all ranks.
  std::uint64_t samples() const;
  /// Rows of a batch, of all ranks.
  std::uint64_t batch_size() const;
  /// Of a row as it is handed out.
  const std::vector<Field>& fields() const;
  /// Where they lie in a batch's memory.
  const SlabLayout& layout() const;
  const std::vector<std::string>& classes() const;
  const Config& config() const { return config_; }
  /// What a record is in messages: a file's path, say. Throws std::out_of_range.
  std::string describe(std::uint64_t id) const;
  /// Its class; -1 where there is none.
  std::int64_t label(std::uint64_t id) const;

  /// Begins the next epoch, or goes on with one that seek() has set. Batches of the one before that were not asked for
  /// are left out.
  void begin_epoch();
  /// The next batch of the epoch; null at its end. Nothing: after about `patience` there is none yet.
  std::optional<std::unique_ptr<LoadedBatch>> next_within(std::chrono::microseconds patience);
  /// The same, however long it takes.
  std::unique_ptr<LoadedBatch> next() {
    for (;;)
      if (auto batch = next_within(std::chrono::seconds(1))) return std::move(*batch);
  }

  StreamPosition position() const { return position_; }
  /// The next epoch that begins goes on from there. Throws UserError(usage) for a place that the stream has not.
  void seek(StreamPosition position);
  /// What a place means nothing without, by name: the hash of the records (Dataset::fingerprint), samples of an epoch,
  /// and the keys that decide the order and what is drawn, as TOML writes their values.
  std::map<std::string, std::string> basis() const;

  /// Of the first record that can be read, which this reads.
  StoredForm stored_form() const;
  /// What an annotation file says, which this reads again; null if there is none.
  std::shared_ptr<const BoxAnnotations> annotations() const;
  /// Whether records are in memory, where no thread waits for a disk.
  bool resident() const;

  /// Busy seconds of the stages since the start of what runs now.
  LoaderTimes times() const;
  LoaderShape shape() const;
  /// Batches that are held outside, at most at once.
  std::size_t memory_blocks() const;
  /// Ends all threads; batches that were handed out stay good.
  void close();

 private:
  struct Opened;
  struct Impl;
  DataLoader(const Config& config, const DataLoaderOptions& options, std::shared_ptr<const Opened> opened);
  std::uint64_t left_after(std::uint64_t samples) const;
  void restart();

  const Config config_;
  const DataLoaderOptions options_;
  StreamPosition position_;
  bool fresh_ = true;  // the next begin_epoch() goes on from position_
  std::unique_ptr<Impl> impl_;
};

}  // namespace flowtrain
