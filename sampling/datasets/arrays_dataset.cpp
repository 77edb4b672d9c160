#include "sampling/datasets/arrays_dataset.h"

#include <algorithm>
#include <utility>

#include "sampling/class_names.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "sampling/datasets/entries.h"
#include "sampling/fingerprint.h"

namespace flowtrain {
namespace {

class ArraysDataset : public Dataset {
 public:
  explicit ArraysDataset(Arrays arrays)
      : arrays_(std::move(arrays)), picture_bytes_(arrays_.images.size() / arrays_.labels.size()) {}

  std::uint64_t size() const override { return arrays_.labels.size(); }

  Record read(std::uint64_t id, ReadBuffer&) const override {
    return {.id = id,
            .encoding = Encoding::pixels,
            .bytes = arrays_.images.subspan(id * picture_bytes_, picture_bytes_),
            .height = arrays_.height,
            .width = arrays_.width,
            .channels = arrays_.channels,
            .label = label(id)};
  }

  std::int64_t label(std::uint64_t id) const override { return arrays_.labels[id]; }
  std::vector<std::string> classes() const override { return arrays_.class_names; }
  std::string describe(std::uint64_t id) const override { return concat("images[", id, "]"); }
  bool resident() const override { return true; }
  std::uint64_t fingerprint() const override {
    return fingerprint_of(std::as_bytes(arrays_.labels), fingerprint_of(arrays_.images));
  }

 private:
  const Arrays arrays_;
  const std::size_t picture_bytes_;
};

UserError fault(const std::string& what, const std::string& hint) { return UserError(ExitCode::data, what, hint); }

}  // namespace

std::unique_ptr<Dataset> make_arrays_dataset(Arrays arrays) {
  const std::size_t picture_bytes = std::size_t{arrays.height} * arrays.width * arrays.channels;
  const auto& labels = arrays.labels;
  if (labels.size() * picture_bytes != arrays.images.size())
    throw fault(concat("images: ", arrays.images.size(), " bytes, expected ", labels.size() * picture_bytes, ": ",
                       labels.size(), " labels for images of ", arrays.height, "x", arrays.width, "x", arrays.channels),
                "give as many labels as images");
  if (arrays.images.empty()) throw EmptyDataset("images: there are no images");
  const auto [least, most] = std::ranges::minmax_element(labels);
  if (*least < 0)
    throw fault(concat("labels[", least - labels.begin(), "] is ", *least), "labels are class indices from 0");
  const auto classes = static_cast<std::size_t>(*most) + 1;
  if (arrays.class_names.empty()) {
    constexpr std::size_t too_many = 1 << 24;
    if (classes > too_many)
      throw fault(concat("labels[", most - labels.begin(), "] is ", *most), "labels are class indices from 0");
    arrays.class_names = numbered_classes(classes);
  }
  if (arrays.class_names.size() < classes)
    throw fault(concat("labels[", most - labels.begin(), "] is ", *most, ", but class_names has ",
                       arrays.class_names.size(), " names"),
                "name every class");
  return std::make_unique<ArraysDataset>(std::move(arrays));
}

// The entry lets configurations name this kind of data, which a file cannot hold.
DatasetEntry arrays_entry() {
  return {.name = "arrays",
          .help = "images and labels in memory that a program passes: flowtrain.Loader.arrays() in Python",
          .keys = {},
          .make = [](const Settings& settings, const DatasetInput&) -> std::unique_ptr<Dataset> {
            throw settings.error("dataset", "only a program can pass \"arrays\" from its memory", ExitCode::usage,
                                 "use flowtrain.Loader.arrays() in Python, or name a data set of files");
          }};
}

}  // namespace flowtrain
