#pragma once
// The lengths of recordings, which plans of batches need before the first one is read.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "sampling/audio/sound.h"

namespace flowtrain {

/// The forms of the recordings of a data set. Each is read from a header when it is asked for; once all were, they are
/// kept in the user's cache, where a later start finds them unless 16 of them, read again, differ. Any thread.
class SoundForms {
 public:
  using Read = std::function<SoundForm(std::uint64_t)>;

  /// `fingerprint` returns a hash of what the recordings are: of their names and, if they are local files, of their
  /// versions. `read` returns the form of a recording by its header, or throws SampleError; without frames if the
  /// record has no recording.
  SoundForms(std::uint64_t recordings, std::function<std::uint64_t()> fingerprint, Read read)
      : recordings_(recordings), fingerprint_(std::move(fingerprint)), read_(std::move(read)) {}

  /// Returns the form of a recording. Throws what `read` throws for a damaged one.
  SoundForm form(std::uint64_t recording) const;

 private:
  void prepare() const;
  bool recall() const;
  void keep() const;

  const std::uint64_t recordings_;
  const std::function<std::uint64_t()> fingerprint_;
  const Read read_;
  mutable std::once_flag prepared_;
  mutable std::uint64_t key_ = 0;  ///< fingerprint before headers were read
  mutable std::unique_ptr<std::atomic<std::uint64_t>[]> forms_;
  mutable std::atomic<std::uint64_t> left_ = 0;  ///< recordings that were not asked for yet
  mutable std::atomic<bool> is_kept_ = false;
};

}  // namespace flowtrain
