#include "sampling/datasets/text/token_shard.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "sampling/core/utf8.h"
#include "sampling/datasets/kept_index.h"
#include "sampling/fingerprint.h"
#include "sampling/remote/remote.h"

namespace flowtrain {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::uint64_t least_marked_bytes = 1 << 20;
constexpr const char* pack_again = "pack the data again, or copy the shard again";
/// The contents of the kept file of a shard whose ids were checked.
constexpr std::string_view checked_mark = "token ids checked 2";

/// The number of ids that a check reads at once.
constexpr std::uint64_t ids_at_once = 1 << 18;

/// Reads u16 ids into i32.
void read_narrow(const ByteSource& file, std::uint64_t offset, std::span<std::int32_t> into) {
  thread_local std::vector<std::uint16_t> narrow;
  if (narrow.size() < into.size()) narrow.resize(into.size());
  const auto ids = std::span(narrow).first(into.size());
  read_exactly(file, offset, std::as_writable_bytes(ids));
  std::ranges::copy(ids, into.begin());
}

}  // namespace

TokenShard::TokenShard(const std::string& path, std::shared_ptr<const RemoteAccess> access)
    : path_(access ? public_name(path) : path) {
  try {
    if (access) {
      auto file = std::make_unique<RemoteFile>(path, std::move(access));
      remote_ = file.get();
      file_ = std::move(file);
    } else {
      file_ = std::make_unique<Descriptor>(Descriptor::file(path.c_str()));
    }
    size_bytes_ = file_->size_bytes();
    const auto got = file_->read_at(0, std::as_writable_bytes(std::span(&header_, 1)));
    if (got < sizeof header_) fail(concat("the shard is cut: it has ", got, " bytes, fewer than a header"), pack_again);
    check_header();
    read_documents();
  } catch (const RemoteError& error) {
    fail(error.what(), error.hint());
  } catch (const std::system_error& error) {
    fail(error.code().message(), "");
  }
}

void TokenShard::read_documents() {
  documents_.resize(header_.documents + 1);
  ids_at_ = sizeof(TokenHeader) + documents_.size() * sizeof documents_[0];
  const auto bytes = std::as_writable_bytes(std::span(documents_));
  if (file_->read_at(sizeof(TokenHeader), bytes) < bytes.size()) fail("the shard has become shorter", pack_again);
  if (documents_.front() != 0 || documents_.back() != header_.ids)
    fail("the places of its documents are not those of its ids", pack_again);
  if (const auto wrong = std::ranges::adjacent_find(documents_, std::ranges::greater()); wrong != documents_.end())
    fail(concat("the places of its documents are not in order: document ", wrong - documents_.begin(),
                " ends before it begins"),
         pack_again);
  fingerprint_ = fingerprint_of(std::as_bytes(std::span(&header_, 1)), fingerprint_of(bytes, 0));
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
  if (header_.end != TokenHeader::no_end && header_.end >= header_.vocabulary)
    fail(concat("the header is damaged: the end of a text is the id ", header_.end,
                ", which is not below the vocabulary, ", header_.vocabulary),
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
  const auto offset = place_of(first, into.size()).offset;
  if (header_.width == 2)
    read_narrow(*file_, offset, into);
  else
    read_exactly(*file_, offset, std::as_writable_bytes(into));
  const auto end = static_cast<std::int32_t>(header_.vocabulary);
  int wrong_ids = 0;  // the loop has no branch, so that it takes little time
  for (const auto id : into) wrong_ids |= static_cast<int>(id < 0) | static_cast<int>(id >= end);
  if (wrong_ids == 0) return;
  const auto wrong = std::ranges::find_if(into, [&](auto id) { return id < 0 || id >= end; });
  throw std::runtime_error(concat("id ", static_cast<std::uint32_t>(*wrong), " at place ",
                                  first + static_cast<std::uint64_t>(wrong - into.begin()),
                                  " is not below the vocabulary, ", header_.vocabulary));
}

void TokenShard::check_ids() const {
  if (remote_) return;
  const bool keeps = size_bytes_ >= least_marked_bytes;
  const KeptIndex known(path_, dynamic_cast<const Descriptor&>(*file_));
  const auto mark = std::as_bytes(std::span(checked_mark));
  if (const auto kept = keeps ? known.recall() : std::nullopt; kept && std::ranges::equal(*kept, mark)) return;
  std::vector<std::int32_t> ids(std::min(header_.ids, ids_at_once));
  std::size_t document = 0;  // the first one whose last id was not read
  for (std::uint64_t first = 0; first < header_.ids; first += ids_at_once) {
    const auto now = std::span(ids).first(std::min(header_.ids - first, ids_at_once));
    try {
      read(first, now);
    } catch (const std::runtime_error& error) {
      fail(error.what(), pack_again);
    }
    if (header_.end == TokenHeader::no_end) continue;
    for (; document < header_.documents && documents_[document + 1] <= first + now.size(); ++document) {
      if (documents_[document + 1] == documents_[document]) continue;
      const auto last = now[documents_[document + 1] - 1 - first];
      if (static_cast<std::uint32_t>(last) != header_.end)
        fail(concat("document ", document, " ends with the id ", last, ", not with the end of a text, ", header_.end),
             pack_again);
    }
  }
  if (keeps) known.keep(mark);
}

}  // namespace flowtrain
