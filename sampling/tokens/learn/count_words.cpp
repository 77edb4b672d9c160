#include "sampling/tokens/learn/count_words.h"

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "sampling/core/error.h"
#include "sampling/core/in_parallel.h"
#include "sampling/core/mutex.h"
#include "sampling/core/text.h"
#include "sampling/io/descriptor.h"
#include "sampling/io/text_lines.h"
#include "sampling/tokens/added_tokens.h"
#include "sampling/tokens/unicode.h"
#include "sampling/tokens/word_scanner.h"

namespace flowtrain {
namespace {

constexpr std::size_t block_bytes = std::size_t{4} << 20;

/// Deals blocks of the files, one after the other. A block ends with a letter before white space, where a word ends by
/// every pattern, or with its file. White space that may stand in a special token is none here.
class Blocks {
 public:
  Blocks(const std::vector<std::filesystem::path>& files, const std::vector<std::string>& special) : files_(files) {
    std::erase_if(spaces_, [&](char space) {
      return std::ranges::any_of(special, [space](auto& token) { return token.find(space) != token.npos; });
    });
  }

  /// Takes the next block; returns false at the end.
  bool next(std::string& block) FT_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    while (number_ < files_.size()) {
      if (!file_) open();
      block.swap(rest_);
      rest_.clear();
      while (offset_ < file_->size_bytes()) {
        const std::size_t seen = block.size();
        grow(block);
        if (const std::size_t cut = cut_of(block, seen)) {
          rest_ = block.substr(cut);
          block.resize(cut);
          return true;
        }
      }
      file_.reset();
      ++number_;
      if (!block.empty()) return true;
    }
    return false;
  }

 private:
  template <class Body>
  auto guarded(Body&& body) const FT_REQUIRES(mutex_) {
    try {
      return body();
    } catch (const std::runtime_error& error) {
      throw UserError(ExitCode::data, concat("cannot read '", files_[number_].string(), "': ", error.what()));
    }
  }

  void open() FT_REQUIRES(mutex_) {
    file_ = std::make_unique<Descriptor>(
        guarded([&]() FT_REQUIRES(mutex_) { return Descriptor::file(files_[number_].c_str()); }));
    offset_ = guarded([&]() FT_REQUIRES(mutex_) { return mark_bytes(*file_, files_[number_].string()); });
  }
  void grow(std::string& block) FT_REQUIRES(mutex_) {
    const std::size_t before = block.size();
    block.resize(before + std::min<std::uint64_t>(block_bytes, file_->size_bytes() - offset_));
    guarded([&]() FT_REQUIRES(mutex_) {
      read_exactly(*file_, offset_, std::as_writable_bytes(std::span(block).subspan(before)));
    });
    offset_ += block.size() - before;
  }
  /// Returns the last place of a cut from `seen` on; 0 if there is none.
  std::size_t cut_of(std::string_view block, std::size_t seen) const {
    const auto* classes = unicode::classes();
    for (std::size_t at = block.size(); at-- > std::max<std::size_t>(seen, 1);)
      if (spaces_.find(block[at]) != spaces_.npos &&
          (classes[unicode::character_before(block, at).code] & unicode::letter) != 0)
        return at;
    return 0;
  }
  const std::vector<std::filesystem::path>& files_;
  std::string spaces_ = " \n\r";
  Mutex mutex_;
  std::unique_ptr<Descriptor> file_ FT_GUARDED_BY(mutex_);
  std::size_t number_ FT_GUARDED_BY(mutex_) = 0;
  std::uint64_t offset_ FT_GUARDED_BY(mutex_) = 0;
  std::string rest_ FT_GUARDED_BY(mutex_);
};

/// Texts that a table finds by views of texts.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
using Counts = std::unordered_map<std::string, std::uint64_t, TextHash, std::equal_to<>>;

void count_block(std::string_view block, const WordRules& rules, const AddedTokens& special, Counts& counts) {
  const auto* classes = unicode::classes();
  special.cut(
      block, true,
      [&](std::string_view text) {
        for (std::size_t at = 0; at < text.size();) {
          const std::size_t end = word_end(rules, classes, text, at);
          const auto word = text.substr(at, end - at);
          at = end;
          if (const auto found = counts.find(word); found != counts.end())
            ++found->second;
          else
            counts.emplace(word, 1);
        }
      },
      [](std::uint32_t) {});
}

}  // namespace

std::vector<CountedWord> count_words(const std::vector<std::filesystem::path>& files,
                                     const TokenizerTraining& training) {
  const WordRules rules = *rules_of_pattern(pattern_of_name(training.pattern));
  AddedTokens special;
  for (const auto& text : training.special) special.add({.text = text, .special = true});
  Blocks blocks(files, training.special);
  std::vector<Counts> counts(std::max(1u, training.threads));
  in_parallel(counts.size(), static_cast<unsigned>(counts.size()), [&](std::size_t i) {
    for (std::string block; blocks.next(block);) count_block(block, rules, special, counts[i]);
  });
  for (std::size_t i = 1; i < counts.size(); ++i)
    for (auto& [word, count] : counts[i]) counts[0][word] += count;
  std::vector<CountedWord> words;
  words.reserve(counts[0].size());
  for (auto& [word, count] : counts[0]) words.push_back({word, count});
  std::ranges::sort(words, {}, &CountedWord::text);
  return words;
}

}  // namespace flowtrain
