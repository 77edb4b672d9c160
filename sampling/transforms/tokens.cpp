// The transform `tokens`: a text as the ids of a tokenizer, for models of language.
#include <algorithm>
#include <limits>
#include <utility>

#include "sampling/core/text.h"
#include "sampling/samplers/keys.h"
#include "sampling/tokens/tokenizer.h"
#include "sampling/tokens/word_model.h"
#include "sampling/transforms/entries.h"
#include "sampling/transforms/padded.h"

namespace flowtrain {
namespace {

using Ids = std::vector<std::uint32_t>;

class TokensTransform final : public Transform {
 public:
  TokensTransform(const Settings& settings, const TransformInput& input)
      : from_(input.from),
        field_{input.name, settings.text("dtype") == "i32" ? DType::i32 : DType::i64, {settings.integer("max")}},
        tokenizer_(open_tokenizer(settings.text("tokenizer"), settings.text("pattern"))),
        text_options_{.special_text = settings.boolean("special_text")},
        cuts_(settings.text("longer") == "cut"),
        one_id_a_byte_(settings.text("tokenizer") == "bytes" && !text_options_.special_text) {
    if (from_.encoding == Encoding::array || from_.encoding == Encoding::pixels || from_.encoding == Encoding::image)
      throw wrong_part(settings, from_, "a text");
    field_.free_axes = 1;
    field_.values = static_cast<std::int64_t>(tokenizer_->vocabulary_size());
    field_.fill = static_cast<double>(settings.integer("fill"));
    const auto add = [&](const char* key, std::span<const std::uint32_t> own, Ids& ids) {
      if (settings.boolean("add_special")) ids.assign(own.begin(), own.end());
      if (settings.text(key).empty()) return;
      const auto id = tokenizer_->special(settings.text(key));
      if (!id)
        throw settings.error(key, concat("the tokenizer has no special token '", settings.text(key), "'"),
                             ExitCode::usage,
                             concat("it has: ", join(tokenizer_->special_tokens(), ", ", &SpecialToken::name)));
      ids.assign({*id});
    };
    add("begin", tokenizer_->begin(), begin_);
    add("end", tokenizer_->end(), end_);
    if (static_cast<std::int64_t>(begin_.size() + end_.size()) > field_.shape[0])
      throw settings.error("max", "it leaves no room between the special tokens");
  }

  std::vector<Field> fields() const override { return {field_}; }

  void measure(const Record& record, std::span<std::int64_t> extents) const override {
    const Part& part = part_of(record, from_);
    const bool is_outline = part.bytes.empty() && !part.shape.empty() && part.shape[0] > 0;
    if (is_outline && !one_id_a_byte_) {
      extents[0] = unknown_extent;
      return;
    }
    const auto count = is_outline ? static_cast<std::size_t>(part.shape[0]) : encoded(part).size();
    extents[0] = length_of(count);
  }

  void make(const Record& record, Stream, Row to) const override {
    const Ids& ids = encoded(part_of(record, from_));
    thread_local Ids row;
    const auto length = static_cast<std::size_t>(length_of(ids.size()));
    row.assign(begin_.begin(), begin_.end());
    const auto kept = static_cast<std::ptrdiff_t>(length - begin_.size() - end_.size());
    row.insert(row.end(), ids.begin(), ids.begin() + kept);
    row.insert(row.end(), end_.begin(), end_.end());
    if (field_.dtype == DType::i32)
      put<std::int32_t>(row, to[0], to.extents());
    else
      put<std::int64_t>(row, to[0], to.extents());
  }

 private:
  /// Returns the length of a row for a text of `count` ids: the special tokens stay where it is cut.
  std::int64_t length_of(std::size_t count) const {
    const auto length = static_cast<std::int64_t>(count + begin_.size() + end_.size());
    if (length > field_.shape[0] && !cuts_)
      throw SampleError(concat("it has ", length, " tokens, more than max = ", field_.shape[0]));
    return std::min(length, field_.shape[0]);
  }

  /// Returns the ids of a text. A row is measured before it is made, so the last text's are kept.
  const Ids& encoded(const Part& part) const {
    struct Last {
      std::uint64_t of = 0;  ///< number of the transform
      std::string text;
      Ids ids;
    };
    thread_local Last last;
    const std::string_view text(reinterpret_cast<const char*>(part.bytes.data()), part.bytes.size());
    if (last.of == instance_ && last.text == text) return last.ids;
    last.of = 0;
    last.ids.clear();
    tokenizer_->encode(text, last.ids, text_options_);
    last.text = text;
    last.of = instance_;
    return last.ids;
  }

  template <class T>
  void put(const Ids& row, std::byte* to, std::span<const std::int64_t> extents) const {
    thread_local std::vector<T> numbers;
    numbers.assign(row.begin(), row.end());
    const auto size = static_cast<std::int64_t>(numbers.size());
    copy_padded(field_, reinterpret_cast<const std::byte*>(numbers.data()), {&size, 1}, to, extents);
  }

  PartForm from_;
  Field field_;
  std::unique_ptr<Tokenizer> tokenizer_;
  EncodeOptions text_options_;
  bool cuts_, one_id_a_byte_;
  Ids begin_, end_;
  const std::uint64_t instance_ = next_instance();
};

}  // namespace

TransformEntry tokens_transform_entry() {
  const auto key = [](std::string name, Kind kind, Value fallback, std::string help) {
    return Key{.name = std::move(name), .kind = kind, .fallback = std::move(fallback), .help = std::move(help)};
  };
  Key max = key("max", Kind::integer, std::int64_t{0}, "greatest length, special tokens included");
  max.min = 1;
  max.max = 1e9;
  max.required = true;
  Key tokenizer =
      key("tokenizer", Kind::text, std::string("bytes"),
          "a tokenizer.json, a rank file (.tiktoken) or a SentencePiece .model; bytes: an id for each byte");
  tokenizer.is_path = true;
  Key fill = key("fill", Kind::integer, std::int64_t{0}, "id beyond a shorter text's end");
  fill.min = -1e9;
  fill.max = 1e9;
  return {
      .name = "tokens",
      .help = "the ids of a text's tokens: i64 (length)",
      .keys = {std::move(tokenizer), std::move(max),
               choice_key("pattern", "", "pattern of a rank file, which does not say its own",
                          {"", "gpt2", "cl100k_base", "o200k_base", "llama3"}),
               key("add_special", Kind::boolean, false, "put the tokens around a text that the tokenizer prescribes"),
               key("begin", Kind::text, std::string(), "special token before each text"),
               key("end", Kind::text, std::string(), "special token after each text"),
               key("special_text", Kind::boolean, false, "take names of special tokens in a text for the tokens"),
               choice_key("longer", "cut", "fate of texts that are longer than max; skip: such a record is damaged",
                          {"cut", "skip"}),
               choice_key("dtype", "i64", "type of the ids", {"i64", "i32"}), std::move(fill)},
      .make = [](const Settings& settings, const TransformInput& input) {
        return std::make_unique<TokensTransform>(settings, input);
      }};
}

}  // namespace flowtrain
