#include "pipeline/snapshot/weights_file.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "pipeline/snapshot/safetensors.h"
#include "pipeline/snapshot/torch_archive.h"
#include "sampling/core/error.h"

namespace flowtrain {
namespace {

constexpr std::string_view parallel_prefix = "module.";

class StateDictReader {
 public:
  StateDictReader(std::span<const std::byte> bytes, const std::string& path)
      : path_(path), file_bytes_(bytes.size()), archive_(open_torch_archive(bytes, path)), pickle_(archive_.pickle) {}

  TorchWeights run() {
    const auto& dict = state_dict();
    std::unordered_set<std::string_view> names;
    for (const auto& [key, value] : dict.items) {
      const auto* tensor = pickle_.as<PickleTensor>(value);
      if (!tensor) continue;
      const auto* name = pickle_.as<std::string_view>(key);
      if (!name) fail("a tensor whose name is no text");
      if (!names.insert(*name).second) fail("tensor " + shown(*name) + " comes twice");
      if (names.size() > max_tensors) fail("more than 2^16 tensors");
      add(std::string(*name), *tensor);
    }
    strip_prefix();
    return std::move(weights_);
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& hint = "get or write the file again") const {
    throw UserError(ExitCode::snapshot, path_ + ": " + what, hint);
  }
  [[noreturn]] void fail_tensor(const std::string& name, const std::string& what) const {
    fail("tensor " + shown(name) + ": " + what);
  }

  bool has_tensors(const PickleDict& dict) const {
    return std::ranges::any_of(dict.items, [&](auto& item) { return pickle_.as<PickleTensor>(item.second); });
  }

  const PickleDict& state_dict() const {
    if (const auto* root = pickle_.as<PickleDict>(pickle_.root)) {
      if (has_tensors(*root)) return *root;
      for (const std::string_view wanted : {"state_dict", "model"})
        for (const auto& [key, value] : root->items) {
          const auto* name = pickle_.as<std::string_view>(key);
          const auto* dict = pickle_.as<PickleDict>(value);
          if (name && *name == wanted && dict && has_tensors(*dict)) return *dict;
        }
    }
    fail("no dict of tensors in it, nor under 'state_dict' or 'model'",
         "save the weights alone: torch.save(model.state_dict(), path)");
  }

  std::vector<std::int64_t> numbers(PickleRef tuple) const {
    std::vector<std::int64_t> values;
    for (const auto ref : pickle_.as<PickleSequence>(tuple)->items) values.push_back(*pickle_.as<std::int64_t>(ref));
    return values;
  }

  void add(std::string name, const PickleTensor& tensor) {
    const auto& storage = *pickle_.as<PickleStorage>(tensor.storage);
    auto shape = numbers(tensor.size);
    const auto strides = numbers(tensor.stride);
    const auto elements = check_window(name, shape, strides, tensor.offset, storage.elements);
    const auto element = element_bytes(storage.dtype);
    const std::byte* data = archive_.storages.at(storage.key).data();
    if (elements > 0) data += tensor.offset * element;
    if (elements > 0 && !is_row_major(shape, strides)) {
      copied_bytes_ += elements * element;
      if (copied_bytes_ > file_bytes_) fail_tensor(name, "windows on one storage unfold to more than the whole file");
      data = copy(data, shape, strides, elements, element);
    }
    weights_.tensors.push_back({std::move(name), storage.dtype, std::move(shape), data, elements * element});
  }

  /// The elements of a window on a storage, once it is known to lie within; nothing is added up that could overflow.
  std::uint64_t check_window(const std::string& name, std::span<const std::int64_t> shape,
                             std::span<const std::int64_t> strides, std::uint64_t offset, std::uint64_t stored) const {
    if (std::ranges::find(shape, 0) != shape.end()) return 0;
    std::uint64_t elements = 1, last = offset;
    bool fits = true;
    for (std::size_t i = 0; i < shape.size() && fits; ++i) {
      const auto size = static_cast<std::uint64_t>(shape[i]), stride = static_cast<std::uint64_t>(strides[i]);
      std::uint64_t step = 0;
      fits = !__builtin_mul_overflow(elements, size, &elements) && !__builtin_mul_overflow(size - 1, stride, &step) &&
             !__builtin_add_overflow(last, step, &last);
    }
    if (!fits || last >= stored)
      fail_tensor(name, shape_text(shape) + " from element " + std::to_string(offset) +
                            " reaches beyond its storage of " + std::to_string(stored) + " elements");
    if (elements > stored)
      fail_tensor(name, shape_text(shape) + " has more elements than its storage, " + std::to_string(stored));
    return elements;
  }

  static bool is_row_major(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides) {
    std::int64_t expected = 1;  // cannot overflow: a window's elements fit its storage
    for (std::size_t i = shape.size(); i-- > 0; expected *= shape[i])
      if (shape[i] != 1 && strides[i] != expected) return false;
    return true;
  }

  const std::byte* copy(const std::byte* from, std::span<const std::int64_t> shape,
                        std::span<const std::int64_t> strides, std::uint64_t elements, std::uint64_t element) {
    auto& to = weights_.copies.emplace_back(elements * element);
    std::vector<std::int64_t> index(shape.size());
    std::uint64_t at = 0;  // in the storage, elements
    for (std::uint64_t i = 0; i < elements; ++i) {
      std::memcpy(to.data() + i * element, from + at * element, element);
      // The next index; a dimension that is through goes back to its start.
      for (std::size_t d = shape.size(); d-- > 0;) {
        at += static_cast<std::uint64_t>(strides[d]);
        if (++index[d] < shape[d]) break;
        at -= static_cast<std::uint64_t>(strides[d]) * static_cast<std::uint64_t>(shape[d]);
        index[d] = 0;
      }
    }
    return to.data();
  }

  void strip_prefix() {
    auto& tensors = weights_.tensors;
    if (!std::ranges::all_of(tensors, [](auto& tensor) { return tensor.name.starts_with(parallel_prefix); })) return;
    for (auto& tensor : tensors) tensor.name.erase(0, parallel_prefix.size());
  }

  const std::string& path_;
  std::uint64_t file_bytes_;
  TorchArchive archive_;
  const Pickle& pickle_;
  std::uint64_t copied_bytes_ = 0;
  TorchWeights weights_;
};

TorchWeights parse_any(std::span<const std::byte> bytes, const std::string& path) {
  if (is_torch_archive(bytes)) return parse_torch_weights(bytes, path);
  return {parse_safetensors(bytes, path).tensors, {}};
}

}  // namespace

TorchWeights parse_torch_weights(std::span<const std::byte> bytes, const std::string& path) {
  return StateDictReader(bytes, path).run();
}

WeightsFile::WeightsFile(const std::filesystem::path& path)
    : map_(path), weights_(parse_any(map_.bytes(), path.string())) {}

}  // namespace flowtrain
