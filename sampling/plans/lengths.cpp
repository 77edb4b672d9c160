#include "sampling/plans/lengths.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <exception>
#include <limits>
#include <stdexcept>
#include <system_error>
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

namespace fs = std::filesystem;
static_assert(std::endian::native == std::endian::little);

constexpr std::array<char, 8> lengths_magic{'f', 'l', 'o', 'w', 'l', 'e', '0', '1'};
/// Records that a thread takes at a time.
constexpr std::uint64_t block_records = 64;

struct LengthsHeader {
  std::array<char, 8> magic = lengths_magic;
  std::uint64_t fingerprint = 0, settings = 0, checksum = 0;
};

/// The file in which lengths are kept.
class LengthsFile {
 public:
  LengthsFile(const Dataset& dataset, const MeasureOptions& options) {
    header_.fingerprint = dataset.fingerprint();
    header_.settings = fingerprint_of(options.settings, dataset.size());
    for (const auto axis : options.axes) header_.settings = fingerprint_of(std::uint64_t{axis}, header_.settings);
    path_ = options.folder / (hash_hex(fingerprint_of(header_.settings, header_.fingerprint)) + ".lengths");
  }

  bool recall(Lengths& lengths) const try {
    const auto file = Descriptor::file(path_.c_str());
    LengthsHeader header;
    const auto head = std::as_writable_bytes(std::span(&header, 1)), values = std::as_writable_bytes(lengths.values());
    return file.size_bytes() == head.size() + values.size() && file.read_at(0, head) == head.size() &&
           header.magic == header_.magic && header.fingerprint == header_.fingerprint &&
           header.settings == header_.settings && file.read_at(head.size(), values) == values.size() &&
           header.checksum == checksum_of(header, values);
  } catch (const std::runtime_error&) {
    return false;
  }

  void keep(Lengths& lengths) const {
    const auto values = std::as_bytes(lengths.values());
    auto header = header_;
    header.checksum = checksum_of(header, values);
    std::error_code failed;  // writing then fails, too
    fs::create_directories(path_.parent_path(), failed);
    if (!write_cache_file(path_, path_.string() + ".", {std::as_bytes(std::span(&header, 1)), values}))
      warn(concat("the lengths of the records cannot be kept in ", path_.string(),
                  ": they are measured again at the next start"));
  }

 private:
  LengthsHeader header_;
  fs::path path_;
};

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
    if (options_.progress) options_.progress(lengths_.records(), lengths_.records());
    lengths_.records_read = read_;
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
    std::ranges::fill(extents, 0);
    try {
      Record record;
      const bool is_outline = dataset_.outline(id, record, buffer);
      if (is_outline) sampler_.measure(record, extents);
      if (!is_outline || std::ranges::find(extents, unknown_extent) != extents.end()) {
        if (!may_read_) {
          lacks_outline_ = true;
          next_ = lengths_.records();  // the other threads end after their blocks
          return;
        }
        ++read_;
        record = dataset_.read(id, buffer);
        sampler_.measure(record, extents);
      }
    } catch (const SampleError&) {
      std::ranges::fill(extents, 0);
    }
    for (std::size_t i = 0; i < options_.axes.size(); ++i) {
      constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
      lengths_.axis(i)[id] = static_cast<std::uint32_t>(std::clamp<std::int64_t>(extents[options_.axes[i]], 0, most));
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
};

}  // namespace

Lengths measure(const Dataset& dataset, const Sampler& sampler, const MeasureOptions& options) {
  Lengths lengths(dataset.size(), options.axes.size());
  Measurement measurement(dataset, sampler, options, lengths);
  if (options.folder.empty()) {
    measurement.run(true);
  } else if (!measurement.run(false)) {  // outlines need no file, whose name takes a hash of the data set
    const LengthsFile file(dataset, options);
    if (file.recall(lengths)) return lengths;
    measurement.run(true);
    if (lengths.records_read > 0) file.keep(lengths);
  }
  return lengths;
}

}  // namespace flowtrain
