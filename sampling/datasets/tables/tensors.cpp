// The `tensors` data set: records of named tensors, which are the rows of arrays in .npz, .npy or .safetensors files.

#include <algorithm>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "sampling/class_names.h"
#include "sampling/core/parse.h"
#include "sampling/core/safetensors.h"
#include "sampling/core/text.h"
#include "sampling/datasets/entries.h"
#include "sampling/datasets/split_names.h"
#include "sampling/datasets/tables/tensor_files.h"
#include "sampling/fingerprint.h"
#include "sampling/io/files.h"
#include "sampling/named_dataset.h"
#include "sampling/parts/part_collector.h"

namespace flowtrain {
namespace {

std::span<const std::int64_t> row_shape(const StoredTensor& tensor) { return std::span(tensor.shape).subspan(1); }

/// Returns whether a tensor can be that of labels: a vector of integers, perhaps with a second axis of one element.
bool holds_labels(const StoredTensor& tensor) {
  return is_integer(tensor.type) && tensor.shape.size() <= 2 && elements_of(row_shape(tensor)) == 1;
}

/// Returns whether a record's part of a tensor can be a picture: u8 of (height, width) or (height, width, channels).
bool holds_pictures(const StoredTensor& tensor) {
  const auto shape = row_shape(tensor);
  return tensor.type == StoredType::u8 && (shape.size() == 2 || (shape.size() == 3 && shape[2] >= 1 && shape[2] <= 4));
}

/// Finds the tensor that the key names, or by default the first with one of the `usual` names that fits.
std::optional<std::size_t> find_tensor(const TensorFile& file, const Settings& settings, const std::string& key,
                                       std::initializer_list<std::string_view> usual, bool (*fits)(const StoredTensor&),
                                       const std::string& expected) {
  const auto& wanted = settings.text(key);
  if (wanted.empty()) return {};
  const auto find = [&](auto&& is) -> std::optional<std::size_t> {
    const auto found = std::ranges::find_if(file.tensors, is);
    if (found == file.tensors.end()) return {};
    return static_cast<std::size_t>(found - file.tensors.begin());
  };
  if (wanted == "auto") {
    for (const auto name : usual)
      if (const auto found = find([&](auto& each) { return lower_case(each.name) == name && fits(each); }))
        return found;
    return {};
  }
  const auto found = find([&](auto& each) { return each.name == wanted; });
  std::vector<std::string> names;
  for (const auto& tensor : file.tensors) names.push_back(tensor.name);
  if (!found)
    throw settings.error(key, concat("there is no tensor '", wanted, "' in ", file.path), ExitCode::data,
                         "there are " + listed_classes(names));
  const auto& tensor = file.tensors[*found];
  if (!fits(tensor))
    throw settings.error(key,
                         concat("tensor '", wanted, "' of ", file.path, " is ", name_of(tensor.type), " ",
                                shape_text(tensor.shape), ", expected ", expected),
                         ExitCode::data);
  return found;
}

/// Reads the labels of a file, and checks that they are class indices.
void read_labels(const TensorFile& file, StoredTensor tensor, std::vector<std::int32_t>& labels) {
  const auto fail = [&](const std::string& what) {
    throw UserError(ExitCode::data, concat(file.path, ": tensor '", tensor.name, "'", what),
                    "labels are class indices from 0; set data.label to name another tensor, or \"\" for none");
  };
  try {
    if (tensor.file) tensor.load();
  } catch (const std::runtime_error& error) {
    fail(concat(": ", error.what()));
  }
  const auto type = record_type(tensor.type);
  for (std::uint64_t i = 0; i < file.records; ++i) {
    std::int64_t label = 0;
    std::int32_t small = 0;
    const auto* at = tensor.memory.data() + i * size_of(type);
    if (type == DType::i64)
      std::memcpy(&label, at, sizeof label);
    else if (type == DType::i32)
      std::memcpy(&small, at, sizeof small), label = small;
    else
      label = std::to_integer<std::int64_t>(*at);
    if (label < 0 || label >= max_classes) fail(concat(" #", i, ": label ", label));
    labels.push_back(static_cast<std::int32_t>(label));
  }
}

/// Hashes the bytes of a tensor that is not in memory at 64 places: other contents nearly always differ in some.
std::uint64_t hash_of_samples(const StoredTensor& tensor) try {
  constexpr std::uint64_t samples = 64;
  const auto size_bytes = tensor.stored_bytes();
  std::array<std::byte, 4096> block;
  std::uint64_t hash = 0;
  for (std::uint64_t i = 0; i < samples; ++i) {
    const auto begin = size_bytes / samples * i, left = size_bytes - begin;
    const auto got = tensor.file->read_at(tensor.offset + begin, std::span(block).first(std::min(left, block.size())));
    hash = fingerprint_of(std::span<const std::byte>(block).first(got), hash);
  }
  return hash;
} catch (const std::runtime_error&) {
  return 0;  // reads will say why
}

class Tensors : public NamedDataset {
 public:
  Tensors(TensorFiles files, const Settings& settings) : files_(std::move(files)) {
    const auto& first = files_.all.front();
    const auto label =
        find_tensor(first, settings, "label", {"label", "labels", "y", "target"}, holds_labels, "a vector of integers");
    picture_ = find_tensor(first, settings, "image", {"image", "images", "x"}, holds_pictures,
                           "u8 of (records, height, width) or (records, height, width, channels)");
    if (picture_ && picture_ == label) throw settings.error("image", "the tensor holds the labels");
    for (std::size_t i = 0; i < first.tensors.size(); ++i)
      if (i != label && i != picture_) indices_.push_back(i);
    for (const auto i : indices_) {
      const auto& tensor = first.tensors[i];
      forms_.push_back(
          {tensor.name, Encoding::array, record_type(tensor.type), {tensor.shape.begin() + 1, tensor.shape.end()}});
    }
    for (auto& file : files_.all) {
      ends_.push_back(size() + file.records);
      if (label) read_labels(file, file.tensors[*label], labels_);
    }
    if (size() == 0) throw EmptyDataset(files_.place + ": there are no records: the first axis of each tensor is 0");
    name_classes(settings);
  }

  std::uint64_t size() const override { return ends_.empty() ? 0 : ends_.back(); }

  Record read(std::uint64_t id, ReadBuffer& buffer) const override {
    const auto [file, row] = locate(id);
    Record record{.id = id, .label = label(id)};
    try {
      PartCollector parts(buffer);
      if (picture_) read_picture(file->tensors[*picture_], row, parts, record);
      for (std::size_t i = 0; i < indices_.size(); ++i) {
        const auto& tensor = file->tensors[indices_[i]];
        const auto elements = elements_of(forms_[i].shape);
        if (tensor.file)
          parts.read_elements(forms_[i], *tensor.file, tensor.offset + row * elements * size_of(tensor.type),
                              tensor.type);
        else
          parts.add(forms_[i], in_memory(tensor, row, elements * size_of(forms_[i].dtype)), forms_[i].shape);
      }
      parts.finish(record);
    } catch (const std::runtime_error& error) {
      throw SampleError(describe(id) + ": " + error.what());
    }
    return record;
  }

  bool outline(std::uint64_t id, Record& record, ReadBuffer& buffer) const override {
    record = {.id = id, .label = label(id)};
    if (picture_) set_picture_size(files_.all.front().tensors[*picture_], record);
    PartCollector parts(buffer);
    for (const auto& form : forms_) parts.add(form, {}, form.shape);
    parts.finish(record);
    return true;
  }

  std::vector<PartForm> parts() const override { return forms_; }
  std::int64_t label(std::uint64_t id) const override { return labels_.empty() ? -1 : labels_[id]; }
  std::vector<std::string> classes() const override { return classes_; }
  std::string missing_labels() const override {
    return classes_.empty() ? "no tensor of integers is called label, labels, y or target; data.label names another"
                            : "";
  }
  std::string describe(std::uint64_t id) const override {
    const auto [file, row] = locate(id);
    return concat(file->path, " #", row);
  }
  std::string name(std::uint64_t id) const override { return std::to_string(id); }
  bool has_split() const override { return files_.has_split; }
  std::string place() const override { return files_.place; }
  std::vector<std::string> notes() const override { return files_.notes; }
  bool resident() const override {
    return std::ranges::all_of(files_.all, [](auto& file) {
      return std::ranges::all_of(file.tensors, [](auto& tensor) { return tensor.file == nullptr; });
    });
  }

  std::uint64_t fingerprint() const override {
    std::uint64_t all = fingerprint_of(std::as_bytes(std::span(labels_)));
    for (const auto& file : files_.all)
      for (const auto& tensor : file.tensors) {
        all = fingerprint_of(tensor.name, fingerprint_of(std::as_bytes(std::span(tensor.shape)), all));
        all = tensor.file ? fingerprint_of(hash_of_samples(tensor), all)
                          : fingerprint_of(std::span<const std::byte>(tensor.memory), all);
      }
    return all;
  }

 private:
  struct Place {
    const TensorFile* file;
    std::uint64_t row;
  };

  Place locate(std::uint64_t id) const {
    const auto at = static_cast<std::size_t>(std::ranges::upper_bound(ends_, id) - ends_.begin());
    return {&files_.all[at], id - (at == 0 ? 0 : ends_[at - 1])};
  }

  static std::span<const std::byte> in_memory(const StoredTensor& tensor, std::uint64_t row, std::uint64_t bytes) {
    return std::span(tensor.memory).subspan(row * bytes, bytes);
  }

  static void set_picture_size(const StoredTensor& tensor, Record& record) {
    const auto shape = row_shape(tensor);
    record.encoding = Encoding::pixels;
    record.height = static_cast<std::uint32_t>(shape[0]);
    record.width = static_cast<std::uint32_t>(shape[1]);
    record.channels = shape.size() == 3 ? static_cast<std::uint32_t>(shape[2]) : 1;
  }

  static void read_picture(const StoredTensor& tensor, std::uint64_t row, PartCollector& parts, Record& record) {
    set_picture_size(tensor, record);
    const auto bytes = elements_of(row_shape(tensor));
    if (tensor.file)
      parts.read_picture(*tensor.file, tensor.offset + row * bytes, bytes);
    else
      record.bytes = in_memory(tensor, row, bytes);
  }

  void name_classes(const Settings& settings) {
    classes_ = given_class_names(settings);
    if (labels_.empty() && !classes_.empty())
      throw settings.error("class_names", "names classes, but there is no tensor of labels: set data.label");
    if (labels_.empty()) return;
    const auto largest = std::ranges::max_element(labels_);
    const auto count = static_cast<std::size_t>(*largest) + 1;
    if (classes_.empty()) classes_ = numbered_classes(count);
    if (classes_.size() < count)
      throw settings.error(
          "class_names",
          concat("names ", classes_.size(), " classes, but ",
                 describe(static_cast<std::uint64_t>(largest - labels_.begin())), " has label ", count - 1),
          ExitCode::data);
  }

  TensorFiles files_;
  std::optional<std::size_t> picture_;  ///< index of the tensor of pictures
  std::vector<std::size_t> indices_;    ///< indices of the tensors that are parts
  std::vector<PartForm> forms_;
  std::vector<std::uint64_t> ends_;  ///< id after the last record of each file
  std::vector<std::int32_t> labels_;
  std::vector<std::string> classes_;
};

}  // namespace

DatasetEntry tensors_entry() {
  return {.name = "tensors",
          .help =
              "samples of named arrays, each a row of a tensor: a .npz, a .safetensors, or a folder of them or of .npy "
              "files, whose first axis counts the samples; parts: the tensors. split: a sub-folder, or files of path; "
              "default: train, or val (else test) to validate, by the usual names of folders, files or tensors",
          .keys = {{"label", Kind::text, "auto",
                    "tensor of the class indices; auto: label, labels, y or target, if it is a vector of integers; "
                    "empty: none"},
                   {"image", Kind::text, "auto",
                    "tensor of the pictures, u8 of (samples, height, width) or (samples, height, width, channels); "
                    "auto: image, images or x, if it is one; empty: none"},
                   {"class_names", Kind::texts, std::vector<std::string>(),
                    "names of the classes, in label order; default: 0, 1, 2 …"},
                   {"memory_mb", Kind::integer, std::int64_t{1024},
                    "largest size of all tensors, in MB, at which they are kept in memory; larger ones are read from "
                    "their files sample by sample, compressed ones never",
                    0, 1e9},
                   split_names_key()},
          .make = [](const Settings& settings, const DatasetInput& input) -> std::unique_ptr<Dataset> {
            return std::make_unique<Tensors>(open_tensor_files(settings, input.training), settings);
          }};
}

}  // namespace flowtrain
