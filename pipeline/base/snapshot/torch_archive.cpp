#include "pipeline/base/snapshot/torch_archive.h"

#include <algorithm>
#include <cstring>

#include "pipeline/base/snapshot/byte_reader.h"
#include "pipeline/base/snapshot/safetensors.h"
#include "sampling/core/error.h"
#include "sampling/io/zip.h"

namespace flowtrain {
namespace {

constexpr std::string_view zip_start = "PK\x03\x04";
/// The pickle of the number 0x1950a86a20f9469cfc6c without the protocol in front.
constexpr std::string_view magic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
constexpr std::size_t protocol_bytes = 2;
constexpr std::int64_t legacy_version = 1001;

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

[[noreturn]] void fail(const std::string& path, const std::string& what,
                       const std::string& hint = "get or write the file again") {
  throw UserError(ExitCode::snapshot, path + ": " + what, hint);
}

void refuse_big_endian(const std::string& path) {
  fail(path, "the numbers are big-endian", "save it again on a little-endian machine");
}

/// Computes the bytes of a storage; returns false if the number does not fit.
bool storage_bytes(const PickleStorage& storage, std::uint64_t& bytes) {
  const std::string_view dtype = storage.dtype;
  const std::uint64_t element = dtype == "C64" ? 8 : dtype == "C128" ? 16 : element_bytes(dtype);
  return !__builtin_mul_overflow(storage.elements, element, &bytes);
}

void check_storages(const TorchArchive& archive, const std::string& path) {
  for (const auto& value : archive.pickle.values) {
    const auto* storage = std::get_if<PickleStorage>(&value);
    if (!storage) continue;
    const auto found = archive.storages.find(storage->key);
    if (found == archive.storages.end()) fail(path, "storage " + shown(storage->key) + " is not in the file");
    std::uint64_t wanted = 0;
    if (!storage_bytes(*storage, wanted) || wanted != found->second.size())
      fail(path, "storage " + shown(storage->key) + " has " + std::to_string(found->second.size()) + " bytes, not " +
                     std::to_string(storage->elements) + " elements of " + storage->dtype);
  }
}

/// Throws UserError for archives of torch that hold more than weights. Their entries may be compressed, so the names
/// are sought in the directory at the end of the zip archive.
void refuse_programs(std::span<const std::byte> bytes, const std::string& path) {
  constexpr std::size_t directory_bytes = 1 << 20;
  const auto end = text_of(bytes.last(std::min(bytes.size(), directory_bytes)));
  if (end.find("/constants.pklPK") != end.npos)
    fail(path, "a TorchScript archive, which holds a program beside the weights",
         "save the weights alone: torch.save(torch.jit.load(path).state_dict(), new_path)");
  if (end.find("/archive_formatPK") != end.npos)
    fail(path, "a package of torch.export", "net.package takes one; net.pretrain takes a file of weights");
}

/// The bytes of a file that is in memory.
class BytesInMemory final : public ByteSource {
 public:
  explicit BytesInMemory(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::uint64_t size_bytes() const override { return bytes_.size(); }
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> into) const override {
    const auto from = bytes_.subspan(std::min<std::uint64_t>(offset, bytes_.size()));
    const auto size = std::min(from.size(), into.size());
    if (size > 0) std::memcpy(into.data(), from.data(), size);
    return size;
  }

 private:
  std::span<const std::byte> bytes_;
};

/// An entry of a zip archive; views into the archive's bytes.
struct ZipEntry {
  std::string_view name;
  std::span<const std::byte> data;
};

/// Returns the entries of an archive. Checksums are ignored, as torch can be told to leave them out.
std::vector<ZipEntry> zip_entries(std::span<const std::byte> archive, const std::string& path) {
  std::vector<ZipEntry> entries;
  for (const auto& file : scan_zip(BytesInMemory(archive), path,
                                   {.code = ExitCode::snapshot,
                                   .stored_only = true,
                                   .writer_hint = "torch.save compresses nothing: get or write the file again"})) {
    const auto name = text_of(archive.subspan(file.name_offset, file.name.size()));
    if (name.starts_with('/') || name.find("..") != name.npos)
      fail(path, "entry " + shown(name) + ": a name that leads out of the archive");
    entries.push_back({name, archive.subspan(file.data_offset, file.size_bytes)});
  }
  return entries;
}

/// Opens <name>/data.pkl, <name>/data/<key>, <name>/byteorder …, where torch takes <name> from the file's own.
TorchArchive open_zip(std::span<const std::byte> bytes, const std::string& path) {
  constexpr std::string_view pickle_name = "/data.pkl", storage_folder = "/data/";
  refuse_programs(bytes, path);
  const auto entries = zip_entries(bytes, path);
  const ZipEntry* pickle = nullptr;
  for (const auto& entry : entries)
    if (entry.name.ends_with(pickle_name) && entry.name.find('/') == entry.name.size() - pickle_name.size()) {
      if (pickle) fail(path, "two pickles: " + shown(pickle->name) + " and " + shown(entry.name));
      pickle = &entry;
    }
  if (!pickle) fail(path, "a zip archive without <name>/data.pkl: torch.save did not write it");
  const auto root = pickle->name.substr(0, pickle->name.size() - pickle_name.size());

  TorchArchive archive;
  for (const auto& entry : entries) {
    if (!entry.name.starts_with(root)) continue;
    const auto name = entry.name.substr(root.size());
    if (name == "/byteorder" && text_of(entry.data) != "little") refuse_big_endian(path);
    if (name.starts_with(storage_folder)) archive.storages.emplace(name.substr(storage_folder.size()), entry.data);
  }
  archive.pickle = parse_pickle(pickle->data, path);
  return archive;
}

/// Reads a row of pickles (magic number, version, system, content, keys), then each key's number of elements and bytes.
class LegacyReader {
 public:
  LegacyReader(std::span<const std::byte> bytes, const std::string& path)
      : bytes_(bytes), path_(path), at_(protocol_bytes + magic.size()) {}

  TorchArchive run() {
    const auto version = next();
    const auto* number = version.as<std::int64_t>(version.root);
    if (!number || *number != legacy_version) fail(path_, "an unknown version of torch's format");
    check_system(next());
    TorchArchive archive{next(), {}};
    const auto keys = next();
    const auto* list = keys.as<PickleSequence>(keys.root);
    if (!list) fail(path_, "no list of storages");
    std::unordered_map<std::string_view, const PickleStorage*> wanted;
    for (const auto& value : archive.pickle.values)
      if (const auto* storage = std::get_if<PickleStorage>(&value)) wanted.emplace(storage->key, storage);
    for (const auto ref : list->items) {
      const auto* key = keys.as<std::string_view>(ref);
      const auto found = key ? wanted.find(*key) : wanted.end();
      if (found == wanted.end()) fail(path_, "the list of storages names one that no tensor has");
      if (!archive.storages.emplace(*key, next_storage(*found->second)).second)
        fail(path_, "storage " + shown(*key) + " comes twice");
    }
    if (at_ != bytes_.size()) fail(path_, std::to_string(bytes_.size() - at_) + " bytes after the last storage");
    return archive;
  }

 private:
  Pickle next() {
    auto pickle = parse_pickle(bytes_.subspan(at_), path_);
    at_ += pickle.size_bytes;
    return pickle;
  }

  void check_system(const Pickle& system) const {
    const auto* dict = system.as<PickleDict>(system.root);
    if (!dict) fail(path_, "it does not say which system wrote it");
    for (const auto& [key, value] : dict->items) {
      const auto* name = system.as<std::string_view>(key);
      const auto* flag = system.as<bool>(value);
      if (name && *name == "little_endian" && flag && !*flag) refuse_big_endian(path_);
    }
  }

  std::span<const std::byte> next_storage(const PickleStorage& storage) {
    ByteReader reader(bytes_, path_ + ": storage " + shown(storage.key), at_);
    const auto elements = reader.number<std::uint64_t>();
    std::uint64_t size_bytes = 0;
    if (elements != storage.elements || !storage_bytes(storage, size_bytes))
      fail(path_, "storage " + shown(storage.key) + " has " + std::to_string(elements) + " elements, not " +
                      std::to_string(storage.elements));
    const auto data = reader.take(size_bytes);
    at_ = reader.at();
    return data;
  }

  std::span<const std::byte> bytes_;
  const std::string& path_;
  std::uint64_t at_;
};

}  // namespace

bool is_torch_archive(std::span<const std::byte> bytes) {
  const auto text = text_of(bytes);
  return text.starts_with(zip_start) ||
         (text.starts_with('\x80') && text.substr(std::min(text.size(), protocol_bytes)).starts_with(magic));
}

TorchArchive open_torch_archive(std::span<const std::byte> bytes, const std::string& path) {
  if (!is_torch_archive(bytes)) fail(path, "the file was not written by torch.save");
  auto archive = text_of(bytes).starts_with(zip_start) ? open_zip(bytes, path) : LegacyReader(bytes, path).run();
  check_storages(archive, path);
  return archive;
}

}  // namespace flowtrain
