#pragma once
// The lengths of all records, which plans of batches need before the first one is read.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace flowtrain {

class Dataset;
class Sampler;

/// The extents of each record along some free axes. It is moved, not copied.
class Lengths {
 public:
  Lengths(std::uint64_t records, std::size_t axes)
      : records_(records), axes_(axes), values_(std::make_unique_for_overwrite<std::uint32_t[]>(records * axes)) {}

  std::uint64_t records() const { return records_; }
  std::size_t axes() const { return axes_; }
  /// Returns the extents of all records along an axis (< axes()); for a damaged record the median of the others.
  std::span<const std::uint32_t> axis(std::size_t axis = 0) const {
    return {values_.get() + axis * records_, records_};
  }
  std::span<std::uint32_t> axis(std::size_t axis = 0) { return {values_.get() + axis * records_, records_}; }
  /// Returns the extents of all axes, one axis after the other.
  std::span<std::uint32_t> values() { return {values_.get(), records_ * axes_}; }

  std::uint64_t records_read = 0;  ///< records that had to be read; 0 if all lengths were known, or kept in the file

 private:
  std::uint64_t records_;
  std::size_t axes_;
  std::unique_ptr<std::uint32_t[]> values_;
};

struct MeasureOptions {
  std::vector<std::size_t> axes{0};  ///< axes that are kept, as indices into the extents of Sampler::measure()
  std::filesystem::path folder;      ///< folder of the kept files, made if it is missing; empty: nothing is kept
  /// Text of all that decides the extents beside the records: the sampler's settings, and the version of its code.
  std::string settings;
  unsigned threads = 0;  ///< 0: the usable cores, at least 8, as reads wait
  /// Told now and then how many records are done, of how many, on the thread that calls measure(); it ends with all. If
  /// it throws, measuring ends with that.
  std::function<void(std::uint64_t, std::uint64_t)> progress = nullptr;
};

/// Measures each record's row: by Dataset::outline() where that is possible, else by a read. A record that throws
/// SampleError gets the median of the others, 0 if there are none. Other errors are rethrown; InternalError tells an
/// axis that does not exist.
///
/// Lengths that take reads are kept in a file of `folder`, which the data set's version and size, the axes and the
/// settings name, and later taken from there in one read; without reads, neither is asked. Sixteen records are then
/// read again, spread over the set, and all of them if one has another length. A damaged file is made anew; one that
/// cannot be written is a warning. It holds: magic (8 bytes), fingerprint (u64), hash of size, axes, settings (u64),
/// checksum of all that and of the lengths (u64), the lengths (u32). Numbers are little-endian.
Lengths measure(const Dataset& dataset, const Sampler& sampler, const MeasureOptions& options);

}  // namespace flowtrain
