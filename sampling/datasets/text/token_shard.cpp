#include "sampling/datasets/text/token_shard.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "sampling/core/utf8.h"
#include "sampling/datasets/kept_index.h"

namespace flowtrain {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::uint64_t least_kept_bytes = 1 << 20;
constexpr const char* pack_again = "pack the data again, or copy the shard again";
/// The contents of the kept file of a shard whose ids were checked.
constexpr std::string_view checked = "token ids checked 1";

Descriptor open_shard(const std::string& path) {
  try {
    return Descriptor::file(path.c_str());
  } catch (const std::system_error& error) {
    throw UserError(ExitCode::data, as_utf8(path) + ": " + error.code().message());
  }
}

/// Maps the file at `path`, whose ends are kept by the caller. Throws UserError(data).
const std::byte* map_file(const std::string& path, std::uint64_t size_bytes) {
  const int number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  void* const bytes = number < 0 ? MAP_FAILED : ::mmap(nullptr, size_bytes, PROT_READ, MAP_SHARED, number, 0);
  const int error = errno;
  if (number >= 0) ::close(number);
  if (bytes == MAP_FAILED)
    throw UserError(ExitCode::data, as_utf8(path) + ": " + std::generic_category().message(error));
  return static_cast<const std::byte*>(bytes);
}

}  // namespace

TokenShard::TokenShard(const std::string& path)
    : path_(path), file_(open_shard(path)), size_bytes_(file_.size_bytes()) {
  if (const auto got = file_.read_at(0, std::as_writable_bytes(std::span(&header_, 1))); got < sizeof header_)
    fail(concat("the shard is cut: it has ", got, " bytes, fewer than a header"), pack_again);
  check_header();
  bytes_ = map_file(path, size_bytes_);
  const auto* const places = bytes_ + sizeof(TokenHeader);
  documents_ = {reinterpret_cast<const std::uint64_t*>(places), header_.documents + 1};
  ids_ = places + documents_.size_bytes();
  const auto wrong = std::ranges::adjacent_find(documents_, std::ranges::greater());
  const bool whole = documents_.front() == 0 && documents_.back() == header_.ids;
  if (whole && wrong == documents_.end()) return;
  const auto text = whole ? concat("the places of its documents are not in order: document ",
                                   wrong - documents_.begin(), " ends before it begins")
                          : std::string("the places of its documents are not those of its ids");
  ::munmap(const_cast<std::byte*>(std::exchange(bytes_, nullptr)), size_bytes_);
  fail(text, pack_again);
}

TokenShard::TokenShard(TokenShard&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::move(other.file_)),
      size_bytes_(other.size_bytes_),
      bytes_(std::exchange(other.bytes_, nullptr)),
      header_(other.header_),
      documents_(other.documents_),
      ids_(other.ids_) {}

TokenShard::~TokenShard() {
  if (bytes_) ::munmap(const_cast<std::byte*>(bytes_), size_bytes_);
}

void TokenShard::fail(const std::string& what, const std::string& hint) const {
  throw UserError(ExitCode::data, as_utf8(path_) + ": " + what, hint);
}

void TokenShard::check_header() const {
  if (header_.magic != TokenHeader::right_magic)
    fail("this is not a shard of token ids", "`flowtrain pack --tokens` writes such shards");
  if (header_.version != TokenHeader::right_version)
    fail(concat("the shard has version ", header_.version, ", but this program reads version ",
                TokenHeader::right_version),
         "pack the data with this program");
  if ((header_.width != 2 && header_.width != 4) || header_.vocabulary == 0 || header_.vocabulary > 0x7fff'ffff)
    fail(concat("the header is damaged: ids of ", header_.width, " bytes, ", header_.vocabulary, " of a vocabulary"),
         pack_again);
  const auto room = size_bytes_ - sizeof(TokenHeader);
  const bool fits = header_.documents < room / 8 && header_.ids <= (room - 8 * (header_.documents + 1)) / header_.width;
  if (!fits)
    fail(concat("the shard is cut: its ", size_bytes_, " bytes are too few for ", header_.documents, " documents of ",
                header_.ids, " ids"),
         pack_again);
  if (room - 8 * (header_.documents + 1) != header_.ids * header_.width)
    fail("the shard has more bytes than its ids take", pack_again);
}

void TokenShard::read(std::uint64_t first, std::span<std::int32_t> into) const {
  // A page behind the end of a file that became shorter would end the program.
  if (file_.size_bytes() < size_bytes_) throw std::runtime_error("the shard has become shorter: was it cut since?");
  const auto widen = [&](const auto* ids) { std::copy_n(ids + first, into.size(), into.data()); };
  if (header_.width == 2)
    widen(ids<std::uint16_t>().data());
  else
    std::memcpy(into.data(), ids<std::uint32_t>().data() + first, into.size_bytes());
}

void TokenShard::check_ids() const {
  const bool keeps = size_bytes_ >= least_kept_bytes;
  const KeptIndex known(path_, file_);
  const auto mark = std::as_bytes(std::span(checked));
  if (const auto kept = keeps ? known.recall() : std::nullopt; kept && std::ranges::equal(*kept, mark)) return;
  const auto check = [&](auto all) {
    const auto wrong = std::ranges::find_if(all, [&](std::uint64_t id) { return id >= header_.vocabulary; });
    if (wrong != all.end())
      fail(concat("id ", *wrong, " at place ", wrong - all.begin(), " is not below the vocabulary, ",
                  header_.vocabulary),
           pack_again);
  };
  header_.width == 2 ? check(ids<std::uint16_t>()) : check(ids<std::uint32_t>());
  if (keeps) known.keep(mark);
}

}  // namespace flowtrain
