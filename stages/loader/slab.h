#pragma once
// Slabs hold one batch's memory, allocated once and reused for ever. The sample stage writes rows in place.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sampling/core/mutex.h"
#include "sampling/dataset.h"
#include "sampling/images/pixel_rule.h"
#include "sampling/plans/packed_rows.h"
#include "sampling/sampler.h"
#include "stages/core/plan.h"
#include "stages/core/ticket.h"
#include "stages/device/device.h"

namespace flowtrain {

/// Returns whether it is the `image` (height, width, channels) of bytes that nets read, and no finished one.
bool is_image(const Field& field);
/// Returns the shape of a field of pictures.
PictureShape shape_of(const Field& field);

/// The number of rows of a batch, and the extents of the free axes of all fields, in their order.
struct BatchShape {
  std::uint32_t rows = 0;
  std::vector<std::int64_t> extents = {};
  std::uint32_t records = 0;  ///< number of records in packed rows; 0: each row has one
  /// The number of rows of each group (Field::group), whose sum is `rows`; empty: all rows have all fields.
  std::vector<std::uint32_t> groups = {};

  /// Returns the number of rows that have a field.
  std::uint32_t rows_of(const Field& field) const { return groups.empty() ? rows : groups[field.group]; }
};

/// Places each field of a batch within a slab: one block, fields one after the other, each aligned to 64 bytes. Where
/// fields have free axes, it is the layout of the largest batch, and each Slab has that of its own.
class SlabLayout {
 public:
  /// The batches have up to `rows` rows with the fields' free axes at their bounds.
  SlabLayout(std::vector<Field> fields, std::uint32_t rows) : SlabLayout(std::move(fields), {{.rows = rows}}) {}
  /// Each batch fits into one of `shapes`, of which there is at least one; empty extents are the bounds.
  SlabLayout(std::vector<Field> fields, const std::vector<BatchShape>& shapes);

  const std::vector<Field>& fields() const { return fields_; }
  /// Returns the number of rows that fit.
  std::uint32_t rows() const { return rows_; }
  /// Returns the number of records that fit.
  std::uint32_t records() const { return records_; }
  /// Returns whether rows hold several records each, along their first axis.
  bool is_packed() const { return packed_; }
  std::size_t bytes() const { return bytes_; }
  std::size_t offset(std::size_t field) const { return offsets_[field]; }
  std::size_t row_bytes(std::size_t field) const { return row_bytes_[field]; }
  /// Returns whether all batches have the same layout: no field has a free axis.
  bool is_fixed() const { return fixed_; }
  /// Places the fields of a batch of this shape: writes the offset and the bytes of a row of each field, and returns
  /// the bytes of the batch.
  std::size_t place(const BatchShape& shape, std::span<std::size_t> offsets, std::span<std::size_t> row_bytes) const;

 private:
  std::vector<Field> fields_;
  std::vector<std::size_t> offsets_, row_bytes_;
  std::uint32_t rows_ = 0, records_ = 0;
  std::size_t bytes_ = 0;
  bool fixed_ = true, packed_ = false;
};

/// A sample that could not be used, and its substitute.
struct BadSample {
  std::uint64_t epoch;       ///< epoch of the stream, from 0
  std::uint64_t position;    ///< row of the stream
  std::uint64_t id;          ///< record
  std::uint64_t substitute;  ///< record used instead
  const char* stage;         ///< stage that found it: "read" or "sample"
  std::string reason;
};

/// The place of a record in a batch.
struct RowPlace {
  std::uint32_t row = 0;    ///< row of its fields
  std::uint32_t group = 0;  ///< group of the fields that it has
  // A record of a packed row has the positions begin … begin + extent - 1:
  std::uint32_t begin = 0, extent = 0;
  std::int32_t segment = 1;  ///< number of the record within a packed row, from 1
};

/// A row of a batch before it is read.
struct StreamRow {
  std::uint64_t position;  ///< place in the stream; keys all random draws
  std::uint64_t id;        ///< record
};

/// The memory for planning a batch, where a plan chooses its rows or its shape. Each slab has its own, and not each
/// thread: a thread that plans its first batch late would allocate while the line is warm.
struct PlanningMemory {
  /// A record of a batch, and its place among the rows of this process.
  struct Item {
    StreamRow row;
    RowPlace place;
  };
  std::vector<Item> items = {};
  std::vector<std::uint64_t> whole = {};  ///< records of all rows of the batch, those of other processes, too
  std::vector<PackedPiece> pieces = {};   ///< the records of one packed row
  BatchShape shape = {};
};

/// One row on its way: its record and its progress. The thread that holds its chunk owns it.
struct RowWork {
  enum class State : std::uint8_t { pending, read, failed, done };

  std::uint64_t position = 0;  ///< keys all random draws
  std::uint64_t id = 0;        ///< record; changes when a bad one is replaced
  RowPlace place = {};
  State state = State::pending;
  std::uint16_t replaced = 0;  ///< number of times the record was replaced
  const char* stage = "";      ///< stage that failed: "read" or "sample"
  std::string reason = {};     ///< reason of State::failed
  Record record = {};
  ReadBuffer buffer = {};
};

/// One batch. The stages pass it on by its slot; only the holder of a ticket (or of a chunk) touches it.
class Slab {
 public:
  Slab(const SlabLayout& layout, Device& device);
  ~Slab();
  Slab(const Slab&) = delete;

  /// Prepares the slab for another batch of `rows` rows, one record each, handled in `chunks` parts. `extents` are
  /// those of the free axes of all fields; empty: their bounds.
  void begin(const Ticket& ticket, std::uint64_t epoch, std::uint32_t rows, std::uint32_t chunks,
             std::span<const std::int64_t> extents = {}) {
    begin(ticket, epoch, {rows, {extents.begin(), extents.end()}}, chunks);
  }
  /// The places of the records of packed rows are then written by the caller.
  void begin(const Ticket& ticket, std::uint64_t epoch, const BatchShape& shape, std::uint32_t chunks);
  /// Adds a part beside the chunks, which must be done before the batch is complete.
  void add_part() { chunks_left_.fetch_add(1, std::memory_order_relaxed); }
  /// Returns the rows of one chunk.
  std::span<RowWork> chunk(std::uint32_t index);
  /// Returns true to the caller that finished the last chunk or part: the batch is complete.
  bool chunk_done() { return chunks_left_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

  const Ticket& ticket() const { return ticket_; }
  /// Returns the plan of its iteration.
  Plan& plan() { return plan_; }
  const Plan& plan() const { return plan_; }
  std::uint64_t epoch() const { return epoch_; }
  /// Returns the weight of its rows in the iteration's mean over all processes and micro-batches: own rows × processes
  /// × micro-batches / rows of the whole iteration. It is 1 if all have as many, and 0 if this process has none.
  double share() const { return share_; }
  void set_share(double share) { share_ = share; }
  /// Returns the records of the batch, by rows.
  std::span<RowWork> rows() { return {rows_.data(), used_}; }
  std::span<const RowWork> rows() const { return {rows_.data(), used_}; }
  /// Returns the number of rows, each of which has one record, or in packed rows several.
  std::uint32_t row_count() const { return shape_.rows; }
  /// Returns the number of rows that have a field.
  std::uint32_t rows_of(std::size_t field) const { return shape_.rows_of(layout_.fields()[field]); }
  const SlabLayout& layout() const { return layout_; }
  /// Returns where a field of this batch begins within the memory.
  std::size_t offset(std::size_t field) const { return offsets_[field]; }
  /// Returns the bytes of a row of a field of this batch.
  std::size_t row_bytes(std::size_t field) const { return row_bytes_[field]; }
  /// Returns the bytes of the memory that this batch uses.
  std::size_t bytes() const { return bytes_; }
  /// Returns the extents of the free axes of all fields in this batch.
  std::span<const std::int64_t> extents() const { return shape_.extents; }
  /// Returns a field as this batch has it: without free axes.
  Field field(std::size_t index) const {
    return stored_shape(layout_.fields()[index], extents_of(layout_.fields(), index, extents()));
  }
  std::byte* host() { return host_; }
  const std::byte* host() const { return host_; }
  /// Returns the memory that compute reads: on the device, or host() if the device does not copy.
  const std::byte* device() const { return device_memory_; }
  std::byte* device() { return device_memory_; }
  /// Gives the slab other memory of layout().bytes(), which its owner has allocated, and returns the old one: the batch
  /// can be kept. Only the holder of the ticket calls it, and only if the device does not copy.
  std::byte* exchange_memory(std::byte* memory) {
    device_memory_ = memory;
    return std::exchange(host_, memory);
  }
  /// Returns the device that allocated the memory.
  Device& owner() const { return device_; }
  /// Writes where the record begins in each field to `out`; null for fields of other groups.
  void row_pointers(const RowWork& record, std::span<std::byte*> out);
  /// Returns the bytes of a field that belong to the record: a row, or its part of a packed row. They are empty if the
  /// field is of another group.
  std::span<const std::byte> bytes_of(const RowWork& record, std::size_t field) const;

  /// Returns the memory for planning the batch; only the holder of the ticket uses it.
  PlanningMemory& planning() { return planning_; }

  /// Keeps the first error of the batch; the ticket goes on as `bad`.
  void fail(const std::exception_ptr& error);
  std::exception_ptr error() const {
    const MutexLock lock(mutex_);
    return error_;
  }
  void add_bad(BadSample bad);
  /// Returns the bad samples of a batch whose chunks are all done: nobody adds to it any more, so no lock is needed.
  const std::vector<BadSample>& bad() const FT_UNCHECKED { return bad_; }

 private:
  const SlabLayout& layout_;
  Device& device_;
  std::byte* host_ = nullptr;
  std::byte* device_memory_ = nullptr;
  BatchShape shape_;
  PlanningMemory planning_;
  std::vector<std::size_t> offsets_, row_bytes_;
  std::size_t bytes_ = 0;
  Ticket ticket_;
  Plan plan_;
  std::uint64_t epoch_ = 0;
  double share_ = 1;
  std::uint32_t used_ = 0, chunks_ = 1;
  std::vector<RowWork> rows_;
  std::atomic<std::uint32_t> chunks_left_{0};
  mutable Mutex mutex_;  // several chunks may fail at once
  std::exception_ptr error_ FT_GUARDED_BY(mutex_);
  std::vector<BadSample> bad_ FT_GUARDED_BY(mutex_);
};

}  // namespace flowtrain
