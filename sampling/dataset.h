#pragma once
// The interface of data sets: numbered records of parts and annotations.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sampling/dtype.h"

namespace flowtrain {

template <class Part, class Input>
class Registry;

class PictureCache;

/// An annotated box, in pixels of the stored image; x1, y1 are exclusive.
struct Box {
  float x0, y0, x1, y1;
  std::int32_t label;   ///< class index, from 0
  bool ignore = false;  ///< a crowd or a difficult object: evaluation neither requires nor penalises it
};

/// The meaning of a record's bytes.
enum class Encoding : std::uint8_t {
  pixels,  ///< u8, rows of (height, width, channels)
  image,   ///< a JPEG, PNG or WebP file, recognised by its first bytes
  shapes,  ///< a recipe of the `shapes` data set (sampling/datasets/shapes.h)
  bytes,   ///< any other bytes, for plugins
  text,    ///< UTF-8
  array,   ///< numbers in memory order, of a Part's dtype and shape
  audio,   ///< a WAV, FLAC, Ogg or MP3 file, recognised by its first bytes
};
/// Returns "pixels", "image", …
const char* name_of(Encoding encoding);

/// A named piece of a record: a file of a sample, or a column of a table.
struct Part {
  std::string_view name;  ///< "txt", "caption"
  Encoding encoding = Encoding::bytes;
  std::span<const std::byte> bytes = {};
  DType dtype = DType::u8;                   ///< element type of an `array`
  std::span<const std::int64_t> shape = {};  ///< shape of an `array`; empty: a number
};

/// The form of a part, which all records of a data set share.
struct PartForm {
  std::string name;
  Encoding encoding = Encoding::bytes;
  DType dtype = DType::u8;               ///< element type of an `array`
  std::vector<std::int64_t> shape = {};  ///< shape of an `array`; -1: it differs between records
};

/// The name of the part that a record's own `bytes` are, if they are a picture.
inline constexpr const char* image_part = "image";

/// One sample as stored. Views point into the data set or the ReadBuffer, and last until that buffer is used again.
struct Record {
  std::uint64_t id = 0;
  Encoding encoding = Encoding::bytes;
  std::span<const std::byte> bytes;
  std::uint32_t height = 0, width = 0, channels = 0;  ///< size of `pixels`; of an `image` as annotated, 0 if unknown
  std::int64_t label = -1;                            ///< -1: none
  std::span<const Box> boxes;
  Box region{0, 0, 0, 0, -1};        ///< the part of the image that is the sample; empty: the whole image
  PictureCache* cache = nullptr;     ///< cache that keeps its decoded image (sampling/images/picture_cache.h)
  std::span<const Part> parts = {};  ///< parts beside `bytes`, in the order of Dataset::parts()

  /// Returns the part of this name beside `bytes`; null if there is none.
  const Part* part(std::string_view name) const;
};

/// Memory for a row's bytes; kept with the row and reused, so that a warm loader allocates nothing.
struct ReadBuffer {
  std::vector<std::byte> bytes;
  std::vector<Box> boxes;
  std::vector<Part> parts;
  std::vector<std::int64_t> shapes;  ///< memory of the parts' shapes
};

struct BoxAnnotations;

/// A numbered collection of records. Every method is const and may be called from any thread.
class Dataset {
 public:
  virtual ~Dataset() = default;

  /// Returns the number of records; ids are 0 … size() - 1.
  virtual std::uint64_t size() const = 0;
  /// Gets record `id`. May block. Throws SampleError if this record cannot be read.
  virtual Record read(std::uint64_t id, ReadBuffer& buffer) const = 0;
  /// Returns the forms of the parts that records have beside their own bytes.
  virtual std::vector<PartForm> parts() const { return {}; }
  /// Returns a record as read() does, but without any bytes, if the shapes of all its parts are known without a read; a
  /// text of n bytes then has the shape [n], and audio the shape [frames, channels, frames a second]. Returns false
  /// otherwise.
  virtual bool outline(std::uint64_t, Record&, ReadBuffer&) const { return false; }
  /// Returns the class of a record without reading it; -1 if it has none.
  virtual std::int64_t label(std::uint64_t id) const = 0;
  /// Returns the class names in label order; their number is the number of classes. Empty if there are no classes.
  virtual std::vector<std::string> classes() const = 0;
  /// Returns which labels were searched in vain if there are no classes, as the end of a sentence ("…: NAME.cls beside
  /// each image"); empty if this kind of data set never has classes.
  virtual std::string missing_labels() const { return {}; }
  /// Returns whether a record may have boxes: false if no split, filter or kind of data gives it one.
  virtual bool has_boxes() const { return false; }
  /// Reads the annotation file again, with the box data that read() omits; null if there is no such file.
  virtual std::shared_ptr<const BoxAnnotations> annotations() const { return nullptr; }
  /// Returns the name of a record in messages: a file's path, or "images.gz #17".
  virtual std::string describe(std::uint64_t id) const = 0;
  /// Returns true if read() never blocks (the bytes are in memory): the loader then needs no reader threads.
  virtual bool resident() const { return false; }
  /// Returns a number that changes if the records or their order change, as far as the names of files, the sizes of
  /// shards and the bytes in memory show it. The folder of the files does not matter.
  virtual std::uint64_t fingerprint() const { return size(); }
  /// Returns a number that changes, too, if a local file of a record has another size or was written again.
  virtual std::uint64_t version() const { return fingerprint(); }

  /// One of the data sets that this one combines.
  struct Source {
    std::string name;  ///< name in messages
    std::unique_ptr<Dataset> dataset;
    std::uint64_t first_id = 0;  ///< id of its record 0 in the whole
  };
  /// Returns the sources in the order of their records; empty if this data set does not combine others.
  virtual std::span<const Source> sources() const { return {}; }
  /// A range of records `first`, `first` + 1 … that come from one source.
  struct Range {
    std::uint64_t first, size;
  };
  /// Returns all records of the source that record `id` comes from: one of them may replace it.
  virtual Range source_of([[maybe_unused]] std::uint64_t id) const { return {0, size()}; }

  // The methods below serve data sets whose bytes come from servers, and return at once. Each record that was hinted is
  // later either prefetched and then read once, or forgotten.

  /// Returns whether hints help: bytes are fetched ahead of read().
  virtual bool takes_hints() const { return false; }
  /// Announces a read of the record in the more distant future: it may be fetched together with something near it.
  virtual void hint(std::uint64_t) const {}
  /// Announces an early read: the record is fetched while others are read.
  virtual void prefetch(std::uint64_t) const {}
  /// Withdraws a hint: the record will not be read.
  virtual void forget(std::uint64_t) const {}
  /// Returns the number of requests that were repeated so far because a server failed.
  virtual std::uint64_t retries() const { return 0; }
};

struct DatasetInput {
  bool training = true;
  /// The names of the parts that are used; "*": all. Data sets may leave out others, which costs a read for each.
  std::vector<std::string> parts = {"*"};
};

/// Returns all data sets by name. Settings for a factory hold `path`, `split` and the entry's own keys. Factories throw
/// UserError: usage for settings, data for missing or damaged files, EmptyDataset for no records.
Registry<Dataset, DatasetInput>& datasets();

}  // namespace flowtrain
