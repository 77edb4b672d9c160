#include "sampling/transforms/text_ids.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "sampling/core/text.h"
#include "sampling/samplers/keys.h"
#include "sampling/transforms/padded.h"

namespace flowtrain {
namespace {

/// Copies stored ids, which must be below `end`.
template <class Stored>
void copy_ids(std::span<const std::byte> bytes, std::int64_t end, Ids& ids) {
  ids.resize(bytes.size() / sizeof(Stored));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    Stored id;
    std::memcpy(&id, bytes.data() + i * sizeof id, sizeof id);
    if (id < 0 || id >= end) throw SampleError(concat("it has the id ", id, ", but ids are from 0 to ", end - 1));
    ids[i] = static_cast<std::uint32_t>(id);
  }
}

template <class To, class From>
void put_as(const Field& field, std::span<const From> numbers, std::byte* to, std::span<const std::int64_t> extents) {
  const auto size = static_cast<std::int64_t>(numbers.size());
  const auto put = [&](const To* first) {
    copy_padded(field, reinterpret_cast<const std::byte*>(first), {&size, 1}, to, extents.first(1));
  };
  if constexpr (std::is_same_v<To, From>) return put(numbers.data());
  thread_local std::vector<To> converted;
  converted.assign(numbers.begin(), numbers.end());
  put(converted.data());
}

}  // namespace

std::vector<Key> id_keys(std::vector<Key> more, bool add_special) {
  const auto key = [](std::string name, Kind kind, Value fallback, std::string help) {
    return Key{.name = std::move(name), .kind = kind, .fallback = std::move(fallback), .help = std::move(help)};
  };
  Key max = key("max", Kind::integer, std::int64_t{0}, "greatest length, special tokens included");
  max.min = 1;
  max.max = 1e9;
  max.required = true;
  Key tokenizer = key(
      "tokenizer", Kind::text, std::string(),
      "a tokenizer.json, a rank file (.tiktoken) or a SentencePiece .model; bytes: an id for each byte; empty: bytes "
      "for texts, none for stored ids");
  tokenizer.is_path = true;
  Key fill = key("fill", Kind::integer, std::int64_t{0}, "id beyond a shorter text's end");
  fill.min = -1e9;
  fill.max = 1e9;
  std::vector<Key> keys{
      std::move(tokenizer),
      std::move(max),
      choice_key("pattern", "", "pattern of a rank file, which does not say its own",
                 {"", "gpt2", "cl100k_base", "o200k_base", "llama3"}),
      key("add_special", Kind::boolean, add_special, "put the tokens around a text that the tokenizer prescribes"),
      key("begin", Kind::text, std::string(), "special token before each text"),
      key("end", Kind::text, std::string(), "special token after each text"),
      key("special_text", Kind::boolean, false, "take names of special tokens in a text for the tokens"),
      choice_key("longer", "cut", "fate of texts that are longer than max; skip: such a record is damaged",
                 {"cut", "skip"}),
      std::move(fill)};
  keys.insert(keys.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  return keys;
}

Key vocabulary_key() {
  return {.name = "vocabulary",
          .kind = Kind::integer,
          .fallback = std::int64_t{0},
          .help = "number of ids of a part of ids, where no tokenizer tells it; 0: not known",
          .min = 0,
          .max = 1e9};
}

std::shared_ptr<const Tokenizer> tokenizer_of(const Settings& settings) {
  const std::string& name = settings.text("tokenizer");
  return open_tokenizer(name.empty() ? "bytes" : name, settings.text("pattern"));
}

EncodeOptions encoding_of(const Settings& settings) { return {.special_text = settings.boolean("special_text")}; }

std::optional<std::uint32_t> special_of(const Settings& settings, const char* key, const Tokenizer& tokenizer) {
  if (settings.text(key).empty()) return {};
  const auto id = tokenizer.special(settings.text(key));
  if (!id)
    throw settings.error(key, concat("the tokenizer has no special token '", settings.text(key), "'"), ExitCode::usage,
                         told_special_tokens(tokenizer));
  return id;
}

CountedWarning empty_warning(const Settings& settings, const std::string& name) {
  return {concat(settings.place_of("from"), "there are records whose part '", name,
                 "' is empty or missing; a net learns from them as from the others, so leave out those whose text is "
                 "not known"),
          concat(settings.place_of("from"), "the part '", name, "' was empty or missing")};
}

bool is_outline(const Part& part) { return part.bytes.empty() && !part.shape.empty() && part.shape[0] > 0; }

std::string_view text_of(const Part& part) {
  return {reinterpret_cast<const char*>(part.bytes.data()), part.bytes.size()};
}

TextIds::TextIds(const Settings& settings, const PartForm& from, Takes takes,
                 std::shared_ptr<const Tokenizer> tokenizer)
    : from_(from),
      tokenizer_(std::move(tokenizer)),
      options_(encoding_of(settings)),
      is_stored_(from.encoding == Encoding::array),
      empty_(empty_warning(settings, from.name)) {
  const bool are_ids = is_stored_ && from.shape.size() == 1 && (from.dtype == DType::i32 || from.dtype == DType::i64);
  if (takes == Takes::texts_and_ids && is_stored_ && !are_ids)
    throw wrong_part(settings, from, "of arrays those of ids: i32 or i64 of one axis",
                     "a column of numbers alone is no text: write a table of JSON lines, with quotes around each text; "
                     "in such a table, put quotes around the numbers");
  if (is_stored_ ? takes == Takes::texts : from.encoding == Encoding::pixels || from.encoding == Encoding::image)
    throw wrong_part(settings, from, takes == Takes::texts ? "a text" : "a text, or an array of ids");
  const std::string& name = settings.text("tokenizer");
  if (!tokenizer_ && (!is_stored_ || !name.empty())) tokenizer_ = tokenizer_of(settings);
  one_id_a_byte_ = !is_stored_ && (name.empty() || name == "bytes") && !options_.special_text;
  if (is_stored_ && options_.special_text)
    throw settings.error("special_text", "stored ids are not made of texts again", ExitCode::usage, "leave it out");
  if (!tokenizer_ && !settings.text("pattern").empty())
    throw settings.error("pattern", "it belongs to a rank file, but no tokenizer is named", ExitCode::usage,
                         "name the tokenizer, or leave out pattern");
  vocabulary_ = tokenizer_                   ? static_cast<std::int64_t>(tokenizer_->vocabulary_size())
                : settings.has("vocabulary") ? settings.integer("vocabulary")
                                             : 0;
  if (tokenizer_ && settings.has("vocabulary") && settings.integer("vocabulary") > 0)
    throw settings.error("vocabulary", concat("the tokenizer has ", vocabulary_, " ids"), ExitCode::usage,
                         "leave out vocabulary, or for a part of ids the tokenizer");
}

const Part& TextIds::part(const Record& record) const {
  const Part& part = part_of(record, from_);
  if (is_stored_ && (part.encoding != Encoding::array || part.dtype != from_.dtype || part.shape.size() != 1))
    throw SampleError(concat("the part '", part.name, "' is no list of ids"));
  return part;
}

std::int64_t TextIds::count(const Record& record) const {
  const Part& own = part(record);
  if (is_stored_) return own.shape[0];
  if (!is_outline(own)) return static_cast<std::int64_t>((*this)(record).size());
  return one_id_a_byte_ ? own.shape[0] : unknown_extent;
}

const Ids& TextIds::operator()(const Record& record) const {
  const Part& own = part(record);
  if (is_stored_) return stored(own);
  return kept<Ids>(instance_, text_of(own), [&](Ids& ids) {
    ids.clear();
    tokenizer_->encode(text_of(own), ids, options_);
  });
}

const Ids& TextIds::stored(const Part& part) const {
  thread_local Ids ids;
  constexpr std::int64_t largest = std::numeric_limits<std::int32_t>::max();
  const std::int64_t end = vocabulary_ > 0 ? vocabulary_ : largest + 1;
  if (from_.dtype == DType::i32)
    copy_ids<std::int32_t>(part.bytes, end, ids);
  else
    copy_ids<std::int64_t>(part.bytes, end, ids);
  return ids;
}

LongestRow::LongestRow(const Settings& settings, std::int64_t further)
    : most_(settings.integer("max") + further),
      further_(further),
      cuts_(settings.text("longer") == "cut"),
      cut_(cut_warning(
          settings, concat("texts of more than ", most_ - further_, " tokens"),
          "raise it, or choose by longer = \"cut\" or \"skip\"; shards of `flowtrain pack --tokens` can be split by "
          "window",
          "longer")) {}

std::int64_t LongestRow::length(std::int64_t ids) const {
  if (ids > most_ && !cuts_)
    throw SampleError(concat("it has ", ids - further_, " tokens, more than max = ", most_ - further_));
  return std::min(ids, most_);
}

RowForm::RowForm(const Settings& settings, const Tokenizer* tokenizer, CutEnd end, std::int64_t further)
    : longest_(settings, further), end_stays_(end == CutEnd::stays) {
  if (tokenizer) {
    if (settings.boolean("add_special")) {
      begin_.assign(tokenizer->begin().begin(), tokenizer->begin().end());
      end_.assign(tokenizer->end().begin(), tokenizer->end().end());
    }
    if (const auto id = special_of(settings, "begin", *tokenizer)) begin_ = {*id};
    if (const auto id = special_of(settings, "end", *tokenizer)) end_ = {*id};
  } else {
    const bool adds = settings.boolean("add_special");
    if (adds || !settings.text("begin").empty() || !settings.text("end").empty())
      throw settings.error(adds                             ? "add_special"
                           : settings.text("begin").empty() ? "end"
                                                            : "begin",
                           "only a tokenizer knows its special tokens", ExitCode::usage,
                           "name the tokenizer that the ids were made by, or store the tokens among the ids");
  }
  const auto specials = static_cast<std::int64_t>(begin_.size() + (end_stays_ ? end_.size() : 0));
  if (specials >= longest_.most())
    throw settings.error("max", "it leaves no room for a text beside the special tokens", ExitCode::usage,
                         concat("set max to more than ", specials, ", or leave out special tokens"));
}

std::int64_t RowForm::length(std::int64_t count) const {
  if (count == unknown_extent) return count;
  return longest_.length(count + static_cast<std::int64_t>(begin_.size() + end_.size()));
}

const Ids& RowForm::row(std::span<const std::uint32_t> ids) const {
  thread_local Ids row;
  const auto length = static_cast<std::size_t>(this->length(static_cast<std::int64_t>(ids.size())));
  const std::size_t after = end_stays_ ? end_.size() : 0;
  row.assign(begin_.begin(), begin_.end());
  const auto kept = ids.first(std::min(ids.size(), length - begin_.size() - after));
  if (kept.size() < ids.size()) longest_.count_cut();
  row.insert(row.end(), kept.begin(), kept.end());
  row.insert(row.end(), end_.begin(), end_.end());
  row.resize(length);
  return row;
}

template <class Number>
void put_row(const Field& field, std::span<const Number> numbers, std::byte* to,
             std::span<const std::int64_t> extents) {
  if (field.dtype == DType::i32)
    put_as<std::int32_t>(field, numbers, to, extents);
  else
    put_as<std::int64_t>(field, numbers, to, extents);
}
template void put_row(const Field&, std::span<const std::uint32_t>, std::byte*, std::span<const std::int64_t>);
template void put_row(const Field&, std::span<const std::int32_t>, std::byte*, std::span<const std::int64_t>);
template void put_row(const Field&, std::span<const std::int64_t>, std::byte*, std::span<const std::int64_t>);

}  // namespace flowtrain
