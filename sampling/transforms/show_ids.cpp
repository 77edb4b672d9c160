// Views of ids and labels for people.
#include <algorithm>
#include <cstring>

#include "sampling/core/parse.h"
#include "sampling/core/text.h"
#include "sampling/shown_beside.h"
#include "sampling/transforms/text_ids.h"

namespace flowtrain {
namespace {

using Numbers = std::vector<std::int64_t>;

/// Bytes of a text that are enough to show.
constexpr std::size_t most_bytes = 1024;

Numbers numbers_in(const Field& field, std::span<const std::byte> value) {
  Numbers numbers(value.size() / size_of(field.dtype));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::memcpy(&numbers[i], value.data() + i * size_of(field.dtype), size_of(field.dtype));
    if (field.dtype == DType::i32) numbers[i] = static_cast<std::int32_t>(numbers[i]);
  }
  return numbers;
}

/// Returns the names of ids that are no part of a text: of special tokens, and the numbers of unknown ones.
std::string name_of_id(const Tokenizer& tokenizer, std::int64_t id) {
  if (id < 0 || id >= static_cast<std::int64_t>(tokenizer.vocabulary_size())) return concat("<", id, ">");
  const auto& specials = tokenizer.special_tokens();
  const auto found = std::ranges::lower_bound(specials, static_cast<std::uint32_t>(id), {}, &SpecialToken::id);
  return found != specials.end() && found->id == static_cast<std::uint32_t>(id) ? found->name : std::string();
}

/// Decodes ids to a text with "|" between its pieces, unless the tokens are bytes.
std::string text_of_ids(const Tokenizer& tokenizer, const Numbers& ids) {
  const bool has_pieces = tokenizer.vocabulary_size() != 256 + tokenizer.special_tokens().size();
  TextStream stream(tokenizer);
  std::string text;
  const auto add = [&](std::string_view piece) {
    if (piece.empty()) return;
    if (has_pieces && !text.empty()) text += '|';
    text += piece;
  };
  for (const auto id : ids) {
    if (text.size() > most_bytes) break;
    if (const auto name = name_of_id(tokenizer, id); !name.empty()) {
      add(stream.finish());
      add(name);
    } else {
      add(stream.push(static_cast<std::uint32_t>(id)));
    }
  }
  add(stream.finish());
  return text;
}

std::string shown_name(const std::vector<std::string>& names, std::int64_t label) {
  return label < static_cast<std::int64_t>(names.size()) ? names[static_cast<std::size_t>(label)] : concat(label);
}

}  // namespace

ShowValue show_ids(std::shared_ptr<const Tokenizer> tokenizer) {
  if (!tokenizer) return {};
  return [tokenizer = std::move(tokenizer)](const Field& field, std::span<const std::byte> value) -> Shown {
    return {shown_text(text_of_ids(*tokenizer, numbers_in(field, value)))};
  };
}

ShowValue show_next_ids(std::shared_ptr<const Tokenizer> tokenizer) {
  if (!tokenizer) return {};
  return [tokenizer = std::move(tokenizer)](const Field& field, std::span<const std::byte> value) -> Shown {
    auto labels = numbers_in(field, value);
    std::erase_if(labels, [](auto label) { return label < 0; });
    return {shown_text(text_of_ids(*tokenizer, labels))};
  };
}

ShowValue show_chosen_ids(std::shared_ptr<const Tokenizer> tokenizer) {
  return [tokenizer = std::move(tokenizer)](const Field& field, std::span<const std::byte> value) -> Shown {
    const auto labels = numbers_in(field, value);
    std::string text;
    for (std::size_t i = 0; i < labels.size() && text.size() < most_bytes; ++i)
      if (labels[i] >= 0) text += concat(text.empty() ? "" : ", ", i, ": ", text_of_ids(*tokenizer, {labels[i]}));
    return {text.empty() ? "(none)" : shown_text(text)};
  };
}

ShowValue show_names(std::vector<std::string> names) {
  return [names = std::move(names)](const Field& field, std::span<const std::byte> value) -> Shown {
    auto labels = numbers_in(field, value);
    std::erase_if(labels, [](auto label) { return label < 0; });
    const auto name = [&](std::int64_t label) { return shown_name(names, label); };
    return {labels.empty() ? "(none)" : shown_text(join(labels, " ", name))};
  };
}

std::string text_of_word(const Tokenizer& tokenizer, std::span<const std::int64_t> ids) {
  Ids own;
  for (const auto id : ids) {
    if (const auto name = name_of_id(tokenizer, id); !name.empty()) {
      if (own.empty()) return name;
      break;
    }
    own.push_back(static_cast<std::uint32_t>(id));
  }
  return std::string(trimmed(tokenizer.decode(own)));
}

ShowValue show_named_words(std::shared_ptr<const Tokenizer> tokenizer, std::string ids,
                           std::vector<std::string> names) {
  ShowBeside both{.beside = std::move(ids), .alone = show_names(names), .together = {}};
  both.together = [tokenizer = std::move(tokenizer), names = std::move(names)](
                      const Field& field, std::span<const std::byte> value, const Field& other,
                      std::span<const std::byte> beside) -> Shown {
    const auto labels = numbers_in(field, value), tokens = numbers_in(other, beside);
    std::string text;
    for (std::size_t at = 0, end; at < tokens.size() && text.size() < most_bytes; at = end) {
      for (end = at + 1; end < tokens.size() && (end >= labels.size() || labels[end] < 0);) ++end;
      if (at < labels.size() && labels[at] >= 0)
        text += concat(text.empty() ? "" : " ", text_of_word(*tokenizer, std::span(tokens).subspan(at, end - at)), "/",
                       shown_name(names, labels[at]));
    }
    return {text.empty() ? "(none)" : shown_text(text)};
  };
  return both;
}

}  // namespace flowtrain
