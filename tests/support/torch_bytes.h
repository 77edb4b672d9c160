#pragma once
// Pickles, zip archives and files of torch.save put together by hand, right ones and wrong ones.

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace flowtrain::test {

inline std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

/// A number, little-endian.
template <class T>
std::string le(T value) {
  std::string text(sizeof value, '\0');
  std::memcpy(text.data(), &value, sizeof value);
  return text;
}

// Pieces of pickles.
inline const std::string proto = "\x80\x02";
inline std::string py_text(const std::string& text) {
  return std::string(1, 'X') + le(static_cast<std::uint32_t>(text.size())) + text;
}
inline std::string py_int(std::int32_t value) { return std::string(1, 'J') + le(value); }
inline std::string py_global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
inline std::string py_tuple(const std::vector<std::string>& items) {
  std::string text = "(";
  for (const auto& item : items) text += item;
  return text + "t";
}
inline std::string py_ints(const std::vector<std::int32_t>& values) {
  std::vector<std::string> items;
  items.reserve(values.size());
  for (const auto value : values) items.push_back(py_int(value));
  return py_tuple(items);
}
inline std::string py_call(const std::string& module, const std::string& name, const std::string& arguments) {
  return py_global(module, name) + arguments + "R";
}
inline const std::string ordered_dict = py_call("collections", "OrderedDict", ")");

/// A tensor as _rebuild_tensor_v2 makes it; numbers may be wrong.
struct PyTensor {
  std::vector<std::int32_t> shape, strides;
  std::int32_t offset = 0, elements = 0;  ///< the latter of its storage
  std::string key = "0", storage = "FloatStorage";
  bool legacy = false;

  std::string text() const {
    std::vector<std::string> id = {py_text("storage"), py_global("torch", storage), py_text(key), py_text("cpu"),
                                   py_int(elements)};
    if (legacy) id.emplace_back("N");
    return py_call(
        "torch._utils", "_rebuild_tensor_v2",
        py_tuple({py_tuple(id) + "Q", py_int(offset), py_ints(shape), py_ints(strides), "\x89", ordered_dict}));
  }
};

/// {name: value, …}
inline std::string py_dict(const std::vector<std::pair<std::string, std::string>>& items) {
  std::string text = ordered_dict + "(";
  for (const auto& [name, value] : items) text += py_text(name) + value;
  return text + "u";
}
inline std::string py_whole(const std::string& value) { return proto + value + "."; }

/// An entry of a zip archive, and what may be wrong with it.
struct ZipPart {
  std::string name, data;
  std::uint16_t method = 0, flags = 0;
  std::string local_name = name;
  std::uint32_t claimed_bytes = static_cast<std::uint32_t>(data.size());
  std::int64_t header_shift = 0;  ///< added to the place of its header
};

/// An archive of stored entries, as torch writes them: sizes in the directory only.
inline std::string zip_of(const std::vector<ZipPart>& parts, const std::string& comment = "") {
  std::string file, directory;
  for (const auto& part : parts) {
    const auto header_at = static_cast<std::uint32_t>(static_cast<std::int64_t>(file.size()) + part.header_shift);
    file += "PK\x03\x04" + std::string(22, '\0') + le(static_cast<std::uint16_t>(part.local_name.size())) +
            le(std::uint16_t{0}) + part.local_name + part.data;
    directory += "PK\x01\x02" + std::string(4, '\0') + le(part.flags) + le(part.method) + std::string(8, '\0') +
                 le(part.claimed_bytes) + le(part.claimed_bytes) + le(static_cast<std::uint16_t>(part.name.size())) +
                 std::string(4, '\0') + std::string(8, '\0') + le(header_at) + part.name;
  }
  const auto count = le(static_cast<std::uint16_t>(parts.size()));
  return file + directory + "PK\x05\x06" + std::string(4, '\0') + count + count +
         le(static_cast<std::uint32_t>(directory.size())) + le(static_cast<std::uint32_t>(file.size())) +
         le(static_cast<std::uint16_t>(comment.size())) + comment;
}

/// A file of torch.save: its pickle, and storages by key.
inline std::string torch_zip(const std::string& pickle, std::vector<ZipPart> storages = {}) {
  std::vector<ZipPart> parts = {{"m/data.pkl", pickle}, {"m/byteorder", "little"}};
  for (auto& storage : storages) parts.push_back(std::move(storage));
  return zip_of(parts);
}

/// Returns an archive in torch's format before 1.6. `keys` is the pickle of the storages' keys.
inline std::string torch_legacy(const std::string& pickle, const std::string& keys, const std::string& storages,
                                bool little_endian = true) {
  return std::string("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.") + py_whole(py_int(1001)) +
         py_whole("}" + py_text("little_endian") + (little_endian ? "\x88" : "\x89") + "s") + pickle + keys + storages;
}

}  // namespace flowtrain::test
