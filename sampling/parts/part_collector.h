#pragma once
// Puts the parts of a record into a ReadBuffer.

#include <cstddef>
#include <cstdint>
#include <span>

#include "sampling/audio/sound.h"
#include "sampling/dataset.h"
#include "sampling/io/descriptor.h"
#include "sampling/io/stored_array.h"

namespace flowtrain {

/// The usual name of the part that is a recording.
inline constexpr const char* audio_part = "audio";

/// Collects the parts of one record, in the order of Dataset::parts(). Bytes that are read follow one another in the
/// buffer's block, each at a multiple of eight; the block may move while it grows, so views are made at the end.
/// A buffer that has grown is never allocated again. At most one of a thread may be in use.
class PartCollector {
 public:
  explicit PartCollector(ReadBuffer& buffer);

  /// Reads the record's own bytes, its picture; called before parts are added. Throws std::runtime_error.
  void read_picture(const ByteSource& file, std::uint64_t offset, std::uint64_t size_bytes);
  /// Adds a part that is in memory; bytes and shape outlive the record.
  void add(const PartForm& form, std::span<const std::byte> bytes, std::span<const std::int64_t> shape = {});
  /// Adds an array of one axis that is in memory, and outlives the record.
  void add_list(const PartForm& form, std::span<const std::byte> bytes);
  /// Adds a part that is a file, or a range of one; of an `array` it is a .npy file, whose elements are converted, and
  /// whose type and axes must be those of `form`; a text must be UTF-8. Throws std::runtime_error or
  /// std::invalid_argument.
  void read(const PartForm& form, const ByteSource& file, std::uint64_t offset, std::uint64_t size_bytes);
  /// Adds the WAV file of a segment of a recording that is a range of a file (see cut_sound). Throws as that.
  void read_segment(const PartForm& form, const ByteSource& file, std::uint64_t offset, std::uint64_t size_bytes,
                    double begin, double end);
  /// Adds an array of the form's shape, whose elements are stored as `type`. Throws std::runtime_error.
  void read_elements(const PartForm& form, const ByteSource& file, std::uint64_t offset, StoredType type);
  /// Adds a part that the record lacks: no bytes, and for an array a shape with a 0.
  void lack(const PartForm& form);
  /// Adds the length of a text that is not read, for an outline.
  void outline_text(const PartForm& form, std::uint64_t size_bytes);
  /// Adds the form of a recording that is not read, for an outline.
  void outline_audio(const PartForm& form, const SoundForm& sound);
  /// Adds the shape of an array that is not read, for an outline.
  void outline_array(const PartForm& form, std::span<const std::int64_t> shape);

  /// Sets the record's bytes and parts.
  void finish(Record& record);

 private:
  std::span<std::byte> room(std::uint64_t bytes);
  void push(const PartForm& form, std::size_t begin, std::size_t bytes, std::span<const std::int64_t> shape);

  ReadBuffer& buffer_;
  std::size_t used_ = 0, picture_bytes_ = 0;
};

/// Returns the number of elements of a shape without -1.
std::uint64_t elements_of(std::span<const std::int64_t> shape);

/// Returns the form of a part that is a file: its name's ending gives the encoding: .txt, .json and .cls are texts,
/// .npy is an array, images are images, recordings (also one that ends in .audio) are audio, all else is bytes. The
/// dtype and the axes of an array are not known yet.
PartForm form_of_file(std::string name, std::string_view file);
/// Completes the form of .npy files by the header of one of them: its axes may differ in length between records. Throws
/// std::runtime_error or std::invalid_argument.
void complete_array_form(PartForm& form, const ByteSource& file, std::uint64_t offset, std::uint64_t size_bytes);

}  // namespace flowtrain
