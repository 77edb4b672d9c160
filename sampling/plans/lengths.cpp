#include "sampling/plans/lengths.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <stdexcept>
#include <thread>

#include "sampling/core/cpus.h"
#include "sampling/core/error.h"
#include "sampling/core/mutex.h"
#include "sampling/core/text.h"
#include "sampling/core/warning.h"
#include "sampling/datasets/kept_index.h"
#include "sampling/fingerprint.h"
#include "sampling/io/descriptor.h"
#include "sampling/sampler.h"
#include "sampling/transform.h"

namespace flowtrain {
namespace {

/// Records that a thread takes at a time.
constexpr std::uint64_t block_records = 64;

/// Returns the file in which lengths are kept.
KeptValues lengths_file(const Dataset& dataset, const MeasureOptions& options) {
  auto settings = fingerprint_of(options.settings, dataset.size());
  for (const auto axis : options.axes) settings = fingerprint_of(std::uint64_t{axis}, settings);
  return {options.folder, "lengths", dataset.version(), settings};
}

/// The measuring of all records by several threads.
class Measurement {
 public:
  Measurement(const Dataset& dataset, const Sampler& sampler, const MeasureOptions& options, Lengths& lengths)
      : dataset_(dataset),
        sampler_(sampler),
        options_(options),
        lengths_(lengths),
        extents_(free_axes_of(sampler.fields())) {
    for (const auto axis : options.axes)
      if (axis >= extents_) throw InternalError(concat("free axis ", axis, " of ", extents_, " is to be measured"));
  }

  /// Measures all records. Without `may_read` it ends at the first one that has no outline, and returns false.
  bool run(bool may_read) {
    may_read_ = may_read;
    next_ = done_ = read_ = 0;
    forget_damaged();
    lacks_outline_ = false;
    const auto blocks = (lengths_.records() + block_records - 1) / block_records;
    const auto threads = options_.threads > 0 ? options_.threads : std::max(8u, usable_cores());
    {
      std::vector<std::jthread> others(std::min<std::uint64_t>(threads, std::max<std::uint64_t>(1, blocks)) - 1);
      for (auto& thread : others) thread = std::jthread([this] { work(nullptr); });
      work(may_read ? options_.progress : nullptr);
    }
    rethrow_failure();
    if (lacks_outline_) return false;
    set_damaged();
    if (options_.progress) options_.progress(lengths_.records(), lengths_.records());
    lengths_.records_read = read_;
    return true;
  }

  /// Reads some records, spread over the set, and returns whether they still have the lengths that were kept: a data
  /// set's version does not show all, such as shards of one size with other bytes.
  bool are_current() const {
    constexpr std::uint64_t most_checked = 16;
    const auto records = lengths_.records();
    const auto checked = std::min(records, most_checked);
    ReadBuffer buffer;
    std::vector<std::int64_t> extents(extents_);
    for (std::uint64_t i = 0; i < checked; ++i) {
      const auto id = i * records / checked;
      try {
        if (!measure_outline(id, buffer, extents)) sampler_.measure(dataset_.read(id, buffer), extents);
      } catch (const SampleError&) {
        continue;  // it has the median of the others
      }
      for (std::size_t axis = 0; axis < options_.axes.size(); ++axis)
        if (lengths_.axis(axis)[id] != kept(extents, axis)) return false;
    }
    return true;
  }

 private:
  void work(const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
    ReadBuffer buffer;
    std::vector<std::int64_t> extents(extents_);
    const auto records = lengths_.records();
    try {
      for (std::uint64_t first; (first = next_.fetch_add(block_records)) < records;) {
        const auto end = std::min(first + block_records, records);
        for (auto id = first; id < end; ++id) measure_record(id, buffer, extents);
        const auto done = done_.fetch_add(end - first) + end - first;
        if (progress && done < records) progress(done, records);
      }
    } catch (...) {
      note_failure();
    }
  }

  void measure_record(std::uint64_t id, ReadBuffer& buffer, std::vector<std::int64_t>& extents) {
    try {
      if (!measure_outline(id, buffer, extents)) {
        if (!may_read_) {
          lacks_outline_ = true;
          next_ = lengths_.records();  // the other threads end after their blocks
          return;
        }
        ++read_;
        sampler_.measure(dataset_.read(id, buffer), extents);
      }
    } catch (const SampleError&) {
      std::ranges::fill(extents, 0);
      note_damaged(id);
    }
    for (std::size_t i = 0; i < options_.axes.size(); ++i) lengths_.axis(i)[id] = kept(extents, i);
  }

  /// Measures a record without a read. Returns false if that is not possible.
  bool measure_outline(std::uint64_t id, ReadBuffer& buffer, std::vector<std::int64_t>& extents) const {
    std::ranges::fill(extents, 0);
    Record record;
    if (!dataset_.outline(id, record, buffer)) return false;
    sampler_.measure(record, extents);
    return std::ranges::find(extents, unknown_extent) == extents.end();
  }

  /// Returns what is kept of a record's extents, of the axis `options_.axes[i]`.
  std::uint32_t kept(const std::vector<std::int64_t>& extents, std::size_t i) const {
    constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(extents[options_.axes[i]], 0, most));
  }

  void note_damaged(std::uint64_t id) FT_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    damaged_.push_back(id);
  }

  void forget_damaged() FT_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    damaged_.clear();
  }

  /// Gives damaged records the median of all others, so that the records that replace them have room.
  void set_damaged() FT_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    std::ranges::sort(damaged_);
    if (damaged_.empty() || damaged_.size() == lengths_.records()) return;
    std::vector<std::uint32_t> whole;
    for (std::size_t i = 0; i < lengths_.axes(); ++i) {
      whole.clear();
      const auto all = lengths_.axis(i);
      auto damaged = damaged_.begin();
      for (std::uint64_t id = 0; id < all.size(); ++id) {
        if (damaged != damaged_.end() && *damaged == id)
          ++damaged;
        else
          whole.push_back(all[id]);
      }
      const auto middle = whole.begin() + static_cast<std::ptrdiff_t>(whole.size() / 2);
      std::ranges::nth_element(whole, middle);
      for (const auto id : damaged_) all[id] = *middle;
    }
  }

  void note_failure() FT_EXCLUDES(mutex_) {
    next_ = lengths_.records();  // the other threads end after their blocks
    const MutexLock lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
  }

  void rethrow_failure() FT_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
  }

  const Dataset& dataset_;
  const Sampler& sampler_;
  const MeasureOptions& options_;
  Lengths& lengths_;
  const std::size_t extents_;  ///< number of the sampler's free axes
  bool may_read_ = true;
  std::atomic<std::uint64_t> next_ = 0, done_ = 0, read_ = 0;
  std::atomic<bool> lacks_outline_ = false;
  Mutex mutex_;
  std::exception_ptr failure_ FT_GUARDED_BY(mutex_);
  std::vector<std::uint64_t> damaged_ FT_GUARDED_BY(mutex_);
};

}  // namespace

Lengths measure(const Dataset& dataset, const Sampler& sampler, const MeasureOptions& options) {
  Lengths lengths(dataset.size(), options.axes.size());
  Measurement measurement(dataset, sampler, options, lengths);
  if (options.folder.empty()) {
    measurement.run(true);
  } else if (!measurement.run(false)) {  // outlines need no file, whose name takes a hash of the data set
    const auto file = lengths_file(dataset, options);
    if (file.recall(std::as_writable_bytes(lengths.values())) && measurement.are_current()) return lengths;
    measurement.run(true);
    if (lengths.records_read > 0 && !file.keep(std::as_bytes(lengths.values())))
      warn(concat("the lengths of the records cannot be kept in ", file.path().string(),
                  ": they are measured again at the next start"));
  }
  return lengths;
}

}  // namespace flowtrain
