// The `tokens` data set: documents as the ids of their tokens, in shards that `flowtrain pack --tokens` writes.

#include <rapidjson/document.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>

#include "sampling/core/cpus.h"
#include "sampling/core/in_parallel.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "sampling/core/utf8.h"
#include "sampling/core/warning.h"
#include "sampling/datasets/entries.h"
#include "sampling/datasets/split_names.h"
#include "sampling/datasets/tables/split_files.h"
#include "sampling/datasets/text/token_shard.h"
#include "sampling/datasets/text/windows.h"
#include "sampling/fingerprint.h"
#include "sampling/named_dataset.h"
#include "sampling/parts/part_collector.h"
#include "sampling/remote/remote.h"

namespace flowtrain {
namespace {

namespace fs = std::filesystem;

/// Returns the number of the range that holds `place`, of ranges whose ends these are.
std::size_t range_of(const std::vector<std::uint64_t>& ends, std::uint64_t place) {
  return static_cast<std::size_t>(std::ranges::upper_bound(ends, place) - ends.begin());
}

/// The unit that makes a record.
enum class TokensUnit {
  document,         ///< a document, without the id of its end
  window,           ///< a window of the ids of all documents in a row
  document_window,  ///< a window of a document's ids, that of its end included
};

class TokensDataset : public NamedDataset {
 public:
  /// `window` is 0 for whole documents.
  TokensDataset(SplitFiles place, std::vector<TokenShard> shards, std::shared_ptr<const RemoteAccess> access,
                TokensUnit unit, std::uint64_t window)
      : place_(std::move(place)), shards_(std::move(shards)), access_(std::move(access)), unit_(unit), window_(window) {
    std::uint64_t ids = 0, documents = 0, windows = 0;
    for (auto& shard : shards_) {
      id_ends_.push_back(ids += shard.header().ids);
      document_ends_.push_back(documents += shard.header().documents);
      if (unit_ == TokensUnit::window) shard.forget_documents();
      if (unit_ != TokensUnit::document_window) continue;
      const auto places = shard.documents();
      for (std::size_t i = 1; i < places.size(); ++i)
        window_ends_.push_back(windows += windows_of(places[i] - places[i - 1], window_));
    }
    size_ = unit_ == TokensUnit::document ? documents
            : unit_ == TokensUnit::window ? windows_of(ids, window_)
                                          : windows;
    if (size_ == 0) throw EmptyDataset(place_.place + ": there are no tokens in it");
  }

  std::uint64_t size() const override { return size_; }

  Record read(std::uint64_t id, ReadBuffer& buffer) const override {
    auto [first, count] = range_of_record(id);
    const auto bytes = count * sizeof(std::int32_t);
    Record record{.id = id};
    if (bytes > max_sample_bytes)
      throw SampleError(concat(describe(id), ": ", bytes, " bytes are more than a sample may have (1 GiB)"));
    if (buffer.bytes.size() < bytes) buffer.bytes.resize(bytes);
    const std::span into(reinterpret_cast<std::int32_t*>(buffer.bytes.data()), count);
    try {
      each_piece(first, count,
                 [&](const TokenShard& shard, std::uint64_t place, std::uint64_t done, std::uint64_t ids) {
                   shard.read(place, into.subspan(done, ids));
                 });
    } catch (const std::runtime_error& error) {
      throw SampleError(describe(id) + ": " + error.what());
    }
    PartCollector parts(buffer);
    parts.add_list(form_, std::as_bytes(into));
    parts.finish(record);
    return record;
  }

  std::vector<PartForm> parts() const override { return {form_}; }

  bool outline(std::uint64_t id, Record& record, ReadBuffer& buffer) const override {
    record = {.id = id};
    const auto length = static_cast<std::int64_t>(range_of_record(id).count);
    PartCollector parts(buffer);
    parts.outline_array(form_, {&length, 1});
    parts.finish(record);
    return true;
  }

  std::int64_t label(std::uint64_t) const override { return -1; }
  std::vector<std::string> classes() const override { return {}; }

  std::string describe(std::uint64_t id) const override {
    const auto at = shard_of(id);
    const bool joined = unit_ == TokensUnit::window;
    return as_utf8(concat(shards_[at.shard].path(), joined ? ", token " : ", document ", at.number,
                          unit_ == TokensUnit::document_window ? concat(", token ", at.first) : ""));
  }
  /// Returns the name of a document's shard and its number there, so that its windows belong together; of a window over
  /// several documents its number.
  std::string name(std::uint64_t id) const override {
    const auto at = shard_of(id);
    const auto file = std::filesystem::path(shards_[at.shard].path()).filename().string();
    return as_utf8(unit_ == TokensUnit::window ? std::to_string(id) : concat(file, "#", at.number));
  }
  bool has_split() const override { return place_.has_split; }
  std::string place() const override {
    return as_utf8(concat(place_.place, shards_.size() > 1 ? concat(", ", shards_.size(), " shards") : ""));
  }
  std::vector<std::string> notes() const override { return place_.notes; }

  std::uint64_t fingerprint() const override {
    std::uint64_t all = fingerprint_of(static_cast<std::uint64_t>(unit_), window_);
    for (const auto& shard : shards_) all = fingerprint_of(shard.fingerprint(), all);
    return all;
  }

  bool takes_hints() const override { return access_ && access_->ahead; }
  void hint(std::uint64_t id) const override {
    each_remote_piece(id, [](const RemoteFile& file, auto place) { file.expect(place.offset, place.size_bytes); });
  }
  void prefetch(std::uint64_t id) const override {
    each_remote_piece(id, [](const RemoteFile& file, auto place) { file.begin(place.offset, place.size_bytes); });
  }
  void forget(std::uint64_t id) const override {
    each_remote_piece(id, [](const RemoteFile& file, auto place) { file.forget(place.offset, place.size_bytes); });
  }
  std::uint64_t retries() const override { return access_ ? access_->outages.retries() : 0; }

 private:
  /// A range of the stream of all ids.
  struct Range {
    std::uint64_t first, count;
  };
  /// The shard in which a record begins, and there the number of the document, or of the first id of a window.
  struct ShardPlace {
    std::size_t shard;
    std::uint64_t number;
    std::uint64_t first = 0;  ///< number of the first id within the document
  };

  static std::uint64_t begin_of(const std::vector<std::uint64_t>& ends, std::size_t range) {
    return range == 0 ? 0 : ends[range - 1];
  }

  ShardPlace shard_of(std::uint64_t id) const {
    const auto& ends = unit_ == TokensUnit::window ? id_ends_ : document_ends_;
    std::uint64_t place = unit_ == TokensUnit::window ? id * window_ : id, first = 0;
    if (unit_ == TokensUnit::document_window) {
      place = range_of(window_ends_, id);
      first = (id - begin_of(window_ends_, place)) * window_;
    }
    const auto shard = range_of(ends, place);
    return {shard, place - begin_of(ends, shard), first};
  }

  Range range_of_record(std::uint64_t id) const {
    if (unit_ == TokensUnit::window) return {id * window_, std::min(window_ + 1, id_ends_.back() - id * window_)};
    const auto [shard, number, first] = shard_of(id);
    const auto& documents = shards_[shard].documents();
    const auto count = documents[number + 1] - documents[number];
    if (unit_ == TokensUnit::document_window)
      return {begin_of(id_ends_, shard) + documents[number] + first, std::min(window_ + 1, count - first)};
    const bool has_end = shards_[shard].header().end != TokenHeader::no_end;
    return {begin_of(id_ends_, shard) + documents[number], has_end && count > 0 ? count - 1 : count};
  }

  /// Calls take(shard, place in it, ids before, ids) for each piece of a range: a window may go on in the next shards.
  template <class Take>
  void each_piece(std::uint64_t first, std::uint64_t count, Take&& take) const {
    for (std::uint64_t done = 0; done < count;) {
      const auto shard = range_of(id_ends_, first + done);
      const auto part = std::min(count - done, id_ends_[shard] - first - done);
      take(shards_[shard], first + done - begin_of(id_ends_, shard), done, part);
      done += part;
    }
  }

  template <class Take>
  void each_remote_piece(std::uint64_t id, Take&& take) const {
    const auto [first, count] = range_of_record(id);
    if (!access_ || count * sizeof(std::int32_t) > max_sample_bytes) return;
    each_piece(first, count, [&](const TokenShard& shard, std::uint64_t place, std::uint64_t, std::uint64_t ids) {
      take(*shard.remote(), shard.place_of(place, ids));
    });
  }

  SplitFiles place_;
  std::vector<TokenShard> shards_;
  std::shared_ptr<const RemoteAccess> access_;  ///< access to remote shards, else null
  TokensUnit unit_;
  std::uint64_t window_, size_ = 0;
  std::vector<std::uint64_t> id_ends_, document_ends_;  ///< numbers after the last ones of each shard
  std::vector<std::uint64_t> window_ends_;  ///< windows of documents: numbers after the last ones of each document
  PartForm form_{"tokens", Encoding::array, DType::i32, {-1}};
};

/// Refuses shards of two tokenizers.
void compare(const TokenShard& first, const TokenShard& other) {
  const auto text = [](const TokenShard& shard) {
    const auto& header = shard.header();
    return concat("a vocabulary of ", header.vocabulary, " and ",
                  header.end == TokenHeader::no_end ? "no end of a text" : concat("the end of a text ", header.end));
  };
  if (text(first) != text(other))
    throw UserError(
        ExitCode::data,
        as_utf8(concat(other.path(), ": the shard has ", text(other), ", but ", first.path(), " has ", text(first))),
        "put shards of different tokenizers into folders of their own");
}

/// Warns of records of the packed data set that lie in no shard. Each packing counts its records from 0.
void tell_missing(const std::vector<std::optional<TokenShard>>& shards) {
  std::uint64_t next = 0, most = 0;
  for (const auto& shard : shards) {
    const auto& header = shard->header();
    if (header.first_record != next && header.first_record != 0)
      warn(as_utf8(concat(shard->path(), ": the shard begins with record ", header.first_record,
                          ", but the one before ", next == 0 ? "is missing" : concat("ends before record ", next),
                          ": a shard is missing, or its records are left out on purpose")));
    next = header.end_record;
    most = std::max(most, next);
  }
  if (shards.back()->remote()) return;
  // The totals of the packing lie beside the shards.
  const auto totals = (fs::path(shards.back()->path()).parent_path() / "tokens.json").string();
  std::ifstream file(totals);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  rapidjson::Document read;
  read.Parse<rapidjson::kParseIterativeFlag>(text.data(), text.size());
  if (read.HasParseError() || !read.IsObject() || !read.HasMember("records") || !read["records"].IsUint64()) return;
  if (const auto records = read["records"].GetUint64(); records > most)
    warn(as_utf8(concat(totals, ": ", records, " records were packed, but the shards end before record ", most,
                        ": a shard is missing, or is left out on purpose")));
}

std::unique_ptr<Dataset> make_tokens(const Settings& settings, const DatasetInput& input) {
  static constexpr std::string_view endings[] = {token_shard_ending};
  const auto window = static_cast<std::uint64_t>(settings.integer("window"));
  const bool within = settings.boolean("within_documents");
  if (within && window == 0)
    throw settings.error("within_documents", "a record is a whole document where there is no window", ExitCode::usage,
                         "set window, or leave out within_documents");
  const bool remote = is_remote(settings.text("path"));
  auto place = remote ? find_remote_files(settings, endings) : find_split_files(settings, input.training, endings);
  auto access = remote ? remote_access(settings) : nullptr;
  std::vector<std::optional<TokenShard>> opened(place.paths.size());
  in_parallel(opened.size(), remote ? 8 : usable_cores(), [&](std::size_t i) {
    opened[i].emplace(place.paths[i], access);
    opened[i]->check_ids();
  });
  for (const auto& shard : opened) compare(*opened.front(), *shard);
  if (input.training) tell_missing(opened);
  std::vector<TokenShard> shards;
  shards.reserve(opened.size());
  for (auto& shard : opened) shards.push_back(std::move(*shard));
  return std::make_unique<TokensDataset>(std::move(place), std::move(shards), std::move(access),
                                         within       ? TokensUnit::document_window
                                         : window > 0 ? TokensUnit::window
                                                      : TokensUnit::document,
                                         window);
}

}  // namespace

DatasetEntry tokens_entry() {
  std::vector<Key> keys{
      {"window", Kind::integer, std::int64_t{0},
       "makes a record of each `window` + 1 ids of all documents in a row, from each multiple of `window` on, the last "
       "one shorter; documents end with the id of the end of a text; 0: a record is a document",
       0, static_cast<double>(1 << 28)},
      {"within_documents", Kind::boolean, false,
       "makes the windows of each document alone, so that a document that is too long is split; each document's last "
       "window is shorter and has the id of the end"},
      split_names_key()};
  for (auto& key : remote_keys()) keys.push_back(std::move(key));
  return {
      .name = "tokens",
      .help =
          "documents as the ids of their tokens, the part tokens (i32), in shards (.tokens) that `flowtrain pack "
          "--tokens` writes. path: a shard, a folder or a pattern (train-{000..127}.tokens), local, https:// or s3://; "
          "split: a sub-folder or shards; default: train, or val (else test) to validate, by their usual names",
      .keys = std::move(keys),
      .make = make_tokens};
}

}  // namespace flowtrain
