#include "pipeline/base/snapshot/weights_file.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_set>
#include <utility>

#include "pipeline/base/snapshot/safetensors.h"
#include "pipeline/base/snapshot/torch_archive.h"
#include "pipeline/base/snapshot/weights.h"
#include "pipeline/base/telemetry/json_text.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

constexpr int most_levels = 8;
constexpr std::size_t most_visited = 1 << 15;  // limit on dicts and lists; an optimizer has one for each parameter
constexpr std::size_t most_tried = 64;

/// A dict of a file that has tensors.
struct Candidate {
  const PickleDict* dict;
  std::string place;
  std::size_t tensors;
};

class StateDictReader {
 public:
  StateDictReader(std::span<const std::byte> bytes, const std::string& path, const WeightsChoice& choice)
      : path_(path),
        file_bytes_(bytes.size()),
        choice_(choice),
        archive_(open_torch_archive(bytes, path)),
        pickle_(archive_.pickle) {}

  TorchWeights run() {
    const Candidate chosen = choose(candidates());
    weights_.tensors = tensors_of(*chosen.dict, /*with_data=*/true);
    weights_.place = chosen.place;
    return std::move(weights_);
  }

 private:
  std::vector<TensorView> tensors_of(const PickleDict& dict, bool with_data) {
    std::vector<TensorView> tensors;
    std::unordered_set<std::string_view> names;
    for (const auto& [key, value] : dict.items) {
      const auto* tensor = pickle_.as<PickleTensor>(value);
      if (!tensor) continue;
      const auto* name = pickle_.as<std::string_view>(key);
      if (!name) fail("a tensor whose name is not text");
      if (!names.insert(*name).second) fail("tensor " + shown(*name) + " comes twice");
      if (names.size() > max_tensors) fail("more than 2^16 tensors");
      tensors.push_back({std::string(*name), pickle_.as<PickleStorage>(tensor->storage)->dtype, numbers(tensor->size)});
      if (with_data) set_data(tensors.back(), *tensor);
    }
    unwrap_names(tensors);
    return tensors;
  }

  [[noreturn]] void fail(const std::string& what, const std::string& hint = "get or write the file again") const {
    throw UserError(ExitCode::snapshot, path_ + ": " + what, hint);
  }
  [[noreturn]] void fail_tensor(const std::string& name, const std::string& what) const {
    fail("tensor " + shown(name) + ": " + what);
  }

  /// The dicts with tensors, the largest first.
  std::vector<Candidate> candidates() const {
    std::vector<Candidate> found;
    std::vector<std::pair<PickleRef, std::string>> level = {{pickle_.root, ""}}, next;
    std::unordered_set<PickleRef> seen = {pickle_.root};
    for (int depth = 0; depth < most_levels && !level.empty(); ++depth, level = std::exchange(next, {}))
      for (const auto& [ref, place] : level) {
        const auto* dict = pickle_.as<PickleDict>(ref);
        if (const auto tensors = dict ? count_tensors(*dict) : 0; tensors > 0)
          found.push_back({dict, place.empty() ? "." : place, tensors});
        const auto visit = [&, &place = place](PickleRef value, const std::string& key) {
          if (seen.size() == most_visited) return;
          if (!pickle_.as<PickleDict>(value) && !pickle_.as<PickleSequence>(value)) return;
          if (seen.insert(value).second) next.emplace_back(value, place.empty() ? key : concat(place, ".", key));
        };
        if (dict)
          for (const auto& [key, value] : dict->items) visit(value, key_text(key));
        else if (const auto* list = pickle_.as<PickleSequence>(ref))
          for (std::size_t i = 0; i < list->items.size(); ++i) visit(list->items[i], std::to_string(i));
      }
    std::ranges::stable_sort(found, std::greater(), &Candidate::tensors);
    return found;
  }
  std::size_t count_tensors(const PickleDict& dict) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(dict.items, [&](auto& item) { return pickle_.as<PickleTensor>(item.second); }));
  }
  std::string key_text(PickleRef key) const {
    constexpr std::size_t longest = 80;
    if (const auto* name = pickle_.as<std::string_view>(key)) return std::string(name->substr(0, longest));
    const auto* number = pickle_.as<std::int64_t>(key);
    return number ? std::to_string(*number) : "?";
  }

  Candidate choose(const std::vector<Candidate>& found) {
    if (found.empty()) fail("no dict of tensors in it", "save the weights alone: torch.save(model.state_dict(), path)");
    if (!choice_.place.empty()) {
      const auto at = std::ranges::find(found, choice_.place, &Candidate::place);
      if (at == found.end())
        fail("no dict of tensors under " + shown(choice_.place) + "; there are: " + places_of(found),
             "choose one: " + choice_.setting + quoted(found.front().place));
      return *at;
    }
    std::size_t most = 0;
    std::vector<Candidate> best;
    for (const Candidate& each : std::span(found).first(std::min(found.size(), most_tried))) {
      if (each.tensors < most) break;  // it has too few tensors to fit better
      const std::size_t fit = choice_.fit ? fit_of(each) : each.tensors;
      if (fit > most) best.clear();
      if (fit >= most && fit > 0) best.push_back(each);
      most = std::max(most, fit);
    }
    if (best.size() > 1)
      fail("several dicts of tensors fit equally well: " + places_of(best),
           "choose one: " + choice_.setting + quoted(best.back().place));
    return best.empty() ? found.front() : best.front();
  }
  /// Returns how well a dict fits. One that cannot be a state_dict fits 0, and is no error.
  std::size_t fit_of(const Candidate& candidate) try {
    return choice_.fit(tensors_of(*candidate.dict, /*with_data=*/false));
  } catch (const UserError&) {
    return 0;
  }
  static std::string quoted(const std::string& place) { return '"' + place + '"'; }
  static std::string places_of(const std::vector<Candidate>& candidates) {
    constexpr std::size_t most_shown = 8;
    std::string text;
    for (const Candidate& each : std::span(candidates).first(std::min(candidates.size(), most_shown)))
      text += (text.empty() ? "" : ", ") + shown(each.place);
    return text + (candidates.size() > most_shown ? " …" : "");
  }

  std::vector<std::int64_t> numbers(PickleRef tuple) const {
    std::vector<std::int64_t> values;
    for (const auto ref : pickle_.as<PickleSequence>(tuple)->items) values.push_back(*pickle_.as<std::int64_t>(ref));
    return values;
  }

  void set_data(TensorView& view, const PickleTensor& tensor) {
    const auto& storage = *pickle_.as<PickleStorage>(tensor.storage);
    const auto strides = numbers(tensor.stride);
    const auto elements = check_window(view.name, view.shape, strides, tensor.offset, storage.elements);
    const auto element = element_bytes(storage.dtype);
    const std::byte* data = archive_.storages.at(storage.key).data();
    if (elements > 0) data += tensor.offset * element;
    if (elements > 0 && !is_row_major(view.shape, strides)) {
      copied_bytes_ += elements * element;
      if (copied_bytes_ > file_bytes_)
        fail_tensor(view.name, "windows on one storage unfold to more than the whole file");
      data = copy(data, view.shape, strides, elements, element);
    }
    view.data = data;
    view.bytes = elements * element;
  }

  /// Checks that a window lies within its storage, without sums that could overflow; returns its elements.
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
    std::uint64_t at = 0;  // element of the storage
    for (std::uint64_t i = 0; i < elements; ++i) {
      std::memcpy(to.data() + i * element, from + at * element, element);
      // Advances the index; a dimension at its end goes back to its start.
      for (std::size_t d = shape.size(); d-- > 0;) {
        at += static_cast<std::uint64_t>(strides[d]);
        if (++index[d] < shape[d]) break;
        at -= static_cast<std::uint64_t>(strides[d]) * static_cast<std::uint64_t>(shape[d]);
        index[d] = 0;
      }
    }
    return to.data();
  }

  const std::string& path_;
  std::uint64_t file_bytes_;
  const WeightsChoice& choice_;
  TorchArchive archive_;
  const Pickle& pickle_;
  std::uint64_t copied_bytes_ = 0;
  TorchWeights weights_;
};

struct OtherKind {
  std::string_view start, what, hint;
};
constexpr OtherKind other_kinds[] = {
    {"version https://git-lfs", "a pointer of Git LFS, not the weights themselves",
     "fetch them in the folder of the repository: git lfs pull"},
    {"\x1f\x8b", "compressed by gzip", "unpack it: gunzip FILE.gz"},
    {"\x89HDF", "an HDF5 file, as Keras writes it", "save the net's weights by torch.save or safetensors"},
    {"GGUF", "a GGUF file, as llama.cpp reads it", "take the model's safetensors or .pth file"},
    {"\x93NUMPY", "an array of NumPy", "save the net's weights by torch.save or safetensors"},
    {"\x80", "a pickle that torch.save did not write",
     "load it in Python and save its tensors: torch.save(tensors_by_name, path)"}};

/// Throws UserError for a file that is known, or seen, not to hold weights. `bytes` is no file of torch.save.
void refuse_other_kinds(std::span<const std::byte> bytes, const std::string& path) {
  const auto refuse = [&](std::string_view what, std::string_view hint) {
    throw UserError(ExitCode::snapshot, path + ": it is " + std::string(what), std::string(hint));
  };
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.empty()) refuse("empty", "get or write the file again");
  constexpr std::size_t length_bytes = sizeof(std::uint64_t);  // the header of safetensors is JSON
  if (text.size() > length_bytes && text[length_bytes] == '{' && text.substr(4, 4) == std::string_view("\0\0\0\0", 4))
    return;
  for (const auto& kind : other_kinds)
    if (text.starts_with(kind.start)) refuse(kind.what, kind.hint);
  if (text.substr(std::min<std::size_t>(text.size(), 257)).starts_with("ustar"))
    refuse("a tar archive", "unpack it: tar -xf FILE");
  const auto printable = [](char c) { return (c >= ' ' && c <= '~') || c == '\n' || c == '\r' || c == '\t'; };
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // skips a byte order mark
  if (!std::ranges::all_of(text.substr(0, length_bytes), printable)) return;
  const auto start = text.find_first_not_of(" \r\n\t");
  const char first = start == text.npos ? ' ' : text[start];
  if (first == '<')
    refuse(
        "a web page (HTML or XML), not the weights themselves",
        "open the address in a browser: it may ask for a login; on a hub, a file's address has /resolve/, not /blob/");
  refuse(first == '{' ? "a JSON text" : "a text", "expected safetensors, or a file of torch.save");
}

TorchWeights parse_any(std::span<const std::byte> bytes, const std::string& path, const WeightsChoice& choice) {
  if (is_torch_archive(bytes)) return parse_torch_weights(bytes, path, choice);
  refuse_other_kinds(bytes, path);
  TorchWeights weights{parse_safetensors(bytes, path).tensors, {}};
  if (!choice.place.empty() && choice.place != weights.place)
    throw UserError(ExitCode::snapshot, path + ": no dict " + shown(choice.place) + " in it: safetensors has one dict",
                    "leave the key out");
  unwrap_names(weights.tensors);
  return weights;
}

bool is_index(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text.starts_with('{') && text.find("\"weight_map\"") != text.npos;
}

/// Returns the names of the tensors that an index has in each file.
std::map<std::string, std::set<std::string>> parse_index(std::span<const std::byte> bytes, const std::string& path) {
  const auto fail = [&](const std::string& what) {
    throw UserError(ExitCode::snapshot, path + ": " + what, "get or write the file again");
  };
  if (bytes.size() > max_header_bytes) fail("an index of more than 8 MiB");
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  const auto index = parse_json<nlohmann::json>({text, bytes.size()});
  const auto map = index.is_object() ? index.find("weight_map") : index.end();
  if (index.is_discarded() || map == index.end() || !map->is_object()) fail("a damaged index: weight_map is no object");
  if (map->size() > max_tensors) fail("more than 2^16 tensors");
  std::map<std::string, std::set<std::string>> files;
  for (const auto& [tensor, file] : map->items()) {
    const std::string name = file.is_string() ? file.get<std::string>() : "";
    if (name.empty() || name == "." || name == ".." || std::filesystem::path(name).filename() != name)
      fail("tensor " + shown(tensor) + " is in " + shown(name) + ", expected the name of a file beside the index");
    files[name].insert(tensor);
  }
  return files;
}

}  // namespace

TorchWeights parse_torch_weights(std::span<const std::byte> bytes, const std::string& path,
                                 const WeightsChoice& choice) {
  return StateDictReader(bytes, path, choice).run();
}

WeightsFile::WeightsFile(const std::filesystem::path& path, const WeightsChoice& choice) {
  const std::span<const std::byte> bytes = maps_.emplace_back(path).bytes();
  if (is_index(bytes))
    read_index(path, choice);
  else
    weights_ = parse_any(bytes, path.string(), choice);
}

void WeightsFile::read_index(const std::filesystem::path& path, const WeightsChoice& choice) {
  const auto files = parse_index(maps_.front().bytes(), path.string());
  const auto fail = [&](const std::string& what) {
    throw UserError(ExitCode::snapshot, path.string() + ": " + what,
                    "put all files of the model into one folder, and name the index there");
  };
  for (const auto& [name, tensors] : files) {
    const std::filesystem::path file = folder_of(path) / name;
    if (!std::filesystem::exists(file)) fail("the file " + shown(name) + " is not beside the index");
    TorchWeights part = parse_any(maps_.emplace_back(file).bytes(), file.string(), choice);
    for (const std::string& tensor : tensors) {
      const auto is_it = [&, bare = unwrapped_name(tensor)](const std::string& own) {
        return own == tensor || own == bare;
      };
      if (std::ranges::none_of(part.tensors, is_it, &TensorView::name))
        fail("tensor " + shown(tensor) + " is not in " + shown(name) + ", as the index says");
    }
    std::ranges::move(part.tensors, std::back_inserter(weights_.tensors));
    std::ranges::move(part.copies, std::back_inserter(weights_.copies));
  }
}

}  // namespace flowtrain
