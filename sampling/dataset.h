#pragma once
// Data sets: numbered records of bytes and annotations. The door to everything under sampling/datasets/.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace flowtrain {

template <class Part, class Input>
class Registry;

class PictureCache;

/// An annotated box, in pixels of the stored picture; x1, y1 are exclusive.
struct Box {
  float x0, y0, x1, y1;
  std::int32_t label;   ///< class index, from 0
  bool ignore = false;  ///< a crowd or a difficult object: evaluation does not ask for it, nor mind that it is found
};

/// How a record's bytes are to be understood.
enum class Encoding : std::uint8_t {
  pixels,  ///< u8, rows of (height, width, channels)
  image,   ///< a JPEG or PNG file; told apart by its first bytes
  shapes,  ///< a recipe of the `shapes` data set (sampling/datasets/shapes.h)
  bytes,   ///< anything else: for plugins
};

/// One sample as stored. Views point into the data set or the ReadBuffer, and last until that buffer is used again.
struct Record {
  std::uint64_t id = 0;
  Encoding encoding = Encoding::bytes;
  std::span<const std::byte> bytes;
  std::uint32_t height = 0, width = 0, channels = 0;  ///< of `pixels`; of `image`: as annotated, 0 if not said
  std::int64_t label = -1;                            ///< -1: none
  std::span<const Box> boxes;
  Box region{0, 0, 0, 0, -1};     ///< the part of the picture that is the sample; empty = all of it
  PictureCache* cache = nullptr;  ///< that is to keep its decoded picture (sampling/images/picture_cache.h)
};

/// Memory that a row's bytes are read into; kept with the row and reused, so that a warm loader allocates nothing.
struct ReadBuffer {
  std::vector<std::byte> bytes;
  std::vector<Box> boxes;
};

struct BoxAnnotations;

/// A numbered collection of records. Every method is const and may be called from any thread.
class Dataset {
 public:
  virtual ~Dataset() = default;

  /// Records; ids are 0 … size() - 1.
  virtual std::uint64_t size() const = 0;
  /// Gets record `id`. May block. Throws SampleError if this record cannot be read.
  virtual Record read(std::uint64_t id, ReadBuffer& buffer) const = 0;
  /// The class of a record without reading it; -1 where there is none.
  virtual std::int64_t label(std::uint64_t id) const = 0;
  /// Class names in label order; their number is the number of classes. Empty where there are no classes.
  virtual std::vector<std::string> classes() const = 0;
  /// If there are no classes: what was looked for in vain, as the end of a sentence ("…: NAME.cls beside each
  /// picture"); empty if this kind of data set never has classes.
  virtual std::string missing_labels() const { return {}; }
  /// Whether a record may have boxes: false where no split, filter or kind of data gives it one.
  virtual bool has_boxes() const { return false; }
  /// The annotation file, read again, with the box data that read() leaves out; null if there is no such file.
  virtual std::shared_ptr<const BoxAnnotations> annotations() const { return nullptr; }
  /// The name of a record in messages: a file's path, or "images.gz #17".
  virtual std::string describe(std::uint64_t id) const = 0;
  /// True when read() never blocks (the bytes are in memory): the loader then needs no reader threads.
  virtual bool resident() const { return false; }
  /// A number that changes if the records or their order change, as far as that shows without reading them again: from
  /// the names of files, the sizes of shards, the bytes in memory. The folder of the files does not matter.
  virtual std::uint64_t fingerprint() const { return size(); }

  /// One of the data sets that this one is put together from.
  struct Source {
    std::string name;  ///< in messages
    std::unique_ptr<Dataset> dataset;
    std::uint64_t first_id = 0;  ///< the id of its record 0 in the whole
  };
  /// In the order of their records; empty if this data set is not put together from others.
  virtual std::span<const Source> sources() const { return {}; }
  /// Records `first`, `first` + 1 … that come from one source.
  struct Range {
    std::uint64_t first, size;
  };
  /// All records of the source that record `id` comes from: one of them may take its place.
  virtual Range source_of([[maybe_unused]] std::uint64_t id) const { return {0, size()}; }

  // For data sets whose bytes come from servers. All methods return at once. Each record that was hinted is later
  // either prefetched and then read once, or forgotten.

  /// Whether hints are of use: bytes are fetched ahead of read().
  virtual bool takes_hints() const { return false; }
  /// The record will be read, though not yet: when something near it is fetched, it may come along.
  virtual void hint(std::uint64_t) const {}
  /// It will be read soon: it is fetched while others are read.
  virtual void prefetch(std::uint64_t) const {}
  /// It was hinted, and will not be read.
  virtual void forget(std::uint64_t) const {}
  /// Requests that had to be repeated so far, as a server failed.
  virtual std::uint64_t retries() const { return 0; }
};

struct DatasetInput {
  bool training = true;
};

/// All data sets by name. Settings given to a factory hold `path`, `split` and the entry's own keys.
/// Factories throw UserError: usage for settings, data for missing or damaged files, EmptyDataset for no records.
Registry<Dataset, DatasetInput>& datasets();

}  // namespace flowtrain
