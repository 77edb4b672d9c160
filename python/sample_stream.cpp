// flowtrain._core.SampleStream: order, positions and records, for rows that Python makes.

#include "pipeline/engine/loader/sample_stream.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "python/binding.h"
#include "sampling/core/error.h"
#include "sampling/core/mutex.h"
#include "sampling/core/text.h"
#include "sampling/images/stored_picture.h"

namespace flowtrain {
namespace {

/// A record of a native data set. Its bytes are read when they are asked for.
class PyRecord {
 public:
  PyRecord(std::shared_ptr<const SampleStream> stream, std::uint64_t id) : stream_(std::move(stream)), id_(id) {}

  std::uint64_t id() const { return id_; }
  std::int64_t label() const { return stream_->dataset().label(id_); }
  std::string description() const { return stream_->dataset().describe(id_); }
  nb::bytes data() {
    without_gil([&] { read(); });
    return nb::bytes(record_.bytes.data(), record_.bytes.size());
  }
  nb::object image() {
    Image image;
    without_gil([&] { decode(image); });
    const auto side = [](int pixels) { return static_cast<std::size_t>(pixels); };
    const std::vector<std::size_t> shape{side(image.height), side(image.width), side(image.channels)};
    std::uint8_t* const first = image.pixels.data();  // stays where it is when the vector moves
    return array_of(first, shape, nb::dtype<std::uint8_t>(), std::move(image.pixels));
  }

 private:
  void read() {
    const MutexLock lock(reading_);
    if (is_read_) return;
    try {
      record_ = stream_->dataset().read(id_, buffer_);
    } catch (const SampleError& error) {
      throw UserError(ExitCode::data, concat("the record cannot be read: ", error.what()));
    }
    is_read_ = true;
  }
  void decode(Image& out) {
    read();
    try {
      const Picture whole = picture_of(record_, out);
      const Picture part = crop(whole, window_of(whole.height, whole.width, record_.region));
      if (part.pixels == out.pixels.data() && part.height == out.height && part.width == out.width) return;
      Image copy;
      copy.reshape(part.height, part.width, part.channels);
      const auto row_bytes = static_cast<std::size_t>(part.width) * static_cast<std::size_t>(part.channels);
      for (int y = 0; y < part.height; ++y) std::copy_n(part.row(y), row_bytes, copy.row(y));
      out = std::move(copy);
    } catch (const SampleError& error) {
      throw UserError(ExitCode::data, concat("the picture cannot be decoded: ", error.what()));
    }
  }

  const std::shared_ptr<const SampleStream> stream_;
  const std::uint64_t id_;
  Mutex reading_;
  bool is_read_ FT_GUARDED_BY(reading_) = false;
  ReadBuffer buffer_;  // this and what follows does not change any more, once it is read
  Record record_;
};

class PySampleStream {
 public:
  PySampleStream(const std::string& file, const Pairs& overrides, bool training, bool drop_last, std::uint64_t rank,
                 std::uint64_t world, std::optional<std::uint64_t> records) {
    if (!records) check_not_forked();  // numbers of samples in Python have no data to open
    make_without_gil([&] {
      const DataLoaderOptions options{.training = training, .drop_last = drop_last, .slice = {rank, world}};
      const auto end = [made_in = getpid()](const SampleStream* stream) {
        if (getpid() == made_in) delete stream;  // in a forked process, its threads do not exist and cannot be joined
      };
      stream_ = {new SampleStream(load_config(file, overrides_of(overrides)), options, records), end};
    });
  }

  /// (ids, seeds) of this rank's rows of the batch that begins there.
  nb::object rows(std::uint64_t epoch, std::uint64_t samples) const {
    StreamRows rows = stream_->rows({epoch, samples});
    const std::size_t count = rows.ids.size();
    std::uint64_t *const ids = rows.ids.data(), *const seeds = rows.seeds.data();  // both stay when the vectors move
    return nb::make_tuple(array_of(ids, {count}, nb::dtype<std::int64_t>(), std::move(rows.ids)),
                          array_of(seeds, {count}, nb::dtype<std::uint64_t>(), std::move(rows.seeds)));
  }
  EpochCursor cursor() const { return stream_->cursor(); }
  nb::dict sizes() const {
    nb::dict sizes;
    sizes["batches"] = stream_->cursor().batches_left();
    sizes["samples"] = stream_->samples();
    sizes["batch_size"] = stream_->batch_size();
    sizes["workers"] = stream_->workers();
    sizes["prefetch"] = stream_->prefetch();
    return sizes;
  }
  nb::dict basis() const {
    nb::dict basis;
    for (const auto& [name, value] : stream_->basis()) basis[name.c_str()] = value;
    return basis;
  }
  std::vector<std::string> classes() const { return stream_->dataset().classes(); }
  std::string describe(std::uint64_t id) const { return stream_->dataset().describe(checked(id)); }
  std::shared_ptr<PyRecord> record(std::uint64_t id) const { return std::make_shared<PyRecord>(stream_, checked(id)); }

 private:
  std::uint64_t checked(std::uint64_t id) const {
    const std::uint64_t records = stream_->dataset().size();
    if (id >= records) throw std::out_of_range(concat("no sample ", id, ": there are ", records));
    return id;
  }

  std::shared_ptr<const SampleStream> stream_;
};

}  // namespace

void add_sample_stream(nb::module_& module) {
  nb::class_<PyRecord>(module, "Record", "A record of a native data set, as samplers in Python get it.")
      .def_prop_ro("id", &PyRecord::id, "Its number in the data set.")
      .def_prop_ro("label", &PyRecord::label, "Its class; -1: none.")
      .def_prop_ro("description", &PyRecord::description, "What it is in messages: a file's path, say.")
      .def_prop_ro("data", &PyRecord::data, "Its bytes as stored. Raises DataError where they cannot be read.")
      .def("image", &PyRecord::image,
           "Its picture, decoded: u8 (height, width, channels), 3 channels, or as many as stored pixels have. Raises "
           "DataError where it is damaged, for a JPEG that decodes only with warnings, too.");
  nb::class_<EpochCursor>(module, "EpochCursor")
      .def("begin_epoch", &EpochCursor::begin_epoch)
      .def("advance", &EpochCursor::advance)
      .def("end", &EpochCursor::end)
      .def("copy", [](const EpochCursor& cursor) { return cursor; })
      .def("seek",
           [](EpochCursor& cursor, std::uint64_t epoch, std::uint64_t samples) {
             cursor.seek({epoch, samples});
           })
      .def("position", &position_of)
      .def_prop_ro("left", &EpochCursor::left);
  nb::class_<PySampleStream>(module, "SampleStream")
      .def(nb::init<const std::string&, const Pairs&, bool, bool, std::uint64_t, std::uint64_t,
                    std::optional<std::uint64_t>>(),
           nb::arg("file"), nb::arg("overrides"), nb::arg("training"), nb::arg("drop_last"), nb::arg("rank"),
           nb::arg("world"), nb::arg("records").none())
      .def("rows", &PySampleStream::rows, nb::arg("epoch"), nb::arg("samples"))
      .def("cursor", &PySampleStream::cursor)
      .def("sizes", &PySampleStream::sizes)
      .def("basis", &PySampleStream::basis)
      .def("classes", &PySampleStream::classes)
      .def("describe", &PySampleStream::describe, nb::arg("id"))
      .def("record", &PySampleStream::record, nb::arg("id"));
}

}  // namespace flowtrain
