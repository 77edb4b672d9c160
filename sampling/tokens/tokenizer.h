#pragma once
// Tokenizers turn texts into the numbers that language models take, and back.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flowtrain {

/// Choices for one text.
struct EncodeOptions {
  bool add_special = false;   ///< put the tokens before and after the text that the file prescribes
  bool special_text = false;  ///< names of special tokens within the text become their ids, as in prompts
};

/// A special token: "<|endoftext|>" and its id.
struct SpecialToken {
  std::string name;
  std::uint32_t id = 0;
};

/// A text, or a token beside it, in what a tokenizer makes of two texts.
struct TemplateItem {
  enum Kind : std::uint8_t { first, second, token };
  Kind kind = token;
  std::uint32_t id = 0;    ///< the token
  std::uint32_t type = 0;  ///< type of the text's ids or of the token (token_type_ids)
};

/// The usual names of the token that ends a text, as GPT-2, Llama and SentencePiece have them.
inline constexpr const char* usual_text_ends[] = {"<|endoftext|>", "<|end_of_text|>", "</s>"};

/// Encodes and decodes texts. Const and called from many threads at once; scratch memory is thread_local, and a warm
/// call allocates only what `ids` or `text` must grow.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Appends the ids of a text in UTF-8. Bytes that are not UTF-8 are kept by tokenizers of bytes; others read them as
  /// U+FFFD. Throws SampleError for a text that a pattern of the file cannot split within its bounds.
  virtual void encode(std::string_view text, std::vector<std::uint32_t>& ids, EncodeOptions options = {}) const = 0;
  /// Appends the bytes of ids; unknown ids have none. Special tokens are left out unless `special`.
  virtual void decode(std::span<const std::uint32_t> ids, std::string& text, bool special = false) const = 0;
  /// Returns the number above the largest id.
  virtual std::size_t vocabulary_size() const = 0;
  /// Returns the token as the vocabulary writes it ("Ġthe", "##ing"), in UTF-8; empty for an id that has none.
  virtual std::string token(std::uint32_t id) const = 0;
  /// Returns the special tokens, sorted by id.
  virtual const std::vector<SpecialToken>& special_tokens() const = 0;
  /// Returns the ids that `add_special` puts before and after a text.
  virtual std::span<const std::uint32_t> begin() const { return {}; }
  virtual std::span<const std::uint32_t> end() const { return {}; }
  /// Returns what `add_special` makes of two texts: each of them once, and the tokens that the file puts around them.
  /// A file that says nothing of two texts has begin(), the first, end(), the second, end(), with the types 0 and 1.
  virtual std::vector<TemplateItem> pair_template() const;

  std::vector<std::uint32_t> encode(std::string_view text, EncodeOptions options = {}) const;
  std::string decode(std::span<const std::uint32_t> ids, bool special = false) const;
  /// Returns the id of a special token.
  std::optional<std::uint32_t> special(std::string_view name) const;
};

/// Decodes ids one by one, as a model makes them, and never cuts a character of UTF-8.
class TextStream {
 public:
  /// `tokenizer` must outlive this.
  explicit TextStream(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}
  /// Returns what the text has become longer by: whole characters. The view is valid until the next call.
  std::string_view push(std::uint32_t id);
  /// Says that all so far was a prompt: bytes of a character that it has begun are no part of what follows.
  void begin_answer() {
    text_.clear();
    shown_ = 0;
  }
  /// Returns what is left, which may end within a character, and begins anew.
  std::string_view finish();

 private:
  const Tokenizer& tokenizer_;
  std::vector<std::uint32_t> ids_;  ///< the last id that has a text, which decides how the next one is written
  std::string text_, part_;
  std::size_t shown_ = 0;  ///< bytes of text_ that were returned
};

/// Returns which special tokens a tokenizer has, for hints: "it has <s>, </s>", and at most 20 of them.
std::string told_special_tokens(const Tokenizer& tokenizer);

/// Returns the tokenizer of bytes: ids 0 to 255 are the bytes, and 256 is the special token "<|endoftext|>".
std::unique_ptr<Tokenizer> byte_tokenizer();

/// The patterns that split texts before byte-pair encoding, for rank files, which do not say theirs.
inline constexpr const char* pattern_names[] = {"gpt2", "cl100k_base", "o200k_base", "llama3"};

/// Opens a tokenizer, whose kind shows in the file: Hugging Face's tokenizer.json, a rank file of tiktoken, or a model
/// of SentencePiece; "bytes" is byte_tokenizer(). `pattern` is one of pattern_names, for rank files only; empty:
/// o200k_base for more than 150,000 ranks, gpt2 for about 50,000, else cl100k_base. Throws UserError(data) that names
/// the file, and for tokenizer.json the place, of what is damaged or not supported.
std::unique_ptr<Tokenizer> open_tokenizer(const std::string& path, const std::string& pattern = {});

/// Opens a tokenizer from the bytes of a file; `name` is for messages.
std::unique_ptr<Tokenizer> parse_tokenizer(std::string_view bytes, const std::string& name,
                                           const std::string& pattern = {});

}  // namespace flowtrain
