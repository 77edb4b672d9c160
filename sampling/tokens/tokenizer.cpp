#include "sampling/tokens/tokenizer.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "sampling/core/error.h"
#include "sampling/core/parse.h"
#include "sampling/core/text.h"
#include "sampling/io/descriptor.h"
#include "sampling/tokens/piece_tokenizer.h"
#include "sampling/tokens/unicode.h"

namespace flowtrain {
namespace {

class ByteTokenizer final : public Tokenizer {
 public:
  static constexpr std::uint32_t end_of_text = 256;

  void encode(std::string_view text, std::vector<std::uint32_t>& ids, EncodeOptions options) const override {
    const std::string& name = specials_[0].name;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t found = options.special_text ? std::min(text.find(name, at), text.size()) : text.size();
      for (; at < found; ++at) ids.push_back(static_cast<unsigned char>(text[at]));
      if (at < text.size()) {
        ids.push_back(end_of_text);
        at += name.size();
      }
    }
    if (options.add_special) ids.push_back(end_of_text);
  }
  void decode(std::span<const std::uint32_t> ids, std::string& text, bool special) const override {
    for (const auto id : ids)
      if (id < end_of_text)
        text += static_cast<char>(id);
      else if (special && id == end_of_text)
        text += specials_[0].name;
  }
  std::size_t vocabulary_size() const override { return end_of_text + 1; }
  std::string token(std::uint32_t id) const override {
    if (id == end_of_text) return specials_[0].name;
    return id < end_of_text ? name_of_byte(static_cast<std::uint8_t>(id)) : std::string();
  }
  const std::vector<SpecialToken>& special_tokens() const override { return specials_; }
  std::span<const std::uint32_t> end() const override { return {&specials_[0].id, 1}; }

 private:
  std::vector<SpecialToken> specials_{{"<|endoftext|>", end_of_text}};
};

/// Returns how many bytes at the end begin a character that is not whole.
std::size_t begun_bytes(std::string_view text) {
  for (std::size_t count = 1; count <= std::min<std::size_t>(3, text.size()); ++count) {
    const auto byte = static_cast<unsigned char>(text[text.size() - count]);
    if ((byte & 0xc0) == 0x80) continue;
    const std::size_t wanted = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return wanted > count ? count : 0;
  }
  return 0;
}

std::string read_file(const std::string& path) {
  try {
    const auto file = Descriptor::file(path.c_str());
    std::vector<std::byte> bytes;
    read_exactly(file, 0, file.size_bytes(), bytes);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  } catch (const std::runtime_error& error) {
    throw UserError(ExitCode::data, concat("cannot read the tokenizer '", path, "': ", error.what()),
                    "name a tokenizer.json, a rank file (.tiktoken), a SentencePiece .model, or \"bytes\"");
  }
}

/// Returns whether a file begins with a line of a rank file: base64, a space and a number.
bool begins_with_rank(std::string_view bytes) {
  const auto line = bytes.substr(0, std::min(bytes.find('\n'), bytes.size()));
  const auto blank = line.find(' ');
  return blank != line.npos && blank > 0 && parse_number<std::uint32_t>(trimmed(line.substr(blank + 1))).has_value() &&
         line.substr(0, blank).find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") ==
             line.npos;
}

}  // namespace

std::vector<std::uint32_t> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  std::vector<std::uint32_t> ids;
  encode(text, ids, options);
  return ids;
}

std::vector<TemplateItem> Tokenizer::pair_template() const {
  std::vector<TemplateItem> items;
  const auto put = [&](std::span<const std::uint32_t> ids, std::uint32_t type) {
    for (const auto id : ids) items.push_back({TemplateItem::token, id, type});
  };
  put(begin(), 0);
  items.push_back({TemplateItem::first, 0, 0});
  put(end(), 0);
  items.push_back({TemplateItem::second, 0, 1});
  put(end(), 1);
  return items;
}

std::string Tokenizer::decode(std::span<const std::uint32_t> ids, bool special) const {
  std::string text;
  decode(ids, text, special);
  return text;
}

std::optional<std::uint32_t> Tokenizer::special(std::string_view name) const {
  const auto found = std::ranges::find(special_tokens(), name, &SpecialToken::name);
  return found == special_tokens().end() ? std::nullopt : std::optional(found->id);
}

std::string told_special_tokens(const Tokenizer& tokenizer) {
  constexpr std::size_t most = 20;
  const std::span all(tokenizer.special_tokens());
  if (all.empty()) return "it has no special tokens";
  const auto shown = all.first(std::min(all.size(), most));
  return concat("it has ", join(shown, ", ", &SpecialToken::name),
                shown.size() < all.size() ? concat(" and ", all.size() - shown.size(), " more") : "");
}

std::string_view TextStream::push(std::uint32_t id) {
  text_.erase(0, shown_);
  part_.clear();
  tokenizer_.decode(ids_, part_);
  const std::size_t known = part_.size();
  ids_.push_back(id);
  part_.clear();
  tokenizer_.decode(ids_, part_);
  text_ += std::string_view(part_).substr(std::min(known, part_.size()));
  if (part_.size() <= known) {  // perhaps a space, which is left out at the beginning
    part_.clear();
    tokenizer_.decode(std::vector<std::uint32_t>{id, id}, part_);
  }
  const bool counts = id < tokenizer_.vocabulary_size() &&
                      !std::ranges::binary_search(tokenizer_.special_tokens(), id, {}, &SpecialToken::id);
  if (!counts || (part_.empty() && ids_.size() > 1))
    ids_.pop_back();
  else
    ids_.assign({id});
  shown_ = text_.size() - begun_bytes(text_);
  return std::string_view(text_).substr(0, shown_);
}

std::string_view TextStream::finish() {
  text_.erase(0, shown_);
  part_.swap(text_);
  text_.clear();
  shown_ = 0;
  ids_.clear();
  return part_;
}

std::unique_ptr<Tokenizer> byte_tokenizer() { return std::make_unique<ByteTokenizer>(); }

std::unique_ptr<Tokenizer> open_tokenizer(const std::string& path, const std::string& pattern) {
  if (path == "bytes") {
    if (!pattern.empty())
      throw UserError(ExitCode::usage, "bytes: only rank files (.tiktoken) take a pattern", "leave the pattern out");
    return byte_tokenizer();
  }
  return parse_tokenizer(read_file(path), path, pattern);
}

std::unique_ptr<Tokenizer> parse_tokenizer(std::string_view bytes, const std::string& name,
                                           const std::string& pattern) {
  const auto first = bytes.find_first_not_of(" \t\r\n");
  const bool is_json = first != bytes.npos && bytes[first] == '{', is_ranks = begins_with_rank(bytes);
  if (!pattern.empty() && !is_ranks)
    throw UserError(ExitCode::data, name + ": only rank files (.tiktoken) take a pattern; this file has its own rules",
                    "leave the pattern out");
  if (is_json) return make_tokenizer(read_tokenizer_json(bytes, name));
  if (is_ranks) return make_tokenizer(read_rank_file(bytes, name, pattern));
  if (!bytes.empty() && bytes[0] == '\n') return make_tokenizer(read_sentencepiece(bytes, name));
  throw UserError(ExitCode::data, name + ": neither a tokenizer.json, nor a rank file, nor a SentencePiece model",
                  "name a tokenizer.json, a rank file (.tiktoken), a SentencePiece .model, or \"bytes\"");
}

}  // namespace flowtrain
