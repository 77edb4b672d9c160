#include "sampling/datasets/tables/tensor_files.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "sampling/class_names.h"
#include "sampling/core/mistake.h"
#include "sampling/core/safetensors.h"
#include "sampling/core/text.h"
#include "sampling/core/utf8.h"
#include "sampling/datasets/split_names.h"
#include "sampling/datasets/tables/split_files.h"
#include "sampling/io/files.h"
#include "sampling/io/zip.h"
#include "sampling/parts/part_collector.h"

namespace flowtrain {
namespace {

constexpr std::string_view endings[] = {"npz", "npy", "safetensors"};

/// Calls `body`, whose failures are those of the file `name`.
template <class Body>
auto opened(const std::string& name, Body&& body) {
  try {
    return body();
  } catch (const std::system_error& error) {
    throw UserError(ExitCode::data, name + ": " + error.code().message());
  } catch (const UserError& error) {
    throw UserError(ExitCode::data, error.what(), error.hint());
  } catch (const Mistake& error) {
    throw UserError(ExitCode::data, name + ": " + error.what(), error.hint());
  } catch (const std::runtime_error& error) {
    throw UserError(ExitCode::data, name + ": " + error.what());
  }
}

std::vector<std::byte> beginning_of(const ByteSource& file, std::uint64_t offset, std::uint64_t size_bytes,
                                    std::uint64_t most_bytes) {
  std::vector<std::byte> bytes(std::min(size_bytes, most_bytes));
  read_exactly(file, offset, std::span(bytes));
  return bytes;
}

/// Makes the tensor of a .npy file that is a range of `file`.
StoredTensor from_npy(std::string name, const std::shared_ptr<const ByteSource>& file, std::uint64_t offset,
                      std::uint64_t size_bytes) {
  const auto header = parse_npy(beginning_of(*file, offset, size_bytes, max_npy_header_bytes), size_bytes);
  return {
      std::move(name), header.type, {header.shape().begin(), header.shape().end()}, file, offset + header.data_offset};
}

std::shared_ptr<const ByteSource> open_file(const std::string& path) {
  return std::make_shared<Descriptor>(Descriptor::file(path.c_str()));
}

/// Makes the tensor of a compressed .npy file.
StoredTensor from_deflated(std::string name, const ByteSource& file, const ZippedFile& entry, const std::string& path) {
  const auto bytes = inflate_entry(file, entry, path);
  const auto header =
      parse_npy(std::span(bytes).first(std::min<std::size_t>(bytes.size(), max_npy_header_bytes)), bytes.size());
  StoredTensor tensor{std::move(name), header.type, {header.shape().begin(), header.shape().end()}};
  tensor.memory.resize(header.data_bytes / size_of(header.type) * size_of(record_type(header.type)));
  convert_elements(header.type, std::span(bytes).subspan(header.data_offset, header.data_bytes), tensor.memory);
  return tensor;
}

std::vector<StoredTensor> open_npz(const std::string& path) {
  const auto file = opened(path, [&] { return open_file(path); });
  std::vector<StoredTensor> tensors;
  for (const auto& entry : scan_zip(*file, path)) {
    const auto name = path + ":" + as_utf8(entry.name);
    if (!entry.name.ends_with(".npy"))
      throw UserError(ExitCode::data, name + ": it is no .npy file", "write the archive with numpy.savez");
    auto stem = as_utf8(entry.name.substr(0, entry.name.size() - 4));
    tensors.push_back(opened(name, [&] {
      return entry.deflated ? from_deflated(std::move(stem), *file, entry, path)
                            : from_npy(std::move(stem), file, entry.data_offset, entry.size_bytes);
    }));
  }
  return tensors;
}

std::vector<StoredTensor> open_safetensors(const std::string& path) {
  return opened(path, [&] {
    const auto file = open_file(path);
    const auto size_bytes = file->size_bytes();
    // The header's length, in the first eight bytes, is checked by the parser.
    auto beginning = beginning_of(*file, 0, size_bytes, 8);
    std::uint64_t header_bytes = 0;
    for (std::size_t i = 0; i < beginning.size(); ++i)
      header_bytes |= std::to_integer<std::uint64_t>(beginning[i]) << 8 * i;
    beginning = beginning_of(*file, 0, size_bytes, 8 + std::min<std::uint64_t>(header_bytes, max_header_bytes));
    std::vector<StoredTensor> tensors;
    for (auto& tensor : parse_safetensors(beginning, path, size_bytes).tensors)
      tensors.push_back(
          {as_utf8(tensor.name), *stored_type(tensor.dtype), std::move(tensor.shape), file, tensor.offset});
    return tensors;
  });
}

/// Returns the name without the word of its split: "x" of "x_train"; "x", too, for a name that is nothing else.
std::string without_split(const std::string& name) {
  const auto found = split_name(name);
  if (!found) return name;
  return found->rest.empty() ? "x" : found->rest;
}

/// Checks that each tensor of a file has the same number of records, and sorts them by name. Names of tensors that are
/// `divided` into splits lose the word of theirs.
TensorFile checked(std::string path, std::vector<StoredTensor> tensors, bool divided) {
  const auto fail = [&](const std::string& what, const std::string& hint) {
    throw UserError(ExitCode::data, path + ": " + what, hint);
  };
  if (tensors.empty()) fail("it holds no tensors", "");
  std::ranges::sort(tensors, {}, &StoredTensor::name);
  for (const auto& tensor : tensors) {
    if (tensor.shape.empty())
      fail("tensor '" + tensor.name + "' is a single number",
           "remove it, or give it a first axis that counts the records");
    if (tensor.shape[0] != tensors[0].shape[0])
      fail(concat("tensor '", tensor.name, "' has ", tensor.shape[0], " records, but '", tensors[0].name, "' has ",
                  tensors[0].shape[0]),
           "the first axis counts the records, and is the same for all tensors");
  }
  if (divided) {
    for (auto& tensor : tensors) tensor.name = without_split(tensor.name);
    std::ranges::sort(tensors, {}, &StoredTensor::name);
  }
  const auto twice = std::ranges::adjacent_find(tensors, {}, &StoredTensor::name);
  if (twice != tensors.end()) fail("two tensors are called '" + twice->name + "'", "rename one");
  const auto records = static_cast<std::uint64_t>(tensors[0].shape[0]);
  return {std::move(path), std::move(tensors), records};
}

/// Keeps the tensors of this side, if names of tensors of a file are divided into splits. Returns whether they are.
bool choose_tensors(TensorFiles& files, std::vector<StoredTensor>& tensors, const Settings& settings, bool training) {
  std::vector<std::string> names;
  names.reserve(tensors.size());
  for (const auto& tensor : tensors) names.push_back(tensor.name);
  // Names that are no splits, as "test_scores" may be, need no decision of the user: they are names like all others.
  const auto splits = find_splits(names, /*takes_groups=*/true);
  if (split_names_of(settings) == SplitNames::ignore || !splits.is_complete()) return false;
  auto choice = *choose_split(names, files.place, "tensors", settings, training, /*takes_groups=*/true);
  if (const auto split = usual_split(settings.text("split")); !split.empty())
    choice = {split == "train" ? splits.training : split == "val" ? splits.validation : splits.test};
  std::erase_if(tensors, [&](auto& each) { return std::ranges::find(choice.names, each.name) == choice.names.end(); });
  files.has_split = true;
  for (auto& note : choice.notes) files.notes.push_back(std::move(note));
  return true;
}

/// Checks that the tensors of two files differ in their numbers of records only.
void check_alike(const TensorFile& first, const TensorFile& other) {
  const auto form = [](const StoredTensor& tensor) {
    const std::vector<std::int64_t> shape(tensor.shape.begin() + 1, tensor.shape.end());
    return concat("'", tensor.name, "' of ", name_of(tensor.type), " ", shape_text(shape));
  };
  const auto forms = [&](const TensorFile& file) { return join(file.tensors, ", ", form); };
  if (forms(first) != forms(other))
    throw UserError(
        ExitCode::data,
        concat(other.path, ": a record has the tensors ", forms(other), ", but in ", first.path, " ", forms(first)),
        "files of one split have the same tensors");
}

std::vector<TensorFile> open_all(TensorFiles& files, const SplitFiles& found, const Settings& settings, bool training) {
  const auto is_npy = [](const std::string& path) { return ending_of(path) == "npy"; };
  const auto npys = static_cast<std::size_t>(std::ranges::count_if(found.paths, is_npy));
  if (npys > 0 && npys < found.paths.size())
    throw settings.error("path", found.place + " holds .npy files and others", ExitCode::data,
                         "put either kind into a folder of its own");
  std::vector<TensorFile> all;
  if (npys > 0) {  // each file is one tensor
    std::error_code ignored;
    const auto folder = std::filesystem::path(found.paths.front()).parent_path();
    const bool divided = found.has_split && std::filesystem::equivalent(folder, settings.text("path"), ignored);
    std::vector<StoredTensor> tensors;
    for (const auto& path : found.paths)
      tensors.push_back(opened(path, [&] {
        const auto file = open_file(path);
        const auto name = as_utf8(std::filesystem::path(path).stem().string());
        return from_npy(name, file, 0, file->size_bytes());
      }));
    all.push_back(checked(found.place, std::move(tensors), divided));
    return all;
  }
  for (const auto& path : found.paths) {
    auto tensors = ending_of(path) == "npz" ? open_npz(path) : open_safetensors(path);
    const bool divided = choose_tensors(files, tensors, settings, training);
    if (path == settings.text("path") && !settings.text("split").empty() && (tensors.empty() || !files.has_split))
      throw settings.error("split",
                           concat("no tensors of ", path, " are named after the split '", settings.text("split"), "'"),
                           ExitCode::data);
    all.push_back(checked(path, std::move(tensors), divided));
    check_alike(all.front(), all.back());
  }
  return all;
}

}  // namespace

std::uint64_t StoredTensor::stored_bytes() const { return elements_of(shape) * size_of(type); }

void StoredTensor::load() {
  std::vector<std::byte> stored(stored_bytes());
  read_exactly(*file, offset, std::span(stored));
  if (!is_stored_as(type, record_type(type))) {
    memory.resize(elements_of(shape) * size_of(record_type(type)));
    convert_elements(type, stored, memory);
  } else {
    memory = std::move(stored);
  }
  file = nullptr;
}

TensorFiles open_tensor_files(const Settings& settings, bool training) {
  auto found = find_split_files(settings, training, endings, true);
  TensorFiles files{{}, found.has_split, found.place, std::move(found.notes)};
  files.all = open_all(files, found, settings, training);
  std::uint64_t bytes = 0;
  for (const auto& file : files.all)
    for (const auto& tensor : file.tensors) bytes += tensor.file ? tensor.stored_bytes() : 0;
  if (bytes >> 20 < static_cast<std::uint64_t>(settings.integer("memory_mb")))
    for (auto& file : files.all)
      for (auto& tensor : file.tensors)
        if (tensor.file) opened(file.path + ": tensor '" + tensor.name + "'", [&] { tensor.load(); });
  return files;
}

}  // namespace flowtrain
